/// @file
/// Pooling's stages on CUDA, where a pool does not follow in a convolution's kernel, and the pools' gradients: one thread for
/// each element of the result.
#pragma once

#include <tenon/cuda/job.hpp>
#include <tenon/ops/pool2d/problem.hpp>

namespace tenon::cuda {

namespace detail {

/// The largest of a window, as it is found tap by tap: the first of equals; NaN wins.
struct Winner {
    float value = 0;
    int tap = -1;

    __device__ void meet(float v, int at) {
        if (tap < 0 || v > value || v != v) value = v, tap = at;
    }
};

/// Where a pool's winning taps lie, window after window: a T for each.
template <class T>
struct Taps {
    __device__ static int read(std::byte const* taps, index_t window) { return static_cast<int>(reinterpret_cast<T const*>(taps)[window]); }
    /// Called by neighbouring threads for neighbouring windows.
    __device__ static void write(std::byte* taps, index_t window, int tap) { reinterpret_cast<T*>(taps)[window] = static_cast<T>(tap); }
};
/// Four in a byte: graph::Dtype::u2. Whole fours of lanes call write(), the first for a window whose number is a multiple of 4.
struct PackedTaps {
    __device__ static int read(std::byte const* taps, index_t window) {
        return static_cast<int>(reinterpret_cast<std::uint8_t const*>(taps)[window >> 2]) >> ((static_cast<int>(window) & 3) << 1) & 3;
    }
    __device__ static void write(std::byte* taps, index_t window, int tap) {
        unsigned const four_lanes = 0xFu << (lane_number() & ~3);
        unsigned all = static_cast<unsigned>(tap) << (static_cast<int>(window) & 3) * 2;
        all |= __shfl_xor_sync(four_lanes, all, 1);
        all |= __shfl_xor_sync(four_lanes, all, 2);
        if ((window & 3) == 0) write_four(taps, window, all);
    }
    /// The lowest byte of `all` for four windows from `window` on.
    __device__ static void write_four(std::byte* taps, index_t window, unsigned all) { reinterpret_cast<std::uint8_t*>(taps)[window >> 2] = static_cast<std::uint8_t>(all); }
};
template <class Keeps>
inline constexpr bool packed = false;
template <>
inline constexpr bool packed<PackedTaps> = true;

/// Those of node N, a pool's index.
template <graph::Node N>
using taps_of = std::conditional_t<(N.dtype == graph::Dtype::u2), PackedTaps, Taps<pool2d::index_type<N>>>;

/// Those that a stage's companion with this number in the graph keeps; negative: void, none are wanted.
template <class C, int Companion>
struct taps_of_companion {
    static constexpr graph::Node node = C::nodes[static_cast<std::size_t>(Companion)];
    using type = taps_of<node>;
};
template <class C>
struct taps_of_companion<C, -1> {
    using type = void;
};

/// Calls f(tap, offset of the pixel in the plane) for each tap of the window at (oy, ox) that lies inside the plane, in order.
template <class P, class F>
__device__ inline void visit_window(int oy, int ox, F const& f) {
    int const y0 = oy * P::stride_height - P::padding_height, x0 = ox * P::stride_width - P::padding_width;
#pragma unroll
    for (int ky = 0; ky < P::kernel_height; ++ky)
#pragma unroll
        for (int kx = 0; kx < P::kernel_width; ++kx) {
            int const y = y0 + ky, x = x0 + kx;
            if constexpr (P::padded)
                if (y < 0 || y >= static_cast<int>(P::height) || x < 0 || x >= static_cast<int>(P::width)) continue;
            f(ky * P::kernel_width + kx, y * static_cast<int>(P::width) + x);
        }
}

/// An element's place: which plane of which sample, and where in it.
template <index_t Width, index_t Plane>
struct PlanePosition {
    index_t plane;
    int y, x;

