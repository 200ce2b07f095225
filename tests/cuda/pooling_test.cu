// Pools on the device against the definition in double: windows of all kinds, and the places of ties and NaN.
#include "device_run.cuh"

#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/pool2d/pool2d.hpp>

using namespace tenon;
using test::test_on_device;

TEST_CASE("max pooling on the device") {
    test_on_device<Input{2, 6, 8}, MaxPool2d{.kernel = 2}>();
    test_on_device<Input{3, 7, 9}, MaxPool2d{.kernel = 2}>();
    test_on_device<Input{2, 5, 6}, MaxPool2d{.kernel = 3, .stride = 1, .padding = 1}>();
    test_on_device<Input{1, 9, 8}, MaxPool2d{.kernel = 2, .stride = 3}>();
    test_on_device<Input{2, 7, 6}, MaxPool2d{.kernel = {1, 4}, .stride = {2, 1}, .padding = {0, 2}}>();
}

TEST_CASE("max pooling on the device: a window of more than 256 taps needs a wider index") {
    test_on_device<Input{1, 19, 18}, MaxPool2d{.kernel = 17, .stride = 1}>();
}

TEST_CASE("average pooling on the device") {
    test_on_device<Input{3, 7, 9}, AvgPool2d{.kernel = 2}>();
    test_on_device<Input{2, 5, 6}, AvgPool2d{.kernel = 3, .stride = 1, .padding = 1}>();
    test_on_device<Input{1, 9, 8}, AvgPool2d{.kernel = {2, 3}, .stride = {3, 2}, .padding = {1, 0}}>();
}

TEST_CASE("max pooling on the device: the first of equals, and NaN wins") {
    using Source = test::LayerSource<graph::BatchLayout{2, 1}, Input{1, 2, 4}, MaxPool2d{.kernel = 2}>;
    constexpr test::LayerNodes nodes = Source::nodes;
    float const nan = std::numeric_limits<float>::quiet_NaN();
    test::DeviceRun<Source> run{2};
    run.set(nodes.x, std::vector<float>{1, 3, nan, 9, 3, 3, 9, 9, /* second */ 0, 0, -1, -2, 0, 0, -3, nan});
    run.set(nodes.dy, std::vector<float>{5, 7, 11, 13});
    run.run();
    auto const y = run.get(nodes.y), dx = run.get(nodes.gradient[0]);
    CHECK(y[0] == 3);
    CHECK(std::isnan(y[1]));
    CHECK(y[2] == 0);
    CHECK(std::isnan(y[3]));
    std::vector<float> const expected{0, 5, 7, 0, 0, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 13};
    CHECK(dx == expected);
}
