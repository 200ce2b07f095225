// Cross entropy: values, gradients, extreme scores, and labels that are no class.
#include "support/loss_graph.hpp"
#include "support/reference.hpp"

#include <string>

using namespace tenon;

namespace {

constexpr graph::BatchLayout layout{33, 4};
using Labels = std::vector<std::int32_t>;
using Scores = std::vector<double>;

template <int Classes>
test::LossValues evaluate(Scores const& scores, Labels const& labels, CrossEntropy const& loss = {}) {
    return test::planned_loss<layout, CrossEntropy, Input{Classes}>(loss, scores, labels, static_cast<index_t>(labels.size()));
}

/// A case of PyTorch's file; the gradient there is that of dy * loss.
template <int Classes>
void check_reference(test::Reference const& r, std::string const& name) {
    CAPTURE(name);
    auto const labels = r.tensor(name + ".target").as<std::int32_t>();
    CrossEntropy loss{.label_smoothing = static_cast<float>(r.tensor(name + ".label_smoothing").scalar()),
                      .ignore_index = static_cast<int>(r.tensor(name + ".ignore_index").scalar())};
    if (r.has(name + ".weight")) loss.weights = r.tensor(name + ".weight").as<float>();
    test::LossValues const found = evaluate<Classes>(r.tensor(name + ".x").values, labels, loss);
    CHECK(found.loss == doctest::Approx(r.tensor(name + ".y").scalar()).epsilon(1e-6).scale(0));
    Scores gradient = r.tensor(name + ".dx").values;
    for (double& g : gradient) g /= r.tensor(name + ".dy").scalar();
    // Absolute: where the label is nearly sure, probability - 1 has no digits in float, here as in PyTorch.
    for (std::size_t i = 0; i < gradient.size(); ++i) CHECK(std::fabs(static_cast<double>(found.gradient[i]) - gradient[i]) <= 2e-7);
}

std::string message_of_label(std::int32_t label) {
    Labels const labels{0, 1, label};
    try {
        CrossEntropy{}.check_targets(labels.data(), 3, 40, 3);
    } catch (Error const& error) {
        return error.what();
    }
    return {};
}

} // namespace

TEST_CASE("cross entropy: derivative and program, with every option") {
    for (index_t const samples : {1, 3, 4, 5, 7, 16, 17, 33}) {
        auto const scores = test::random_numbers(samples * 5, 7, -4, 4);
        Labels labels = test::random_labels(samples, 5, 8);
        auto const check = [&](CrossEntropy const& loss) {
            test::check_loss<layout, CrossEntropy, Input{5}>(loss, scores, labels, samples);
        };
        check({});
        check({.label_smoothing = 0.3f});
        check({.label_smoothing = 1, .weights = {0.5f, 1, 2, 3, 0.25f}});
        check({.ignore_index = 2});
        labels[0] = -100;
        check({.label_smoothing = 0.1f, .weights = {0.5f, 1, 0, 3, 0.25f}});
    }
    test::check_loss<graph::BatchLayout{3, 1}, CrossEntropy, Input{67}>(CrossEntropy{}, test::random_numbers(3 * 67, 9, -9, 9),
                                                                        Labels{66, 0, 31}, 3);
    test::check_loss<graph::BatchLayout{7, 2}, CrossEntropy, Input{1}>(CrossEntropy{}, Scores{4, -2, 0}, Labels{0, 0, 0}, 3);
}

TEST_CASE("cross entropy is PyTorch's") {
    test::Reference const r{"cross_entropy"};
    check_reference<10>(r, "plain");
    check_reference<3>(r, "one_row");
    check_reference<2>(r, "two_classes");
    check_reference<67>(r, "many_classes");
    for (char const* name : {"weights", "smoothing", "ignore", "ignore_negative", "weights_smoothing", "weights_ignore",
                             "smoothing_ignore", "everything", "zero_weight"})
        check_reference<5>(r, name);
    for (char const* name : {"extreme", "extreme_everything", "hand", "hand_weights", "hand_smoothing", "hand_everything"})
        check_reference<3>(r, name);
    check_reference<2>(r, "extreme_surest");
}

