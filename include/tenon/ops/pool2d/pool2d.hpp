/// @file
/// Max and average pooling: what they take and how they differentiate.
#pragma once

#include <tenon/graph/pointwise.hpp>
#include <tenon/ops/size2d.hpp>

namespace tenon {

namespace pool2d {

/// A window's numbers as they lie in a node's attributes.
struct Geometry {
    Size2d kernel, stride, padding;

    [[nodiscard]] constexpr graph::Attributes attributes() const {
        return {kernel.height, kernel.width, stride.height, stride.width, padding.height, padding.width};
    }
    [[nodiscard]] static constexpr Geometry of(graph::Node const& node) {
        auto const& a = node.attribute;
        return {{a[0], a[1]}, {a[2], a[3]}, {a[4], a[5]}};
    }
    [[nodiscard]] constexpr Dims output(Dims const& s) const {
        return {s[0], window_count(s[1], kernel.height, stride.height, padding.height), window_count(s[2], kernel.width, stride.width, padding.width)};
    }
};

constexpr void differentiate_max(graph::Builder& b, int node, int dy);
constexpr void differentiate_average(graph::Builder& b, int node, int dy);

/// y [C, OH, OW]: the largest of each window; NaN wins, padding never does.
inline constexpr graph::Op max_op{.name = "max_pool2d", .kind = graph::Kind::anchor, .differentiate = &differentiate_max, .takes_planes = true, .family = graph::Op::hash("max_pool2d")};
/// Which tap of its window won (row * kernel width + column), the first of equals; one byte where it fits.
inline constexpr graph::Op max_index_op{.name = "max_pool2d_index", .kind = graph::Kind::anchor, .takes_planes = true, .family = graph::Op::hash("max_pool2d")};
/// dx [C, H, W] from dy [C, OH, OW] and the index; the sum over a channel is that of dy
inline constexpr graph::Op max_gradient_op{.name = "max_pool2d_gradient", .kind = graph::Kind::anchor, .preserves_sums = true};
/// y [C, OH, OW]: the mean of each window, padding counted as zeros
inline constexpr graph::Op average_op{.name = "avg_pool2d", .kind = graph::Kind::anchor, .differentiate = &differentiate_average};
/// dx [C, H, W] from dy [C, OH, OW]
inline constexpr graph::Op average_gradient_op{.name = "avg_pool2d_gradient", .kind = graph::Kind::anchor};

constexpr graph::Value append(graph::Op const& op, graph::Value a, graph::Value b, Dims const& shape, graph::Attributes const& attributes, graph::Dtype dtype = graph::Dtype::f32) {
    graph::Node node{.op = &op};
    node.input[0] = a.id;
    node.input[1] = b.id;
    node.attribute = attributes;
    node.shape = shape;
    node.batched = true;
    node.dtype = dtype;
    return {a.builder, a.builder->add(node)};
}

constexpr void differentiate_max(graph::Builder& b, int id, int dy) {
    graph::Node const y = b[id];
    graph::Value const x{&b, y.input[0]};
    auto const dtype = y.attribute[0] * y.attribute[1] <= 256 ? graph::Dtype::u8 : graph::Dtype::i32;
    graph::Value const index = append(max_index_op, x, {}, Dims{y.shape}, y.attribute, dtype);
    graph::accumulate(b, x.id, append(max_gradient_op, {&b, dy}, index, Dims{x.shape()}, y.attribute));
}

constexpr void differentiate_average(graph::Builder& b, int id, int dy) {
    graph::Node const y = b[id];
    graph::accumulate(b, y.input[0], append(average_gradient_op, {&b, dy}, {}, Dims{b.shape(y.input[0])}, y.attribute));
}

/// Winning taps of four positions in two bits each, where a device's threads write whole bytes of them: planes must be whole fours of
/// windows. A rewriting of finished graphs.
constexpr void pack_winning_taps(graph::Builder& b) {
    for (graph::Node& node : b.nodes)
        if (node.is(max_index_op) && node.attribute[0] * node.attribute[1] == 4 && node.shape.count_from(1) % 4 == 0) node.dtype = graph::Dtype::u2;
}

/// Checks a pool's options against the shape that reaches it.
[[nodiscard]] constexpr bool accepts(graph::Builder& b, Dims const& s, Geometry const& g) {
    if (s.rank != 3) return b.fail(fault::layer_takes_another_rank, s, {0, 0, 0}), false;
    if (!g.kernel.at_least(1) || !g.stride.at_least(1)) return b.fail(fault::option_must_be_positive, s), false;
    if (!g.padding.at_least(0)) return b.fail(fault::option_must_not_be_negative, s), false;
    if (2 * g.padding.height > g.kernel.height || 2 * g.padding.width > g.kernel.width)
        return b.fail(fault::padding_is_over_half_of_the_kernel, s, {s[0], g.kernel.height / 2, g.kernel.width / 2}), false;
    if (s[1] + 2 * g.padding.height < g.kernel.height || s[2] + 2 * g.padding.width < g.kernel.width)
        return b.fail(fault::kernel_is_larger_than_the_padded_input, s, {s[0], g.kernel.height, g.kernel.width}), false;
    return true;
}

} // namespace pool2d

/// The largest value of each window, channel by channel: [C, H, W] -> [C, OH, OW]. `.stride` left out is the kernel.
/// Semantics of torch.nn.MaxPool2d (https://docs.pytorch.org/docs/stable/generated/torch.nn.MaxPool2d.html): ties go to the
/// first, NaN wins, padding never does.
struct MaxPool2d {
    Size2d kernel = 2;
    Size2d stride = 0;
    Size2d padding = 0;

    static constexpr char const* name = "MaxPool2d";

    constexpr graph::Value write(graph::Builder& b, graph::Value x) const {
        pool2d::Geometry const g{kernel, stride == Size2d{0} ? kernel : stride, padding};
        if (!pool2d::accepts(b, x.shape(), g)) return x;
        // max and relu commute, ties among the zeros of relu carry no gradient, and fewer values need relu after the pool.
        if (x.node().is(graph::pointwise_op) && x.node().fn() == Fn::relu) {
            graph::Value const before{&b, x.node().input[0]};
            return relu(pool2d::append(pool2d::max_op, before, {}, g.output(x.shape()), g.attributes()));
        }
        return pool2d::append(pool2d::max_op, x, {}, g.output(x.shape()), g.attributes());
    }
};

/// The mean of each window, channel by channel: [C, H, W] -> [C, OH, OW]. `.stride` left out is the kernel; padding counts as
/// zeros (torch.nn.AvgPool2d with its default count_include_pad).
struct AvgPool2d {
    Size2d kernel = 2;
    Size2d stride = 0;
    Size2d padding = 0;

    static constexpr char const* name = "AvgPool2d";

    constexpr graph::Value write(graph::Builder& b, graph::Value x) const {
        pool2d::Geometry const g{kernel, stride == Size2d{0} ? kernel : stride, padding};
        if (!pool2d::accepts(b, x.shape(), g)) return x;
        return pool2d::append(pool2d::average_op, x, {}, g.output(x.shape()), g.attributes());
    }
};

} // namespace tenon
