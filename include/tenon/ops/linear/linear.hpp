/// @file
/// The fully connected layer: what it takes, what it costs, how it differentiates.
#pragma once

#include <tenon/graph/pointwise.hpp>
#include <tenon/nn/initialize.hpp>

namespace tenon {

namespace linear {

constexpr void differentiate(graph::Builder& b, int node, int dy);

constexpr index_t forward_flops(graph::Node const&, graph::Node const* const* in) { return 2 * in[1]->shape.count(); }
constexpr index_t weight_gradient_flops(graph::Node const& dw, graph::Node const* const*) { return 2 * dw.shape.count(); }

/// y [out] = weight [out, in] x [in]
inline constexpr graph::Op forward_op{.name = "linear", .kind = graph::Kind::anchor, .differentiate = &differentiate, .flops = &forward_flops};
/// dx [in] from dy [out], weight [out, in]
inline constexpr graph::Op input_gradient_op{.name = "linear_input_gradient", .kind = graph::Kind::anchor, .flops = &forward_flops};
/// dweight [out, in] from x [in], dy [out]; summed over the batch
inline constexpr graph::Op weight_gradient_op{.name = "linear_weight_gradient", .kind = graph::Kind::anchor, .flops = &weight_gradient_flops};

constexpr graph::Value append(graph::Op const& op, graph::Value a, graph::Value b, Dims const& shape, bool batched) {
    graph::Node node{.op = &op};
    node.input[0] = a.id;
    node.input[1] = b.id;
    node.shape = shape;
    node.batched = batched;
    return {a.builder, a.builder->add(node)};
}

constexpr void differentiate(graph::Builder& b, int id, int dy_id) {
    graph::Node const y = b[id];
    graph::Value const x{&b, y.input[0]}, weight{&b, y.input[1]}, dy{&b, dy_id};
    // The input's gradient first: it reads the weights, and the stage of the weights' gradient may overwrite them.
    if (graph::wants_gradient(b, x.id)) graph::accumulate(b, x.id, append(input_gradient_op, dy, weight, Dims{x.shape()}, true));
    if (graph::wants_gradient(b, weight.id))
        graph::accumulate(b, weight.id, append(weight_gradient_op, x, dy, Dims{weight.shape()}, false));
}

} // namespace linear

/// y [out] = weight [out, in] x [in] + bias [out]; torch.nn.Linear
/// (https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html). `.in` may be left out; given, it is checked.
struct Linear {
    int in = 0;
    int out = 0;
    bool bias = true;
    Init weight_init{};
    Init bias_init{};

    static constexpr char const* name = "Linear";

    constexpr graph::Value write(graph::Builder& b, graph::Value x) const {
        Dims const s = x.shape();
        if (out < 1) return b.fail(fault::option_must_be_positive, s), x;
        if (s.rank != 1) return b.fail(fault::layer_takes_another_rank, s, {in != 0 ? in : s.count()}), x;
        if (in != 0 && in != s[0]) b.fail(fault::in_differs_from_what_arrives, s, {in});
        graph::Value const weight{&b, b.parameter("weight", {out, s[0]}, weight_init.distribution(), weight_init.scale(s[0], out))};
        graph::Value y = linear::append(linear::forward_op, x, weight, {out}, true);
        if (bias) y = y + graph::Value{&b, b.parameter("bias", {out}, bias_init.distribution(), bias_init.scale(s[0], out))};
        return y;
    }
};

} // namespace tenon
