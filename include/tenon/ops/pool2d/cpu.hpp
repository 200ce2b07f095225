/// @file
/// Pooling on the CPU, plane by plane: kernels over compile-time windows. A plane is [H][W][Lanes], one channel of a block of images.
#pragma once

#include <tenon/cpu/vector.hpp>
#include <tenon/ops/pool2d/pool2d.hpp>

#include <limits>
#include <type_traits>

namespace tenon::pool2d {

/// A pool as the kernels see it.
template <index_t H, index_t W, int KH, int KW, int SH, int SW, int PH, int PW>
struct Problem {
    static constexpr index_t height = H, width = W, plane = H * W;
    static constexpr int kernel_height = KH, kernel_width = KW, stride_height = SH, stride_width = SW, padding_height = PH, padding_width = PW;
    static constexpr index_t out_height = window_count(H, KH, SH, PH), out_width = window_count(W, KW, SW, PW), out_plane = out_height * out_width;
    static constexpr bool padded = PH > 0 || PW > 0;
};

/// The problem of a pool's node for an input of shape X.
template <graph::Node N, Dims X>
struct problem_of {
    static constexpr Geometry g = Geometry::of(N);
    using type = Problem<X[1], X[2], g.kernel.height, g.kernel.width, g.stride.height, g.stride.width, g.padding.height, g.padding.width>;
};

/// The type of the winning taps: a byte where the window has at most 256.
template <graph::Node N>
using index_type = std::conditional_t<(N.attribute[0] * N.attribute[1] <= 256), std::uint8_t, std::int32_t>;

/// Calls f(tap, offset of the pixel in the plane) for each tap of the window at (oy, ox) that lies inside the plane, in order.
template <class P, class F>
TENON_ALWAYS_INLINE void for_each_tap(index_t oy, index_t ox, F const& f) {
    index_t const y0 = oy * P::stride_height - P::padding_height, x0 = ox * P::stride_width - P::padding_width;
    for (int ky = 0; ky < P::kernel_height; ++ky)
        for (int kx = 0; kx < P::kernel_width; ++kx) {
            index_t const y = y0 + ky, x = x0 + kx;
            if constexpr (P::padded)
                if (y < 0 || y >= P::height || x < 0 || x >= P::width) continue;
            f(ky * P::kernel_width + kx, y * P::width + x);
        }
}

/// y [planes][OH][OW][Lanes] and, where `index` is not null, the winning tap of each window.
template <class P, int Lanes, class Index>
void max_forward(index_t planes, float const* x, float* y, Index* index) {
    constexpr float lowest = -std::numeric_limits<float>::infinity();
    for (index_t p = 0; p < planes; ++p, x += P::plane * Lanes)
        for (index_t oy = 0; oy < P::out_height; ++oy)
            for (index_t ox = 0; ox < P::out_width; ++ox, y += Lanes) {
                if constexpr (Lanes == 1) {
                    float best = lowest;
                    int tap_of_best = -1;
                    for_each_tap<P>(oy, ox, [&](int tap, index_t at) {
                        float const v = x[at];
                        if (tap_of_best < 0 || v > best || v != v) best = v, tap_of_best = tap;
                    });
                    *y = best;
                    if (index != nullptr) *index++ = static_cast<Index>(tap_of_best);
                } else {
                    using V = cpu::Vec<float, Lanes>;
                    using I = cpu::Vec<std::int32_t, Lanes>;
                    V best = cpu::broadcast<Lanes>(lowest);
                    I tap_of_best = I{} - 1;
                    for_each_tap<P>(oy, ox, [&](int tap, index_t at) {
                        V const v = cpu::load<Lanes>(x + at * Lanes);
                        I const wins = (tap_of_best < 0) | (v > best) | (v != v);
                        best = wins ? v : best;
                        tap_of_best = wins ? I{} + tap : tap_of_best;
                    });
                    cpu::store<Lanes>(y, best);
                    if (index != nullptr) {
                        cpu::store<Lanes>(index, __builtin_convertvector(tap_of_best, cpu::Vec<Index, Lanes>));
                        index += Lanes;
                    }
                }
            }
}

/// dx [planes][H][W][Lanes]: each window's dy goes to its winning tap. Windows are visited in order, so sums have one order.
template <class P, int Lanes, class Index>
void max_backward(index_t planes, float const* dy, Index const* index, float* dx) {
    constexpr bool disjoint = !P::padded && P::stride_height >= P::kernel_height && P::stride_width >= P::kernel_width;
    constexpr bool covers = disjoint && P::stride_height == P::kernel_height && P::stride_width == P::kernel_width && P::out_height * P::kernel_height == P::height &&
                            P::out_width * P::kernel_width == P::width;
    for (index_t p = 0; p < planes; ++p, dx += P::plane * Lanes) {
        if constexpr (!covers)
            for (index_t i = 0; i < P::plane * Lanes; ++i) dx[i] = 0;
        for (index_t oy = 0; oy < P::out_height; ++oy)
            for (index_t ox = 0; ox < P::out_width; ++ox, dy += Lanes, index += Lanes) {
                if constexpr (Lanes == 1) {
                    for_each_tap<P>(oy, ox, [&](int tap, index_t at) {
                        float const g = static_cast<int>(*index) == tap ? *dy : 0.0f;
                        dx[at] = disjoint ? g : dx[at] + g;
                    });
                } else {
                    using V = cpu::Vec<float, Lanes>;
                    using I = cpu::Vec<std::int32_t, Lanes>;
                    V const g = cpu::load<Lanes>(dy);
                    I const winner = __builtin_convertvector(cpu::load<Lanes>(index), I);
                    for_each_tap<P>(oy, ox, [&](int tap, index_t at) {
                        V const mine = winner == tap ? g : V{};
                        cpu::store<Lanes>(dx + at * Lanes, disjoint ? mine : cpu::load<Lanes>(dx + at * Lanes) + mine);
                    });
                }
            }
    }
}

/// y [planes][OH][OW][Lanes]: the sum of each window divided by its full area, padding counted.
template <class P, int Lanes>
void average_forward(index_t planes, float const* x, float* y) {
    constexpr float scale = 1.0f / static_cast<float>(P::kernel_height * P::kernel_width);
    for (index_t p = 0; p < planes; ++p, x += P::plane * Lanes)
        for (index_t oy = 0; oy < P::out_height; ++oy)
            for (index_t ox = 0; ox < P::out_width; ++ox, y += Lanes) {
                float sum[std::size_t{Lanes}]{};
                for_each_tap<P>(oy, ox, [&](int, index_t at) {
                    for (int l = 0; l < Lanes; ++l) sum[l] += x[at * Lanes + l];
                });
                for (int l = 0; l < Lanes; ++l) y[l] = sum[l] * scale;
            }
}

/// dx [planes][H][W][Lanes]: each window's dy in equal shares.
template <class P, int Lanes>
void average_backward(index_t planes, float const* dy, float* dx) {
    constexpr float scale = 1.0f / static_cast<float>(P::kernel_height * P::kernel_width);
    for (index_t p = 0; p < planes; ++p, dx += P::plane * Lanes) {
        for (index_t i = 0; i < P::plane * Lanes; ++i) dx[i] = 0;
        for (index_t oy = 0; oy < P::out_height; ++oy)
            for (index_t ox = 0; ox < P::out_width; ++ox, dy += Lanes)
                for_each_tap<P>(oy, ox, [&](int, index_t at) {
                    for (int l = 0; l < Lanes; ++l) dx[at * Lanes + l] += dy[l] * scale;
                });
    }
}

} // namespace tenon::pool2d
