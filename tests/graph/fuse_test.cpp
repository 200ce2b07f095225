// Fusion as an ordinary function: what joins what, what is computed again, where programs are cut. That all of it computes the
// right thing: graph/random_networks_test.cpp.
#include "support/describe_stages.hpp"

#include <tenon/graph/compile.hpp>
#include <tenon/nn/network.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/conv2d/conv2d.hpp>
#include <tenon/ops/cross_entropy/cross_entropy.hpp>
#include <tenon/ops/dropout/dropout.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/linear/linear.hpp>
#include <tenon/ops/mse/mse.hpp>
#include <tenon/ops/pool2d/pool2d.hpp>
#include <tenon/optim/sgd.hpp>
#include <tenon/train/program.hpp>

#include <doctest/doctest.h>

using namespace tenon;
using graph::Value;

namespace {

constexpr graph::BatchLayout layout{4, 4};
using Texts = std::vector<std::string>;

/// The stages of a network's training step.
template <class Net, class Loss = CrossEntropy>
Texts stages_of() {
    graph::Builder b;
    graph::Roots const roots = training::TrainingSource<Net, Loss, SGD, layout, true>::write(b);
    return test::describe_stages(b, fuse(b, roots.outputs));
}

std::string const update = " add add add mul mul mul mul mul mul sub > 2";

struct Wiggle {
    constexpr auto operator()(auto x) const { return sin(x) + 0.5f * cos(2.0f * x); }
};

using Residuals = Network<Input{3, 8, 8}, Conv2d{.out = 4, .kernel = 3, .padding = 1}, ReLU{},
                          Repeat<2, Residual<Conv2d{.out = 4, .kernel = 3, .padding = 1}, ReLU{}, Conv2d{.out = 4, .kernel = 3, .padding = 1}>, ReLU{}>,
                          AvgPool2d{.kernel = 2}, Flatten{}, Linear{.out = 10}>;
static_assert(graph::Compiled<training::TrainingSource<Residuals, MSE, SGD, layout, true>>::tables.sizes.stages == 26);

} // namespace

TEST_CASE("a residual network: the sum and the activation after it join the convolution before it") {
    Texts const stages = stages_of<Residuals, MSE>();
    REQUIRE(stages.size() == 26);
    CHECK(stages[0] == "conv2d add relu > 1");
    CHECK(stages[1] == "conv2d add relu > 1");
    CHECK(stages[2] == "conv2d add add relu > 1");
    CHECK(stages[3] == "conv2d add relu > 1");
    CHECK(stages[4] == "conv2d add add relu > 1");
    CHECK(stages[5] == "avg_pool2d > 1");
    CHECK(stages[6] == "linear add less mul mul mul mul select sub > 2"); // the loss's gradient, and what its sum needs
    CHECK(stages[7] == "sum_to mul mul > 1");
    for (std::string const& stage : stages) CHECK(stage.find("pointwise") == std::string::npos); // nothing stands alone
}

TEST_CASE("pointwise layers join what comes before them, under any shape of as many elements") {
    CHECK(stages_of<Network<Input{4}, Linear{.out = 3}, Tanh{}, Dropout{.probability = 0.5f}, Linear{.out = 2}>>()[0] == "linear add less mul random select tanh > 2");
    CHECK(stages_of<Network<Input{1, 4, 4}, Conv2d{.out = 2, .kernel = 3}, Flatten{}, Sigmoid{}, Linear{.out = 2}>>()[0] == "conv2d add sigmoid > 1");
}

TEST_CASE("what is cheap is computed again: only one value crosses from the forward to the backward pass") {
    Texts const gelu = stages_of<Network<Input{4}, Linear{.out = 3}, GELU{}, Linear{.out = 2}>>();
    CHECK(gelu[0] == "linear add add erf mul mul mul > 2"); // the activation, and the value before it
    CHECK(stages_of<Network<Input{4}, Linear{.out = 3}, ReLU{}, Linear{.out = 2}>>()[0] == "linear add relu > 1"); // its output serves
}