TEST_CASE("cross entropy: the values that must come out") {
    using List = std::vector<float>;
    test::LossValues const wrong = evaluate<3>({1000, 0, -1000}, {2});
    CHECK(wrong.loss == 2000);
    CHECK(wrong.gradient == List{1, 0, -1});

    test::LossValues const low = evaluate<2>({-1000, -1000}, {0});
    CHECK(low.loss == doctest::Approx(0.693147).epsilon(1e-6));
    CHECK(low.gradient == List{-0.5f, 0.5f});

    CHECK(evaluate<2>({0, -20}, {0}).loss == doctest::Approx(2.0611537e-9).epsilon(1e-6).scale(0)); // not 0

    Scores const rows{2, 0, 1, 0, 1, 0, 5, 5, 5};
    for (int const ignored : {-100, 2, 255}) {
        Labels const labels{0, 1, ignored};
        auto const loss = [&](float smoothing, List weights) {
            test::LossValues const found = evaluate<3>(rows, labels, {smoothing, ignored, std::move(weights)});
            CHECK(List(found.gradient.begin() + 6, found.gradient.end()) == List{0, 0, 0});
            return found.loss;
        };
        CHECK(loss(0, {}) == doctest::Approx(0.479525).epsilon(1e-6));
        CHECK(loss(0, {1, 2, 4}) == doctest::Approx(0.503498).epsilon(1e-6));
        CHECK(loss(0.1f, {}) == doctest::Approx(0.562859).epsilon(1e-6));
        CHECK(loss(0.1f, {1, 2, 4}) == doctest::Approx(0.672186).epsilon(1e-6));
    }
}

TEST_CASE("cross entropy: with no row that counts the mean is 0, and so is the gradient") {
    test::LossValues const ignored = evaluate<3>({1, 2, 3, 4, 5, 6}, {-100, -100});
    CHECK(ignored.loss == 0);
    CHECK(ignored.gradient == std::vector<float>(6, 0.0f));
    test::LossValues const weightless = evaluate<3>({1, 2, 3}, {1}, {.weights = {1, 0, 1}});
    CHECK(weightless.loss == 0);
    CHECK(weightless.gradient == std::vector<float>(3, 0.0f));
}

TEST_CASE("cross entropy: NaN is not hidden") {
    double const not_a_number = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t where : {0U, 1U, 2U}) {
        Scores scores{1, 2, 3};
        scores[where] = not_a_number;
        CHECK(std::isnan(evaluate<3>(scores, {1}).loss));
    }
}

TEST_CASE("cross entropy: a label that is no class names the sample, the label and the range") {
    for (std::int32_t const label : {3, -1, 255}) {
        std::string const message = message_of_label(label);
        CAPTURE(message);
        CHECK(message.find("sample 42 ") != std::string::npos);
        CHECK(message.find("label " + std::to_string(label)) != std::string::npos);
        CHECK(message.find("[0,3)") != std::string::npos);
    }
    CHECK(message_of_label(2).empty());
    CHECK(message_of_label(-100).empty()); // the ignored one
}

TEST_CASE("cross entropy: options that make no sense") {
    std::vector<float> setting(3);
    CHECK_THROWS_WITH_AS((CrossEntropy{.label_smoothing = 1.5f}.fill_setting(1, setting.data(), 2)),
                         "CrossEntropy: label_smoothing is 1.500000; it must lie in [0, 1]", Error);
    CHECK_THROWS_AS((CrossEntropy{.label_smoothing = -0.1f}.fill_setting(1, setting.data(), 2)), Error);
    CHECK_THROWS_AS((CrossEntropy{.label_smoothing = std::numeric_limits<float>::quiet_NaN()}.fill_setting(1, setting.data(), 2)), Error);
    CHECK_THROWS_WITH_AS((CrossEntropy{.weights = {1, 2}}.fill_setting(0, setting.data(), 3)),
                         "CrossEntropy: 2 class weights for 3 classes; give one for each class", Error);
}

TEST_CASE("cross entropy: what a mean was divided by") {
    Labels const labels{0, 2, -100, 1};
    CHECK(CrossEntropy{}.weight_of(labels.data(), 4) == 3);
    CHECK(CrossEntropy{.ignore_index = 2}.weight_of(labels.data(), 2) == 1);
    CHECK(CrossEntropy{.weights = {1, 2, 4}}.weight_of(labels.data(), 4) == 7);
}
