// Residual, Repeat and Named, alone and nested: gradients and program.
#include "support/test_layer.hpp"

#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/pool2d/pool2d.hpp>

using namespace tenon;
using test::check_layer_gradients;
using test::test_layer;

namespace {
struct Wiggle {
    constexpr auto operator()(auto x) const { return sin(x) + 0.5f * cos(2.0f * x); }
};
} // namespace

TEST_CASE("Residual: the input goes around the branch") {
    test_layer<Input{2, 4, 5}, Residual<Conv2d{.out = 2, .kernel = 3, .padding = 1}, ReLU{}, MaxPool2d{.kernel = 3, .stride = 1, .padding = 1}>, ReLU{}>();
    test_layer<Input{7}, Residual<>>(); // x + x
    check_layer_gradients<Input{5}, Residual<Linear{.out = 5}, Tanh{}>>({});
    check_layer_gradients<Input{7}, Residual<Residual<SiLU{}>, Residual<Linear{.out = 7}>>>({});
}

TEST_CASE("Repeat: each time with parameters of its own") {
    test_layer<Input{6}, Repeat<2, Linear{.out = 6}, Sigmoid{}>>({.tolerance = 1e-5});
    test_layer<Input{4}, Repeat<0, Linear{.out = 3}>, Tanh{}>();
    check_layer_gradients<Input{2, 4, 3}, Repeat<2, Residual<Conv2d{.out = 2, .kernel = 3, .padding = 1}, GELU{}>, ReLU{}>>({});
    check_layer_gradients<Input{9}, Linear{.out = 9}, Repeat<2, Repeat<2, Pointwise<Wiggle>{}, Linear{.out = 9}>>>({});
}

TEST_CASE("Named changes names and nothing else") {
    test_layer<Input{2, 3, 4}, Named<"block", Residual<Named<"inner", Conv2d{.out = 2, .kernel = 1}>, Tanh{}>>>();
}