    template <class Index>
    __device__ static PlanePosition of(index_t sample, Index at, index_t channels) {
        auto const within = static_cast<int>(at % static_cast<Index>(Plane));
        return {sample * channels + static_cast<index_t>(at / static_cast<Index>(Plane)), within / static_cast<int>(Width), within % static_cast<int>(Width)};
    }
};

/// Keeps: Taps<..>, PackedTaps, or void: the winning taps are not wanted.
template <class P, index_t Channels, class Keeps>
struct MaxPoolMake {
    template <class C, class Index>
    __device__ static float value(C const& c, index_t sample, Index at) {
        auto const p = PlanePosition<P::out_width, P::out_plane>::of(sample, at, Channels);
        float const* const x = c.template at<float const, input_slot>() + p.plane * P::plane;
        Winner winner;
        visit_window<P>(p.y, p.x, [&](int tap, int pixel) { winner.meet(x[pixel], tap); });
        if constexpr (!std::is_void_v<Keeps>) Keeps::write(c.template at<std::byte, companion_slot>(), sample * (Channels * P::out_plane) + static_cast<index_t>(at), winner.tap);
        return winner.value;
    }
};

template <class P, index_t Channels>
struct AveragePoolMake {
    template <class C, class Index>
    __device__ static float value(C const& c, index_t sample, Index at) {
        auto const p = PlanePosition<P::out_width, P::out_plane>::of(sample, at, Channels);
        float const* const x = c.template at<float const, input_slot>() + p.plane * P::plane;
        float sum = 0;
        visit_window<P>(p.y, p.x, [&](int, int pixel) { sum += x[pixel]; });
        return sum * (1.0f / static_cast<float>(P::kernel_height * P::kernel_width));
    }
};

/// Calls f(tap, offset of the window in its plane of results) for each window that the pixel (y, x) lies in, in order of windows.
template <class P, class F>
__device__ inline void visit_windows_of(int y, int x, F const& f) {
    constexpr int windows_down = (P::kernel_height + P::stride_height - 1) / P::stride_height, windows_right = (P::kernel_width + P::stride_width - 1) / P::stride_width;
    int const last_y = (y + P::padding_height) / P::stride_height, last_x = (x + P::padding_width) / P::stride_width;
#pragma unroll
    for (int down = windows_down - 1; down >= 0; --down)
#pragma unroll
        for (int right = windows_right - 1; right >= 0; --right) {
            int const oy = last_y - down, ox = last_x - right;
            int const ky = y + P::padding_height - oy * P::stride_height, kx = x + P::padding_width - ox * P::stride_width;
            if (oy < 0 || oy >= static_cast<int>(P::out_height) || ox < 0 || ox >= static_cast<int>(P::out_width) || ky >= P::kernel_height || kx >= P::kernel_width) continue;
            f(ky * P::kernel_width + kx, oy * static_cast<int>(P::out_width) + ox);
        }
}

template <class P, index_t Channels, class Winners>
struct MaxPoolGradientMake {
    template <class C, class Index>
    __device__ static float value(C const& c, index_t sample, Index at) {
        auto const p = PlanePosition<P::width, P::plane>::of(sample, at, Channels);
        float const* const dy = c.template at<float const, input_slot>() + p.plane * P::out_plane;
        std::byte const* const winners = c.template at<std::byte const, input_slot + 1>();
        float sum = 0;
        visit_windows_of<P>(p.y, p.x, [&](int tap, int window) {
            if (Winners::read(winners, p.plane * P::out_plane + window) == tap) sum += dy[window];
        });
        return sum;
    }
};

template <class P, index_t Channels>
struct AveragePoolGradientMake {
    template <class C, class Index>
    __device__ static float value(C const& c, index_t sample, Index at) {
        auto const p = PlanePosition<P::width, P::plane>::of(sample, at, Channels);
        float const* const dy = c.template at<float const, input_slot>() + p.plane * P::out_plane;
        float sum = 0;
        visit_windows_of<P>(p.y, p.x, [&](int, int window) { sum += dy[window] * (1.0f / static_cast<float>(P::kernel_height * P::kernel_width)); });
        return sum;
    }
};

/// The job of a pool's stage: Make with the pool's problem, for input planes of shape X.
template <class C, int S, class Make>
constexpr auto pool_job() {
    return ElementJob<usual_threads, C::layout.capacity, 1, Make, DeviceEpilogue<C, S, 0>>{};
}

} // namespace detail

template <>
struct CudaStage<&pool2d::max_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        using P = typename pool2d::problem_of<node, graph::input_shape<C, node>()>::type;
        using Keeps = typename detail::taps_of_companion<C, C::stages[S].companion[0]>::type;
        return detail::pool_job<C, S, detail::MaxPoolMake<P, node.shape[0], Keeps>>();
    }
};

template <>
struct CudaStage<&pool2d::max_gradient_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        using P = typename pool2d::problem_of<node, node.shape>::type;
        constexpr graph::Node index = C::nodes[static_cast<std::size_t>(node.input[1])];
        return detail::pool_job<C, S, detail::MaxPoolGradientMake<P, node.shape[0], detail::taps_of<index>>>();
    }
};

template <>
struct CudaStage<&pool2d::average_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        using P = typename pool2d::problem_of<node, graph::input_shape<C, node>()>::type;
        return detail::pool_job<C, S, detail::AveragePoolMake<P, node.shape[0]>>();
    }
};

template <>
struct CudaStage<&pool2d::average_gradient_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        using P = typename pool2d::problem_of<node, node.shape>::type;
        return detail::pool_job<C, S, detail::AveragePoolGradientMake<P, node.shape[0]>>();
    }
};

} // namespace tenon::cuda
