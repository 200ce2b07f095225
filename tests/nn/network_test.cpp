// A network as a type: its shapes, counts and costs, known to the compiler.
#include <tenon/nn/network.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/conv2d/conv2d.hpp>
#include <tenon/ops/dropout/dropout.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/linear/linear.hpp>
#include <tenon/ops/pool2d/pool2d.hpp>

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

using namespace tenon;

namespace {

/// The shape that one layer makes of In.
template <Input In, auto Layer>
constexpr Dims shape_after() {
    graph::Builder b;
    graph::Value const y = Layer.write(b, {&b, b.source(graph::input_op, In.shape(), true, 0)});
    return b.verdict.ok() ? y.shape() : Dims{};
}

using Everything = Network<Input{3, 9, 9}, Expect{3, 9, 9}, Conv2d{.in = 3, .out = 4, .kernel = 3, .stride = 2, .padding = 1}, Named<"act", ReLU{}>, Expect{4, 5, 5},
                           Residual<Conv2d{.out = 4, .kernel = 3, .padding = 1, .groups = 2}>, AvgPool2d{.kernel = 2}, Flatten{16}, Dropout{.probability = 0.1f},
                           Repeat<3, Linear{.out = 16}, Tanh{}>, Linear{.in = 16, .out = 2, .bias = false}>;

} // namespace

static_assert(Everything::valid);
static_assert(Everything::layers == 10);
static_assert(Everything::input == Dims{3, 9, 9} && Everything::output == Dims{2});
static_assert(Everything::parameters == (4 * 3 * 9 + 4) + (4 * 2 * 9 + 4) + 3 * (16 * 16 + 16) + 2 * 16);
static_assert(Everything::forward_flops == 2 * (4 * 25 * 27 + 4 * 25 * 18 + 3 * 256 + 32));
static_assert(std::is_empty_v<Everything>);

// A name, a check, a number of repetitions change nothing else.
static_assert(Network<Input{4}, Named<"a", Linear{.out = 3}>>::forward_flops == Network<Input{4}, Linear{.out = 3}>::forward_flops);
static_assert(Network<Input{4}, Repeat<0, Linear{.out = 9}>, Linear{.out = 3}>::parameters == 15);
static_assert(Network<Input{4}, Residual<>>::parameters == 0);

// Shapes, by PyTorch's formulas.
static_assert(shape_after<Input{1, 28, 28}, Conv2d{.out = 20, .kernel = 5}>() == Dims{20, 24, 24});
static_assert(shape_after<Input{3, 11, 8}, Conv2d{.out = 4, .kernel = 3, .stride = 2}>() == Dims{4, 5, 3});
static_assert(shape_after<Input{2, 10, 9}, Conv2d{.out = 3, .kernel = 3, .dilation = 2}>() == Dims{3, 6, 5});
static_assert(shape_after<Input{2, 9, 8}, Conv2d{.out = 3, .kernel = {2, 3}, .stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}}>() == Dims{3, 5, 4});
static_assert(shape_after<Input{2, 3, 3}, Conv2d{.out = 1, .kernel = 3}>() == Dims{1, 1, 1});
static_assert(shape_after<Input{2, 7, 9}, MaxPool2d{.kernel = 2}>() == Dims{2, 3, 4});
static_assert(shape_after<Input{2, 7, 9}, MaxPool2d{.kernel = 3, .stride = 2, .padding = 1}>() == Dims{2, 4, 5});
static_assert(shape_after<Input{2, 7, 9}, AvgPool2d{.kernel = {7, 3}, .stride = {1, 3}}>() == Dims{2, 1, 3});
static_assert(shape_after<Input{2, 7, 9}, Flatten{}>() == Dims{126});
static_assert(shape_after<Input{2, 7, 9}, GELU{}>() == Dims{2, 7, 9});
static_assert(shape_after<Input{5}, Linear{.out = 1}>() == Dims{1});

TEST_CASE("layers keep their names for messages") {
    std::string names;
    for (int i = 0; i < Everything::layers; ++i) names += std::string{Everything::layer_names[static_cast<std::size_t>(i)]} + " ";
    CHECK(names == "Expect Conv2d ReLU Expect Residual AvgPool2d Flatten Dropout Repeat Linear ");
}

TEST_CASE("dropout is in the graph of training alone") {
    auto const randoms = [](bool training) {
        graph::Builder b;
        b.training = training;
        (void)Everything::write(b);
        return b.random_sources();
    };
    CHECK(randoms(true) == 1);
    CHECK(randoms(false) == 0);
}
