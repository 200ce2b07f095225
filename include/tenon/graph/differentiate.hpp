/// @file
/// Reverse-mode differentiation on values: walks the graph backwards and appends each node's adjoints by its operation's
/// rule. Nothing is nested: a thousand nodes are a thousand steps of one loop.
#pragma once

#include <tenon/graph/pointwise.hpp>

namespace tenon::graph {

/// The sum of `gradient` over every axis that `shape` does not have, over the batch if there is one too many. Axes that `gradient` itself
/// lacks stay away: a gradient that is one number for all is not summed.
constexpr Value sum_stretched(Value gradient, Dims shape, bool batched) {
    Dims const from = gradient.shape();
    for (int axis = 1; axis <= shape.rank; ++axis)
        if (axis > from.rank || from[from.rank - axis] == 1) shape.extent[shape.rank - axis] = 1;
    bool longer = from.rank > shape.rank;
    for (int axis = 1; axis <= from.rank && axis <= shape.rank; ++axis) longer = longer || from[from.rank - axis] != shape[shape.rank - axis];
    bool const over_batch = gradient.node().batched && !batched;
    return longer || over_batch ? sum_to(gradient, shape, batched && gradient.node().batched) : gradient;
}

/// Adds `gradient` to the adjoint of node `input`; sums over what broadcasting had stretched. A rule calls it per input.
constexpr void accumulate(Builder& b, int input, Value gradient) {
    if (static_cast<std::size_t>(input) >= b.adjoints.size() || b.wanted[static_cast<std::size_t>(input)] == 0) return;
    Node const target = b[input];
    Value const fitting = broadcast_to(sum_stretched(gradient, target.shape, target.batched), target.shape, target.batched);
    int const sum = b.adjoints[static_cast<std::size_t>(input)];
    b.adjoints[static_cast<std::size_t>(input)] = sum < 0 ? fitting.id : (Value{&b, sum} + fitting).id;
}

/// Is an adjoint of this node asked for? Saves a rule the writing of a large node for nothing.
[[nodiscard]] constexpr bool wants_gradient(Builder const& b, int input) {
    return static_cast<std::size_t>(input) < b.wanted.size() && b.wanted[static_cast<std::size_t>(input)] != 0;
}

/// Appends the gradient of all parameters, given the adjoint `seed` of node `output`; returns a node for each (-1: none flows).
constexpr std::vector<int> differentiate(Builder& b, Value output, Value seed) {
    auto const forward = static_cast<std::size_t>(output.id) + 1;
    b.adjoints.assign(forward, -1);
    b.wanted.assign(forward, 0);
    for (std::size_t id = 0; id < forward; ++id) {
        Node const& node = b.nodes[id];
        b.wanted[id] = node.is(parameter_op);
        for (int input : node.input)
            if (input >= 0 && b.wanted[static_cast<std::size_t>(input)] != 0) b.wanted[id] = 1;
    }
    accumulate(b, output.id, seed);
    for (int id = output.id; id >= 0; --id) {
        int const dy = b.adjoints[static_cast<std::size_t>(id)];
        if (dy < 0) continue;
        Op const* op = b[id].op;
        b.layer = b[id].layer;
        op->differentiate(b, id, dy);
    }
    std::vector<int> gradients;
    for (Parameter const& p : b.parameters) gradients.push_back(static_cast<std::size_t>(p.node) < forward ? b.adjoints[static_cast<std::size_t>(p.node)] : -1);
    return gradients;
}

constexpr void differentiate_view(Builder& b, int node, int dy) {
    int const input = b[node].input[0];
    accumulate(b, input, reshape(Value{&b, dy}, b.shape(input)));
}

constexpr void differentiate_sum_to(Builder& b, int node, int dy) {
    Node const input = b[b[node].input[0]];
    accumulate(b, b[node].input[0], broadcast_to(Value{&b, dy}, input.shape, input.batched));
}

/// The derivative of every elementary function. Where the output serves as well as the input the output is used: it is what
/// the next layer stores anyway. At kinks the subgradients are PyTorch's: relu'(0) = 0, abs'(0) = 0, min and max share ties.
constexpr void differentiate_pointwise(Builder& b, int id, int dy_id) {
    Node const node = b[id];
    Value const dy{&b, dy_id}, y{&b, id}, x{&b, node.input[0]}, x2{&b, node.input[1]}, x3{&b, node.input[2]};
    auto const unary = [&](Value derivative) { accumulate(b, x.id, dy * derivative); };
    auto const two_over_sqrt_pi = 1.12837916709551257390f;
    switch (node.fn()) {
    case Fn::neg: accumulate(b, x.id, -dy); break;
    case Fn::abs: unary(sign(x)); break;
    case Fn::sqrt: unary(0.5f / y); break;
    case Fn::exp: unary(y); break;
    case Fn::expm1: unary(y + 1.0f); break;
    case Fn::log: accumulate(b, x.id, dy / x); break;
    case Fn::log1p: accumulate(b, x.id, dy / (x + 1.0f)); break;
    case Fn::sin: unary(cos(x)); break;
    case Fn::cos: unary(-sin(x)); break;
    case Fn::tanh: unary(1.0f - y * y); break;
    case Fn::sigmoid: unary(y * (1.0f - y)); break;
    case Fn::erf: unary(two_over_sqrt_pi * exp(-(x * x))); break;
    case Fn::relu: accumulate(b, x.id, select(y <= 0.0f, 0.0f, dy)); break;
    case Fn::add:
        accumulate(b, x.id, dy);
        if (!x2.node().is(constant_op)) accumulate(b, x2.id, dy);
        break;
    case Fn::sub:
        accumulate(b, x.id, dy);
        if (wants_gradient(b, x2.id)) accumulate(b, x2.id, -dy);
        break;
    case Fn::mul:
        if (wants_gradient(b, x.id)) accumulate(b, x.id, dy * x2);
        if (wants_gradient(b, x2.id)) accumulate(b, x2.id, dy * x);
        break;
    case Fn::div:
        if (wants_gradient(b, x.id)) accumulate(b, x.id, dy / x2);
        if (wants_gradient(b, x2.id)) accumulate(b, x2.id, -(dy * y / x2));
        break;
    case Fn::pow:
        if (wants_gradient(b, x.id)) accumulate(b, x.id, dy * x2 * pow(x, x2 - 1.0f));
        if (wants_gradient(b, x2.id)) accumulate(b, x2.id, dy * y * log(x));
        break;
    case Fn::min:
    case Fn::max: { // PyTorch: the gradient of a tie is shared equally
        bool const is_max = node.fn() == Fn::max;
        Value const first = is_max ? x > x2 : x < x2, second = is_max ? x2 > x : x2 < x, half = select(x == x2, 0.5f, 0.0f);
        if (wants_gradient(b, x.id)) accumulate(b, x.id, dy * select(first, constant_like(x, 1), half));
        if (wants_gradient(b, x2.id)) accumulate(b, x2.id, dy * select(second, constant_like(x, 1), half));
        break;
    }
    case Fn::select:
        if (wants_gradient(b, x2.id)) accumulate(b, x2.id, select(x, dy, 0.0f));
        if (wants_gradient(b, x3.id)) accumulate(b, x3.id, select(x, 0.0f, dy));
        break;
    case Fn::fma:
        if (wants_gradient(b, x.id)) accumulate(b, x.id, dy * x2);
        if (wants_gradient(b, x2.id)) accumulate(b, x2.id, dy * x);
        accumulate(b, x3.id, dy);
        break;
    default: break; // steps and comparisons: the derivative is 0 wherever it exists
    }
}

} // namespace tenon::graph
