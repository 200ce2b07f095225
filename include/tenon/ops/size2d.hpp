/// @file
/// Options that come as one number or as two: `.kernel = 5`, `.stride = {2, 1}`.
#pragma once

#include <tenon/core/config.hpp>

namespace tenon {

/// Height and width; from one number both are the same.
struct Size2d {
    int height = 0;
    int width = 0;

    constexpr Size2d() = default;
    constexpr Size2d(int both) : height{both}, width{both} {} // NOLINT: the short form is the purpose
    constexpr Size2d(int h, int w) : height{h}, width{w} {}

    constexpr bool operator==(Size2d const&) const = default;
    [[nodiscard]] constexpr bool at_least(int least) const { return height >= least && width >= least; }
};

/// Positions of a window of `kernel` taps, `dilation` apart, moved by `stride` over `size` elements padded on both sides.
[[nodiscard]] constexpr index_t window_count(index_t size, int kernel, int stride, int padding, int dilation = 1) {
    return (size + 2 * padding - (static_cast<index_t>(dilation) * (kernel - 1) + 1)) / stride + 1;
}

} // namespace tenon
