/// @file
/// A pool as kernels see it, on any device: integers only.
#pragma once

#include <tenon/ops/pool2d/pool2d.hpp>

#include <type_traits>

namespace tenon::pool2d {

/// A window's numbers and the shapes that come of them.
template <index_t H, index_t W, int KH, int KW, int SH, int SW, int PH, int PW>
struct Problem {
    static constexpr index_t height = H, width = W, plane = H * W;
    static constexpr int kernel_height = KH, kernel_width = KW, stride_height = SH, stride_width = SW,
                         padding_height = PH, padding_width = PW;
    static constexpr index_t out_height = window_count(H, KH, SH, PH), out_width = window_count(W, KW, SW, PW),
                             out_plane = out_height * out_width;
    static constexpr bool padded = PH > 0 || PW > 0;
    /// Whether no two windows share an element.
    static constexpr bool disjoint = SH >= KH && SW >= KW;
};

/// The problem of a pool's node for an input of shape X.
template <graph::Node N, Dims X>
struct problem_of {
    static constexpr Geometry g = Geometry::of(N);
    using type = Problem<X[1], X[2], g.kernel.height, g.kernel.width, g.stride.height, g.stride.width, g.padding.height,
                         g.padding.width>;
};

/// The type of the winning taps that are not packed: a byte where the window has at most 256.
template <graph::Node N>
using index_type = std::conditional_t<(N.attribute[0] * N.attribute[1] <= 256), std::uint8_t, std::int32_t>;

} // namespace tenon::pool2d
