// LeNet's training step, as the compiler sees it: sizes, costs, what is fused into what, memory.
#include "support/describe_stages.hpp"
#include "support/lenet.hpp"

#include <tenon/graph/describe.hpp>
#include <tenon/ops/cross_entropy/cross_entropy.hpp>
#include <tenon/optim/sgd.hpp>
#include <tenon/train/program.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace tenon;

namespace {

using test::LeNet;

template <graph::BatchLayout Layout, bool Reuse = true>
using Step = graph::Compiled<training::TrainingSource<LeNet, CrossEntropy, SGD, Layout, Reuse>>;
using Step4 = Step<graph::BatchLayout{4, 4}>;
using Inference4 = graph::Compiled<training::InferenceSource<LeNet, CrossEntropy, graph::BatchLayout{4, 4}, 0>>;

constexpr auto const& tables = Step4::tables;

constexpr int count_stages(graph::Op const& anchor) {
    int n = 0;
    for (int s = 0; s < tables.sizes.stages; ++s) {
        int const id = tables.stages[static_cast<std::size_t>(s)].anchor;
        n += id >= 0 && tables.nodes[static_cast<std::size_t>(id)].is(anchor);
    }
    return n;
}

/// Bytes of all stored values of this shape and type; 0: none is stored.
constexpr index_t bytes_of(Dims const& shape, graph::Dtype dtype, graph::Kind kind) {
    index_t bytes = 0;
    for (int i = 0; i < tables.sizes.buffers; ++i) {
        graph::Buffer const& buffer = tables.buffers[static_cast<std::size_t>(i)];
        graph::Node const& node = tables.nodes[static_cast<std::size_t>(buffer.node)];
        if (node.shape == shape && node.dtype == dtype && node.op->kind == kind) bytes += buffer.bytes;
    }
    return bytes;
}

} // namespace

// The network's facts.
static_assert(LeNet::valid && LeNet::layers == 10);
static_assert(LeNet::parameters == 431'080);
static_assert(LeNet::input == Dims{1, 28, 28} && LeNet::output == Dims{10});

// By hand, forward: 20 24 24 x 25, 50 8 8 x 500, 500 x 800, 10 x 500, two operations each. Backward: once more for the weights,
// and once more for the inputs but the first.
static_assert(LeNet::forward_flops == 2 * (288'000 + 1'600'000 + 400'000 + 5'000) && LeNet::forward_flops == 4'586'000);
static_assert(graph::step_cost(Inference4::tables, 1).flops == 4'586'000);
static_assert(graph::step_cost(tables, 1).flops == 3 * 4'586'000 - 2 * 288'000 && graph::step_cost(tables, 1).flops == 13'182'000);
static_assert(graph::step_cost(tables, 4).flops == 4 * 13'182'000);

// One stage for each anchor; none for the gradient of the first layer's input.
static_assert(tables.verdict.ok());
static_assert(tables.sizes.stages == 18);
static_assert(Inference4::tables.sizes.stages == 5);
static_assert(count_stages(conv2d::forward_op) == 2 && count_stages(conv2d::input_gradient_op) == 1 && count_stages(conv2d::weight_gradient_op) == 2);
static_assert(count_stages(linear::forward_op) == 2 && count_stages(linear::input_gradient_op) == 2 && count_stages(linear::weight_gradient_op) == 2);
static_assert(count_stages(pool2d::max_op) == 0 && count_stages(pool2d::max_gradient_op) == 2);
static_assert(count_stages(graph::sum_to_op) == 4 && count_stages(cross_entropy::loss_op) == 1);

// What the pools read is never stored; which tap won takes one byte.
static_assert(bytes_of({20, 24, 24}, graph::Dtype::f32, graph::Kind::pointwise) == 0);
static_assert(bytes_of({50, 8, 8}, graph::Dtype::f32, graph::Kind::pointwise) == 0);
static_assert(bytes_of({20, 12, 12}, graph::Dtype::u8, graph::Kind::anchor) == 4 * 20 * 12 * 12);
static_assert(bytes_of({50, 4, 4}, graph::Dtype::u8, graph::Kind::anchor) == 4 * 50 * 4 * 4);

// Memory: every buffer has a place of its own while it lives, with and without reuse.
constexpr bool proven(auto const& t) { return graph::disjoint(t.buffers.data(), static_cast<std::size_t>(t.sizes.buffers)); }
static_assert(proven(tables) && proven(Inference4::tables));
static_assert(proven(Step<graph::BatchLayout{64, 16}>::tables) && proven(Step<graph::BatchLayout{5, 1}, false>::tables));
static_assert(tables.memory.parameters == 4 * 431'080 && tables.memory.optimizer_state == 4 * 431'080);
static_assert(tables.memory.total == tables.memory.parameters + tables.memory.optimizer_state + tables.memory.activations + tables.memory.other);
static_assert(tables.memory.total <= 3'710'000);
// By hand: the gradient before the first pool, the one behind it, and that pool's winners live at once; and the loss.
static_assert(tables.memory.activations == 4 * 4 * (20 * 576 + 20 * 144) + 4 * 20 * 144 + 64);
static_assert(tables.memory.activations < Step<graph::BatchLayout{4, 4}, false>::tables.memory.activations);
static_assert(Inference4::tables.memory.optimizer_state == 0 && Inference4::tables.memory.total < tables.memory.total);

TEST_CASE("LeNet: what is fused into what") {
    using Source = training::TrainingSource<LeNet, CrossEntropy, SGD, graph::BatchLayout{4, 4}, true>;
    graph::Builder b;
    graph::Roots const roots = Source::write(b);
    std::string const update = " add add add mul mul mul mul mul mul sub > 2";
    std::vector<std::string> const expected{
        "conv2d add | max_pool2d+max_pool2d_index relu > 2",
        "conv2d add | max_pool2d+max_pool2d_index relu > 2",
        "linear add relu > 1",
        "linear add > 1",
        "cross_entropy+cross_entropy_gradient > 2",
        "sum_to" + update,
        "linear_input_gradient less_equal select > 1",
        "linear_weight_gradient" + update,
        "sum_to" + update,
        "linear_input_gradient less_equal select > 1",
        "linear_weight_gradient" + update,
        "max_pool2d_gradient > 1",
        "sum_to" + update,
        "conv2d_input_gradient less_equal select > 1",
        "conv2d_weight_gradient" + update,
        "max_pool2d_gradient > 1",
        "sum_to" + update,
        "conv2d_weight_gradient" + update,
    };
    CHECK(test::describe_stages(b, fuse(b, roots.outputs)) == expected);
}

TEST_CASE("LeNet: parameters have PyTorch's names and shapes") {
    graph::Builder b;
    (void)LeNet::write(b);
    std::vector<std::string> names;
    for (graph::Parameter const& p : b.parameters) names.emplace_back(p.name);
    CHECK(names == std::vector<std::string>{"0.weight", "0.bias", "3.weight", "3.bias", "7.weight", "7.bias", "9.weight", "9.bias"});
    CHECK(b.parameters[2].shape == Dims{50, 20, 5, 5});
    CHECK(b.parameters[4].shape == Dims{500, 800});
}

TEST_CASE("LeNet: initial weights are within PyTorch's bounds") {
    graph::Builder b;
    (void)LeNet::write(b);
    for (std::size_t p = 0; p < 8; ++p) {
        double const bound[] = {0.2, 0.0447214, 0.0353553, 0.0447214};
        CHECK(b.parameters[p].distribution == graph::Distribution::uniform);
        CHECK(static_cast<double>(b.parameters[p].scale) == doctest::Approx(bound[p / 2]).epsilon(1e-6));
    }
}
