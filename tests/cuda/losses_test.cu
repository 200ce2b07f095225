// Losses on the device against the definition in double: every option, short batches, many classes, no row that counts.
#include "device_run.cuh"
#include "support/loss_graph.hpp"

#include <tenon/ops/mse/mse.hpp>

using namespace tenon;

namespace {

template <class Loss, Input In, class Outputs, class Targets>
void check_on_device(Loss const& loss, Outputs const& outputs, Targets const& targets, index_t samples) {
    using Source = test::LossSource<graph::BatchLayout{300, 1}, Loss, In>;
    CAPTURE(samples);
    graph::Builder const b = test::Frozen<Source>::graph();
    constexpr test::LossGraph nodes = Source::nodes;
    test::Interpreter expected{b, samples};
    test::DeviceRun<Source> found{samples};
    test::give_loss(expected, b, loss, targets, samples);
    test::give_loss(found, b, loss, targets, samples);
    expected.set(nodes.output, outputs);
    found.set(nodes.output, outputs);
    found.run();
    CHECK(static_cast<double>(found.number(nodes.loss)) == doctest::Approx(expected.number(nodes.loss)).epsilon(2e-6));
    CHECK(test::distance(found.get(nodes.gradient), expected[nodes.gradient].data) <= 4e-6);
}

} // namespace

TEST_CASE("cross entropy on the device, with every option") {
    for (index_t const samples : {1, 5, 33, 300}) {
        auto const scores = test::random_numbers(samples * 5, 7, -4, 4);
        auto labels = test::random_labels(samples, 5, 8);
        auto const check = [&](CrossEntropy const& loss) { check_on_device<CrossEntropy, Input{5}>(loss, scores, labels, samples); };
        check({});
        check({.label_smoothing = 0.3f});
        check({.label_smoothing = 1, .weights = {0.5f, 1, 2, 3, 0.25f}});
        check({.ignore_index = 2});
        labels[0] = -100;
        check({.label_smoothing = 0.1f, .weights = {0.5f, 1, 0, 3, 0.25f}});
    }
}

TEST_CASE("cross entropy on the device: a warp for each row of many classes") {
    for (index_t const samples : {1, 9}) {
        auto const scores = test::random_numbers(samples * 77, 17, -9, 9);
        auto const labels = test::random_labels(samples, 77, 18);
        check_on_device<CrossEntropy, Input{77}>(CrossEntropy{.label_smoothing = 0.2f}, scores, labels, samples);
    }
}

TEST_CASE("cross entropy on the device: extreme scores, and no row that counts") {
    std::vector<float> const scores{1e4f, -1e4f, 0, 88, 89, 90, -3e38f, 3e38f, 0};
    check_on_device<CrossEntropy, Input{3}>(CrossEntropy{}, scores, std::vector<std::int32_t>{0, 2, 1}, 3);
    std::vector<std::int32_t> const none{-100, -100};
    check_on_device<CrossEntropy, Input{3}>(CrossEntropy{}, test::random_numbers(6, 3), none, 2);
}

TEST_CASE("mean squared error on the device") {
    for (index_t const samples : {1, 6, 300})
        check_on_device<MSE, Input{3, 7}>(MSE{}, test::random_numbers(samples * 21, 27), test::random_numbers(samples * 21, 28), samples);
}
