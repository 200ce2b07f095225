// Which gradients there are, and which there are not. Their values: graph/pointwise_test.cpp and every layer's own test.
#include "support/loss_graph.hpp"

#include <tenon/nn/network.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/mse/mse.hpp>

using namespace tenon;
using graph::Value;

namespace {

/// Live nodes of the forward and backward pass of a network: those that the parameters' gradients need.
template <class Net>
int count_live(graph::Op const& op) {
    graph::Builder b;
    Value const y = Net::write(b);
    std::vector<int> const gradients = graph::differentiate(b, y, MSE::write(b, y).gradient);
    std::vector<int> outputs;
    for (int gradient : gradients)
        if (gradient >= 0) outputs.push_back(gradient);
    graph::Fused const fused = fuse(b, outputs);
    int n = 0;
    for (graph::Stage const& stage : fused.stages)
        for (int anchor : {stage.anchor, stage.companion[0], stage.pool, stage.pool_companion[0]}) n += anchor >= 0 && b[anchor].is(op);
    return n;
}

/// The parameters that a gradient reaches.
template <class Net>
std::vector<bool> reached() {
    graph::Builder b;
    Value const y = Net::write(b);
    std::vector<bool> found;
    for (int gradient : graph::differentiate(b, y, MSE::write(b, y).gradient)) found.push_back(gradient >= 0);
    return found;
}

/// Forgets what comes in: its gradient is zero wherever it exists.
struct Step {
    constexpr auto operator()(auto x) const { return floor(x); }
};

} // namespace

TEST_CASE("nobody asks for the gradient of the network's input") {
    using Convolutions = Network<Input{1, 6, 6}, Conv2d{.out = 2, .kernel = 3}, Tanh{}, Conv2d{.out = 2, .kernel = 2}>;
    CHECK(count_live<Convolutions>(conv2d::input_gradient_op) == 1);
    CHECK(count_live<Convolutions>(conv2d::weight_gradient_op) == 2);
    using Rows = Network<Input{5}, Linear{.out = 4}, Linear{.out = 3}, Linear{.out = 2}>;
    CHECK(count_live<Rows>(linear::input_gradient_op) == 2);
    CHECK(count_live<Rows>(linear::weight_gradient_op) == 3);
}

TEST_CASE("layers without parameters before the first weight have no backward pass") {
    using Late = Network<Input{1, 8, 8}, MaxPool2d{.kernel = 2}, Tanh{}, AvgPool2d{.kernel = 2}, Flatten{}, Linear{.out = 3}>;
    CHECK(count_live<Late>(pool2d::max_op) == 1);
    CHECK(count_live<Late>(pool2d::max_index_op) == 0); // no gradient, no index
    CHECK(count_live<Late>(pool2d::max_gradient_op) == 0);
    CHECK(count_live<Late>(pool2d::average_gradient_op) == 0);
    CHECK(count_live<Late>(linear::input_gradient_op) == 0);
}

TEST_CASE("a path on which nothing flows back is dead") {
    using Net = Network<Input{4}, Linear{.out = 4}, Residual<Linear{.out = 4}, Pointwise<Step>{}>, Linear{.out = 2}>;
    CHECK(reached<Net>() == std::vector<bool>{true, true, false, false, true, true});
    CHECK(count_live<Net>(linear::weight_gradient_op) == 2);
}

TEST_CASE("the gradient of everything, as central differences find it") {
    using Net = Network<Input{1, 7, 6}, Conv2d{.out = 3, .kernel = 3, .padding = 1}, GELU{}, Residual<Conv2d{.out = 3, .kernel = 3, .padding = 1}, ReLU{}>,
                        MaxPool2d{.kernel = 2}, Flatten{}, Repeat<2, Linear{.out = 5}, SiLU{}>, Linear{.out = 3}>;
    auto const check = [](auto loss, auto const& targets) {
        using Loss = decltype(loss);
        index_t const samples = 4;
        graph::Builder b;
        Value const y = Net::write(b);
        graph::LossNodes const nodes = Loss::write(b, y);
        std::vector<int> const gradients = graph::differentiate(b, y, nodes.gradient);
        test::Interpreter run{b, samples};
        run.set(0, test::random_numbers(samples * 42, 1));
        for (graph::Parameter const& p : b.parameters) run.set(p.node, test::random_numbers(p.shape.count(), 10 + static_cast<std::uint64_t>(p.node)));
        test::give_loss(run, b, loss, targets, samples);
        for (std::size_t p = 0; p < gradients.size(); ++p) {
            CAPTURE(b.parameters[p].name);
            test::check_derivative(run, b, b.parameters[p].node, gradients[p], [&] { return run.number(nodes.loss); });
        }
    };
    check(CrossEntropy{}, test::random_labels(4, 3, 2));
    check(CrossEntropy{.label_smoothing = 0.1f, .ignore_index = 1, .weights = {1, 2, 3}}, std::vector<std::int32_t>{0, 1, 2, 2});
    check(MSE{}, test::random_numbers(12, 3));
}
