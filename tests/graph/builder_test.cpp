// Writing a graph: equal nodes are one, names follow the path, mistakes are remembered with their place.
#include <tenon/graph/differentiate.hpp>
#include <tenon/nn/network.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/conv2d/conv2d.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/linear/linear.hpp>
#include <tenon/ops/pool2d/pool2d.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

using namespace tenon;
using graph::Value;

namespace {

template <class Net>
std::vector<std::string> parameter_names() {
    graph::Builder b;
    (void)Net::write(b);
    std::vector<std::string> names;
    for (graph::Parameter const& p : b.parameters) names.emplace_back(p.name);
    return names;
}

constexpr int count(graph::Builder const& b, graph::Op const& op) {
    int n = 0;
    for (graph::Node const& node : b.nodes) n += node.is(op);
    return n;
}

/// Nodes of a graph in which one expression is written twice.
constexpr int size_of_repeated() {
    graph::Builder b;
    Value const x{&b, b.source(graph::input_op, {3}, true, 0)};
    (void)(tanh(x * 2.0f) + exp(x));
    int const once = b.size();
    (void)(tanh(x * 2.0f) + exp(x));
    return b.size() == once ? once : -1;
}

} // namespace

static_assert(size_of_repeated() == 6); // x, 2, x * 2, tanh, exp, the sum

TEST_CASE("equal nodes are stored once, however large the graph has grown") {
    graph::Builder b;
    Value const x{&b, b.source(graph::input_op, {3}, true, 0)};
    auto const write_all = [&] {
        std::vector<int> ids;
        Value y = x;
        for (int i = 0; i < 500; ++i) {
            y = sin(y) + static_cast<float>(i);
            ids.push_back(y.id);
        }
        return ids;
    };
    std::vector<int> const first = write_all();
    int const size = b.size();
    CHECK(write_all() == first);
    CHECK(b.size() == size);
}

TEST_CASE("nodes that differ in one thing are two") {
    graph::Builder b;
    int const x = b.source(graph::input_op, {3}, true, 0);
    CHECK(b.source(graph::input_op, {3}, true, 0) == x);
    CHECK(b.source(graph::input_op, {3}, true, 1) != x);
    CHECK(b.source(graph::input_op, {3}, false, 0) != x);
    CHECK(b.source(graph::input_op, {1, 3}, true, 0) != x);
    CHECK(b.source(graph::input_op, {3}, true, 0, graph::Dtype::i32) != x);
    CHECK(b.source(graph::label_op, {3}, true, 0) != x);
    Value const v{&b, x}, w{&b, b.source(graph::input_op, {3}, true, 1)};
    CHECK((v - w).id != (w - v).id);
    CHECK((v < w).id != (v <= w).id);
    Value const image{&b, b.source(graph::input_op, {2, 6, 6}, true, 2)}, weight{&b, b.source(graph::parameter_op, {2, 2, 3, 3}, false, 0)};
    auto const convolution = [&](int padding, int dilation) {
        conv2d::Geometry const g{3, 1, padding, dilation, 1};
        return conv2d::append(conv2d::forward_op, image, weight, {2, 4, 4}, true, g.attributes()).id;
    };
    CHECK(convolution(0, 1) == convolution(0, 1));
    CHECK(convolution(1, 2) != convolution(0, 1));
    CHECK(convolution(0, 2) != convolution(0, 1));
    CHECK(uniform_random(b, {3}).id != uniform_random(b, {3}).id); // each stream is another
}

TEST_CASE("constants are told apart by their bits") {
    graph::Builder b;
    std::vector<int> zeros;
    for (int i = 0; i < 100; ++i) (void)b.constant(static_cast<float>(i));
    CHECK(b.constant(0.0f) != b.constant(-0.0f));
    CHECK(b.constant(-0.0f) == b.constant(-0.0f));
    float const not_a_number = std::numeric_limits<float>::quiet_NaN();
    CHECK(b.constant(not_a_number) == b.constant(not_a_number));
}

TEST_CASE("what changes nothing is not written; what may hide a NaN is") {
    graph::Builder b;
    Value const x{&b, b.source(graph::input_op, {3}, true, 0)};
    CHECK((x + 0.0f).id == x.id);
    CHECK((x - 0.0f).id == x.id);
    CHECK((1.0f * x).id == x.id);
    CHECK((x / 1.0f).id == x.id);
    CHECK(reshape(x, {3}).id == x.id);
    CHECK(sum_to(x, {3}, true).id == x.id);
    CHECK((x * 0.0f).id != b.constant(0)); // NaN where x is
    CHECK(constant_like(x, 2).id == (constant_like(x, -2) * -1.0f).id);
}

TEST_CASE("a value that two branches use exists once") {
    using Net = Network<Input{4}, Linear{.out = 4}, Tanh{}, Residual<Linear{.out = 4}>, Residual<Residual<Linear{.out = 4}>>>;
    graph::Builder b;
    (void)Net::write(b);
    CHECK(count(b, linear::forward_op) == 3);
    int tanhs = 0;
    for (graph::Node const& node : b.nodes) tanhs += node.is(graph::pointwise_op) && node.fn() == Fn::tanh;
    CHECK(tanhs == 1);
}

TEST_CASE("parameters are named by their path") {
    using Names = std::vector<std::string>;
    CHECK(parameter_names<Network<Input{4}, Linear{.out = 3}, ReLU{}, Linear{.out = 2, .bias = false}>>() == Names{"0.weight", "0.bias", "2.weight"});
    CHECK(parameter_names<Network<Input{1, 8, 8}, Named<"conv1", Conv2d{.out = 2, .kernel = 3}>, Flatten{}, Named<"head", Linear{.out = 2}>>>() ==
          Names{"conv1.weight", "conv1.bias", "head.weight", "head.bias"});
    CHECK(parameter_names<Network<Input{4}, Residual<Tanh{}, Linear{.out = 4, .bias = false}>, Repeat<2, ReLU{}, Residual<Linear{.out = 4, .bias = false}>>>>() ==
          Names{"0.1.weight", "1.0.1.0.weight", "1.1.1.0.weight"});
    CHECK(parameter_names<Network<Input{4}, Named<"block", Residual<Named<"a", Linear{.out = 4}>>>>>() == Names{"block.a.weight", "block.a.bias"});
    CHECK(parameter_names<Network<Input{2}, Repeat<11, Linear{.out = 2, .bias = false}>>>()[10] == "0.10.0.weight");
}

TEST_CASE("a mistake is remembered with its place, and the first one counts") {
    graph::Builder b;
    using Wrong = detail::NetworkFacts<Input{4}, Linear{.out = 4}, Residual<Tanh{}, Linear{.in = 5, .out = 4}>, Flatten{7}>;
    (void)Wrong::write(b);
    REQUIRE(!b.verdict.ok());
    CHECK(b.verdict.fault == &fault::in_differs_from_what_arrives);
    CHECK(b.verdict.depth == 2);
    CHECK(b.verdict.path[0] == 1);
    CHECK(b.verdict.path[1] == 1);
    CHECK(b.verdict.arrives == Dims{4});
    CHECK(b.verdict.expected == Dims{5});
}

TEST_CASE("shapes broadcast from the right") {
    CHECK(graph::broadcast_shape({3, 1, 2}, {4, 1}) == Dims{3, 4, 2});
    CHECK(graph::broadcast_shape({}, {5}) == Dims{5});
    CHECK(graph::broadcast_shape({1}, {2, 1}) == Dims{2, 1});
    CHECK(graph::broadcast_shape({3}, {2}).rank == -1);
    CHECK(graph::broadcast_shape({3, 2}, {3}).rank == -1);
}
