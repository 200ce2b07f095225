/// @file
/// Two-dimensional convolution (cross-correlation, as in every framework): what it takes, what it costs, how it differentiates.
#pragma once

#include <tenon/graph/pointwise.hpp>
#include <tenon/nn/initialize.hpp>
#include <tenon/ops/size2d.hpp>

namespace tenon {

namespace conv2d {

/// A convolution's numbers as they lie in a node's attributes.
struct Geometry {
    Size2d kernel, stride, padding, dilation;
    int groups = 1;

    [[nodiscard]] constexpr graph::Attributes attributes() const {
        return {kernel.height, kernel.width, stride.height, stride.width, padding.height, padding.width, dilation.height, dilation.width, groups};
    }
    [[nodiscard]] static constexpr Geometry of(graph::Node const& node) {
        auto const& a = node.attribute;
        return {{a[0], a[1]}, {a[2], a[3]}, {a[4], a[5]}, {a[6], a[7]}, a[8]};
    }
};

constexpr void differentiate(graph::Builder& b, int node, int dy);

/// Multiplications and additions for one sample; the same count serves both gradients.
/// @param output [O, OH, OW]  @param weight [O, C / groups, KH, KW]
[[nodiscard]] constexpr index_t flops(Dims const& output, Dims const& weight) { return 2 * output.count() * weight.count_from(1); }

constexpr index_t forward_flops(graph::Node const& y, graph::Node const* const* in) { return flops(y.shape, in[1]->shape); }
constexpr index_t input_gradient_flops(graph::Node const&, graph::Node const* const* in) { return flops(in[0]->shape, in[1]->shape); }
constexpr index_t weight_gradient_flops(graph::Node const& dw, graph::Node const* const* in) { return flops(in[1]->shape, dw.shape); }

/// y [O, OH, OW] = x [C, H, W] * weight [O, C / groups, KH, KW]
inline constexpr graph::Op forward_op{.name = "conv2d", .kind = graph::Kind::anchor, .differentiate = &differentiate, .flops = &forward_flops, .makes_planes = true};
/// dx [C, H, W] from dy [O, OH, OW], weight
inline constexpr graph::Op input_gradient_op{.name = "conv2d_input_gradient", .kind = graph::Kind::anchor, .flops = &input_gradient_flops};
/// dweight from x, dy; summed over the batch
inline constexpr graph::Op weight_gradient_op{.name = "conv2d_weight_gradient", .kind = graph::Kind::anchor, .flops = &weight_gradient_flops};

constexpr graph::Value append(graph::Op const& op, graph::Value a, graph::Value b, Dims const& shape, bool batched, graph::Attributes const& attributes) {
    graph::Node node{.op = &op};
    node.input[0] = a.id;
    node.input[1] = b.id;
    node.attribute = attributes;
    node.shape = shape;
    node.batched = batched;
    return {a.builder, a.builder->add(node)};
}

constexpr void differentiate(graph::Builder& b, int id, int dy_id) {
    graph::Node const y = b[id];
    graph::Value const x{&b, y.input[0]}, weight{&b, y.input[1]}, dy{&b, dy_id};
    // The input's gradient first: it reads the weights, and the stage of the weights' gradient may overwrite them.
    if (graph::wants_gradient(b, x.id))
        graph::accumulate(b, x.id, append(input_gradient_op, dy, weight, Dims{x.shape()}, true, y.attribute));
    if (graph::wants_gradient(b, weight.id))
        graph::accumulate(b, weight.id, append(weight_gradient_op, x, dy, Dims{weight.shape()}, false, y.attribute));
}

} // namespace conv2d

/// Convolution of [in, H, W] with `out` kernels: [out, OH, OW], OH = (H + 2 padding - dilation (kernel - 1) - 1) / stride + 1.
/// Parameters: weight [out, in / groups, KH, KW], bias [out]. Semantics and defaults are those of torch.nn.Conv2d
/// (https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv2d.html).
/// `.in` may be left out; given, it is checked.
struct Conv2d {
    int in = 0;
    int out = 0;
    Size2d kernel = 1;
    Size2d stride = 1;
    Size2d padding = 0;
    Size2d dilation = 1;
    int groups = 1;
    bool bias = true;
    Init weight_init{};
    Init bias_init{};

    static constexpr char const* name = "Conv2d";

    constexpr graph::Value write(graph::Builder& b, graph::Value x) const {
        Dims const s = x.shape();
        if (s.rank != 3) return b.fail(fault::layer_takes_another_rank, s, {in, 0, 0}), x;
        if (out < 1 || groups < 1 || !kernel.at_least(1) || !stride.at_least(1) || !dilation.at_least(1))
            return b.fail(fault::option_must_be_positive, s), x;
        if (!padding.at_least(0)) return b.fail(fault::option_must_not_be_negative, s), x;
        if (in != 0 && in != s[0]) b.fail(fault::in_differs_from_what_arrives, s, {in, s[1], s[2]});
        if (s[0] % groups != 0 || out % groups != 0) return b.fail(fault::groups_do_not_divide_the_channels, s, {groups}), x;
        Dims shape{out, window_count(s[1], kernel.height, stride.height, padding.height, dilation.height),
                   window_count(s[2], kernel.width, stride.width, padding.width, dilation.width)};
        if (s[1] + 2 * padding.height < dilation.height * (kernel.height - 1) + 1 || s[2] + 2 * padding.width < dilation.width * (kernel.width - 1) + 1)
            return b.fail(fault::kernel_is_larger_than_the_padded_input, s, {s[0], dilation.height * (kernel.height - 1) + 1, dilation.width * (kernel.width - 1) + 1}), x;

        index_t const taps = static_cast<index_t>(kernel.height) * kernel.width;
        index_t const fan_in = s[0] / groups * taps, fan_out = out / groups * taps;
        Dims const weight_shape{out, s[0] / groups, kernel.height, kernel.width};
        graph::Value const weight{&b, b.parameter("weight", weight_shape, weight_init.distribution(), weight_init.scale(fan_in, fan_out))};
        conv2d::Geometry const geometry{kernel, stride, padding, dilation, groups};
        graph::Value y = conv2d::append(conv2d::forward_op, x, weight, shape, true, geometry.attributes());
        if (bias) {
            graph::Value const beta{&b, b.parameter("bias", {out}, bias_init.distribution(), bias_init.scale(fan_in, fan_out))};
            y = y + reshape(beta, {out, 1, 1});
        }
        return y;
    }
};

} // namespace tenon
