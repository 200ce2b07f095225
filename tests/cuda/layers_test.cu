// Fully connected layers, pointwise work, reductions and dropout on the device, against the definition in double.
#include "device_run.cuh"

#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/dropout/dropout.hpp>
#include <tenon/ops/flatten/flatten.hpp>

using namespace tenon;
using test::test_on_device;

namespace {
struct Wiggle {
    constexpr auto operator()(auto x) const { return select(x > 0.25f, sin(x), 0.5f * cos(2.0f * x)) + exp(-abs(x)) * log1p(x * x); }
};
} // namespace

TEST_CASE("linear on the device: odd sizes, one input, one output, without bias") {
    test_on_device<Input{13}, Linear{.in = 13, .out = 7}>();
    test_on_device<Input{1}, Linear{.out = 5}>();
    test_on_device<Input{19}, Linear{.out = 1}>();
    test_on_device<Input{33}, Linear{.out = 35, .bias = false}>();
    test_on_device<Input{3}, Linear{.out = 67}>();
    test_on_device<Input{130}, Linear{.out = 45}, ReLU{}, Linear{.out = 3}>();
}

TEST_CASE("pointwise work on the device") {
    test_on_device<Input{3, 5, 7}, Pointwise<Wiggle>{}>();
    test_on_device<Input{37, 41}, GELU{}, SiLU{}>({.tolerance = 1e-5}); // more elements than a block has
    test_on_device<Input{5}, Residual<Linear{.out = 5}, Tanh{}>, Sigmoid{}>();
    test_on_device<Input{2, 5, 3}, Flatten{}, Linear{.out = 4}, LeakyReLU{.slope = 0.125f}>();
}

TEST_CASE("dropout on the device draws the CPU's numbers") {
    test_on_device<Input{3, 7, 5}, Dropout{.probability = 0.3f}>();
    test_on_device<Input{11}, Linear{.out = 9}, Dropout{.probability = 0.5f}, Linear{.out = 2}>();
}