TEST_CASE("a pool follows on a convolution's tile, and on nothing else's") {
    using Behind = Network<Input{2, 6, 6}, Conv2d{.out = 2, .kernel = 3}, Tanh{}, MaxPool2d{.kernel = 2}, Flatten{}, Linear{.out = 2}>;
    CHECK(stages_of<Behind>()[0] == "conv2d add tanh | max_pool2d+max_pool2d_index > 3"); // tanh's output is needed by its gradient
    using Twice = Network<Input{2, 8, 8}, Conv2d{.out = 2, .kernel = 3}, MaxPool2d{.kernel = 2}, MaxPool2d{.kernel = 2}, Flatten{}, Linear{.out = 2}>;
    CHECK(stages_of<Twice>()[0] == "conv2d add | max_pool2d+max_pool2d_index > 2");
    CHECK(stages_of<Twice>()[1] == "max_pool2d+max_pool2d_index > 2");
    // The sum needs what the pool reads and what it makes: it must wait for the whole of both.
    using Around = Network<Input{2, 6, 6}, Conv2d{.out = 2, .kernel = 3}, Residual<MaxPool2d{.kernel = 3, .stride = 1, .padding = 1}>, Flatten{}, Linear{.out = 2}>;
    CHECK(stages_of<Around>()[1] == "pointwise add > 1");
    using Alone = Network<Input{2, 6, 6}, MaxPool2d{.kernel = 2}, Conv2d{.out = 2, .kernel = 2}, Flatten{}, Linear{.out = 2}>;
    CHECK(stages_of<Alone>()[0] == "max_pool2d > 1");
}

TEST_CASE("the update ends the stage that makes the gradient") {
    Texts const stages = stages_of<Network<Input{4}, Linear{.out = 3}, Linear{.out = 2}>>();
    CHECK(stages == Texts{"linear add > 1", "linear add > 1", "cross_entropy+cross_entropy_gradient > 2", "sum_to" + update, "linear_input_gradient > 1",
                          "linear_weight_gradient" + update, "sum_to" + update, "linear_weight_gradient" + update});
}

TEST_CASE("an update that needs the whole gradient first is a stage of its own") {
    graph::Builder b;
    Value const w{&b, b.parameter("w", {3, 4}, graph::Distribution::uniform, 1)}, x{&b, b.source(graph::input_op, {4}, true, 0)};
    Value const y = linear::append(linear::forward_op, x, w, {3}, true);
    Value const g{&b, graph::differentiate(b, y, {&b, b.source(graph::label_op, {3}, true, 0)})[0]};
    b.update = 0;
    SGD::write(b, 0, g / sqrt(sum_to(g * g, {}, false)));
    CHECK(test::describe_stages(b, fuse(b, {})) ==
          Texts{"linear_weight_gradient mul > 2", "sum_to > 1", "pointwise add add add div mul mul mul mul mul mul sqrt sub > 2"});
}

TEST_CASE("long pointwise work is cut into programs that fit") {
    graph::Builder b;
    Value x{&b, b.source(graph::input_op, {5}, true, 0)};
    Value y = linear::append(linear::forward_op, x, {&b, b.parameter("w", {5, 5}, graph::Distribution::uniform, 1)}, {5}, true);
    for (int i = 0; i < 100; ++i) y = detail::write_layer(b, Pointwise<Wiggle>{}, i, y);
    // One layer that is longer than a program may be.
    Value longest = y;
    for (int i = 0; i < 300; ++i) longest = sin(longest) + 1.0f;
    std::vector<int> outputs{longest.id};
    for (int gradient : graph::differentiate(b, longest, {&b, b.source(graph::label_op, {5}, true, 0)})) outputs.push_back(gradient);
    graph::Fused const fused = fuse(b, outputs);
    CHECK(fused.stages.size() > 10);
    CHECK(fused.stages.size() < 120);
    for (graph::Stage const& stage : fused.stages) {
        CHECK(stage.phase[0].code_end - stage.phase[0].code_begin <= 256);
        CHECK(stage.phase[0].operand_end - stage.phase[0].operand_begin <= 64);
        CHECK((stage.anchor >= 0 || stage.phase[0].code_end > stage.phase[0].code_begin)); // no stage without work
    }
}

TEST_CASE("nodes that nothing needs cost nothing") {
    graph::Builder b;
    Value const x{&b, b.source(graph::input_op, {4}, true, 0)};
    Value const y = tanh(x);
    (void)sum_to(exp(y), {}, false);
    (void)linear::append(linear::forward_op, y, {&b, b.parameter("w", {2, 4}, graph::Distribution::uniform, 1)}, {2}, true);
    CHECK(test::describe_stages(b, fuse(b, {y.id})) == Texts{"pointwise tanh > 1"});
}
