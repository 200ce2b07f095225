/// @file
/// The gradients of a convolution that a max-pool follows, from the pooled gradient itself: what the pool passes back is spread on
/// the way in, and never stored. For devices where reading costs more than computing; a rewriting of finished graphs.
#pragma once

#include <tenon/ops/conv2d/conv2d.hpp>
#include <tenon/ops/pool2d/pool2d.hpp>

namespace tenon::conv2d {

/// The windows of such a pool: side by side, without padding, of 2 or 4 positions, which one thread can hold.
struct Windows {
    int height = 1, width = 1;

    /// They lie behind a convolution's geometry in a node's attributes.
    [[nodiscard]] constexpr int attribute() const { return height << 16 | width; }
    [[nodiscard]] static constexpr Windows of(graph::Node const& node) { return {node.attribute[9] >> 16, node.attribute[9] & 0xFFFF}; }
    /// Is a pool one with such windows?
    [[nodiscard]] static constexpr bool fit(pool2d::Geometry const& g) {
        int const positions = g.kernel.height * g.kernel.width;
        return g.stride == g.kernel && g.padding == Size2d{0} && (positions == 2 || positions == 4);
    }
};

constexpr index_t unpooled_input_gradient_flops(graph::Node const& dx, graph::Node const* const* in) {
    Geometry const g = Geometry::of(dx);
    index_t const positions = window_count(dx.shape[1], g.kernel.height, g.stride.height, g.padding.height, g.dilation.height) *
                              window_count(dx.shape[2], g.kernel.width, g.stride.width, g.padding.width, g.dilation.width);
    return 2 * positions * in[1]->shape.count();
}
/// Only one position of each window has a gradient.
constexpr index_t unpooled_weight_gradient_flops(graph::Node const& dw, graph::Node const* const* in) { return flops(in[1]->shape, dw.shape); }

/// dx [C, H, W] from the pooled dy [O, PH, PW], weight, and the winning taps [O, PH, PW]
inline constexpr graph::Op unpooled_input_gradient_op{.name = "conv2d_unpooled_input_gradient", .kind = graph::Kind::anchor, .flops = &unpooled_input_gradient_flops};
/// dweight from x, the pooled dy, and the winning taps; summed over the batch
inline constexpr graph::Op unpooled_weight_gradient_op{.name = "conv2d_unpooled_weight_gradient", .kind = graph::Kind::anchor, .flops = &unpooled_weight_gradient_flops};

/// Lets the gradients of convolutions read pooled gradients where they can.
constexpr void read_pooled_gradients(graph::Builder& b) {
    for (graph::Node& node : b.nodes) {
        bool const of_input = node.is(input_gradient_op);
        if (!of_input && !node.is(weight_gradient_op)) continue;
        int& dy = node.input[of_input ? 0 : 1];
        graph::Node const& spread = b[dy];
        if (!spread.is(pool2d::max_gradient_op) || !Windows::fit(pool2d::Geometry::of(spread))) continue;
        pool2d::Geometry const pool = pool2d::Geometry::of(spread);
        node.op = of_input ? &unpooled_input_gradient_op : &unpooled_weight_gradient_op;
        node.attribute[9] = Windows{pool.kernel.height, pool.kernel.width}.attribute();
        node.input[2] = spread.input[1];
        dy = spread.input[0];
    }
}

} // namespace tenon::conv2d
