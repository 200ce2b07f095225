// A batch that is not full is exact: what it computes is what a trainer of that batch size computes.
#include "support/trainer_oracle.hpp"

#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/dropout/dropout.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/mse/mse.hpp>

using namespace tenon;

namespace {

using Net = Network<Input{1, 6, 5}, Conv2d{.out = 3, .kernel = 2}, ReLU{}, MaxPool2d{.kernel = 2}, Flatten{}, Dropout{.probability = 0.3f}, Linear{.out = 4}>;

/// Losses and weights after three steps of `Samples` samples each, by a trainer that takes up to `Capacity`.
template <class Loss, index_t Samples, index_t Capacity>
std::vector<double> three_steps() {
    Trainer trainer{Net{}, Loss{}, SGD{.lr = 0.1f, .momentum = 0.9f}, batch<Capacity>, Options{.seed = 3, .threads = 1}};
    std::vector<double> found;
    for (std::uint64_t step = 0; step < 3; ++step) {
        auto const inputs = test::random_numbers(Samples * trainer.features, 10 + step);
        auto const targets = test::random_targets<Loss>(Samples, trainer.outputs, 20 + step);
        found.push_back(trainer.step(inputs.data(), targets.data(), Samples));
    }
    for (int p = 0; p < trainer.network().size(); ++p) found.insert(found.end(), trainer.network()[p].values.begin(), trainer.network()[p].values.end());
    return found;
}

struct Log {
    constexpr auto operator()(auto x) const { return log(x); }
};
struct Root {
    constexpr auto operator()(auto x) const { return sqrt(x); }
};

} // namespace

TEST_CASE("a short batch equals a full one of its size") {
    auto const three = three_steps<CrossEntropy, 3, 3>();
    CHECK(test::distance(three_steps<CrossEntropy, 3, 4>(), three) <= 2e-6);
    CHECK(test::distance(three_steps<CrossEntropy, 3, 16>(), three) <= 2e-6);
    CHECK(test::distance(three_steps<CrossEntropy, 5, 16>(), three_steps<CrossEntropy, 5, 5>()) <= 2e-6);
    CHECK(test::distance(three_steps<MSE, 3, 16>(), three_steps<MSE, 3, 3>()) <= 2e-6);
    CHECK(test::distance(three_steps<MSE, 17, 32>(), three_steps<MSE, 17, 17>()) <= 2e-6);
}

TEST_CASE("lanes that no sample fills have no influence, not even through an infinite value or slope at 0") {
    test::TrainerOptions const options;
    auto const check = [&]<class F>(F) {
        using Domain = Network<Input{4}, Pointwise<F>{}, Linear{.out = 3}>;
        Trainer trainer{Domain{}, CrossEntropy{}, SGD{.lr = 0.1f}, batch<15>, options.trainer};
        test::TrainerOracle<Domain, CrossEntropy, SGD> oracle{trainer.network(), CrossEntropy{}, SGD{.lr = 0.1f}, options.trainer.seed};
        for (index_t const samples : {15, 7, 1}) {
            CAPTURE(samples);
            auto const inputs = test::random_numbers(samples * 4, 5, 0.1f, 3);
            auto const labels = test::random_labels(samples, 3, 6);
            CHECK(trainer.step(inputs.data(), labels.data(), samples) == doctest::Approx(oracle.step(inputs, labels, samples)).epsilon(1e-6));
            CHECK(test::distance(trainer.network()[0].values, oracle.parameter(0)) <= 1e-6);
            CHECK(test::distance(trainer.network()[1].values, oracle.parameter(1)) <= 1e-6);
        }
    };
    check(Log{});
    check(Root{});
}

TEST_CASE("the same behind a layer without bias, where empty lanes hold zeros") {
    using Inner = Network<Input{4}, Linear{.out = 5, .bias = false, .weight_init = init::constant(0.5f)}, Pointwise<Root>{}, Linear{.out = 3}>;
    Trainer trainer{Inner{}, CrossEntropy{}, SGD{.lr = 0.1f}, batch<15>, Options{.threads = 1}};
    auto const inputs = test::random_numbers(7 * 4, 5, 0.1f, 3);
    auto const labels = test::random_labels(7, 3, 6);
    (void)trainer.step(inputs.data(), labels.data(), 7);
    for (int p = 0; p < 3; ++p)
        for (float w : trainer.network()[p].values) CHECK(std::isfinite(w));
}
