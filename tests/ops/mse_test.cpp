// Mean squared error: values, gradients, targets of any shape.
#include "support/loss_graph.hpp"
#include "support/reference.hpp"

#include <tenon/ops/mse/mse.hpp>

#include <string>

using namespace tenon;

namespace {

constexpr graph::BatchLayout layout{33, 4};

template <Input In>
void check_reference(test::Reference const& r, std::string const& name) {
    CAPTURE(name);
    auto const& x = r.tensor(name + ".x");
    test::LossValues const found = test::planned_loss<layout, MSE, In>(MSE{}, x.values, r.tensor(name + ".target").values, x.shape[0]);
    CHECK(found.loss == doctest::Approx(r.tensor(name + ".y").scalar()).epsilon(1e-6).scale(0));
    std::vector<double> gradient = r.tensor(name + ".dx").values;
    for (double& g : gradient) g /= r.tensor(name + ".dy").scalar();
    CHECK(test::distance(found.gradient, gradient) <= 1e-6);
}

} // namespace

TEST_CASE("mean squared error: derivative and program") {
    for (index_t const samples : {1, 3, 4, 5, 7, 16, 17, 33}) {
        test::check_loss<layout, MSE, Input{7}>(MSE{}, test::random_numbers(samples * 7, 1), test::random_numbers(samples * 7, 2), samples);
        test::check_loss<layout, MSE, Input{2, 3, 3}>(MSE{}, test::random_numbers(samples * 18, 3), test::random_numbers(samples * 18, 4), samples);
    }
    test::check_loss<graph::BatchLayout{3, 1}, MSE, Input{1}>(MSE{}, test::random_numbers(3, 5), test::random_numbers(3, 6), 3);
}

TEST_CASE("mean squared error is PyTorch's") {
    test::Reference const r{"mse"};
    check_reference<Input{7}>(r, "plain");
    check_reference<Input{3}>(r, "one_row");
    check_reference<Input{1}>(r, "one_column");
    check_reference<Input{2, 5, 4}>(r, "images");
}

TEST_CASE("mean squared error: NaN is not hidden") {
    std::vector<float> output{1, std::numeric_limits<float>::quiet_NaN(), 3, 4};
    CHECK(std::isnan(test::planned_loss<layout, MSE, Input{2}>(MSE{}, output, std::vector<float>(4), 2).loss));
}
