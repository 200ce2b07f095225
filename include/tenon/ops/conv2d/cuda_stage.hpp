/// @file
/// Convolution's stages on CUDA: products of the tile kernel, which gathers patches as it loads them. A max-pool with windows of 2 or 4
/// positions side by side is part of the product's epilogue; one with other windows follows in a kernel that is direct.
#pragma once

#include <tenon/cuda/tile_job.hpp>
#include <tenon/ops/conv2d/unpooled.hpp>
#include <tenon/ops/pool2d/cuda_stage.hpp>

namespace tenon::cuda {

namespace detail {

/// The convolution of node N from X [C][H][W] to Y [O][OH][OW].
template <graph::Node N, Dims X, index_t Outputs>
struct convolution_of {
    static constexpr auto g = conv2d::Geometry::of(N);
    using type = tile::Convolution<static_cast<int>(X[0]), static_cast<int>(X[1]), static_cast<int>(X[2]), static_cast<int>(Outputs), g.kernel.height, g.kernel.width, g.stride.height,
                                   g.stride.width, g.padding.height, g.padding.width, g.dilation.height, g.dilation.width, g.groups>;
};

/// N values of one plane of y, at positions[i] = {oy, ox}: they share each weight.
template <class G, int N>
__device__ inline void convolve(float const* x, float const* weight, int const (&oy)[N], int const (&ox)[N], float (&sum)[N]) {
#pragma unroll
    for (int n = 0; n < N; ++n) sum[n] = 0;
#pragma unroll 1
    for (int channel = 0; channel < G::group_channels; ++channel, x += G::in_plane, weight += G::taps)
#pragma unroll
        for (int ky = 0; ky < G::kernel_height; ++ky)
#pragma unroll
            for (int kx = 0; kx < G::kernel_width; ++kx) {
                float const w = weight[ky * G::kernel_width + kx];
#pragma unroll
                for (int n = 0; n < N; ++n) {
                    int const y = oy[n] * G::stride_height - G::padding_height + ky * G::dilation_height;
                    int const at = ox[n] * G::stride_width - G::padding_width + kx * G::dilation_width;
                    if (!G::padded || (y >= 0 && y < G::height && at >= 0 && at < G::width)) sum[n] += w * x[y * G::width + at];
                }
            }
}

/// The first values of x and of the weights that an output channel reads.
template <class G, class C>
__device__ inline float const* planes_of(C const& c, index_t sample, int output) {
    return c.template at<float const, input_slot>() + sample * (G::channels * G::in_plane) + output / G::group_outputs * (G::group_channels * G::in_plane);
}
template <class G, class C>
__device__ inline float const* weights_of(C const& c, int output) {
    return c.template at<float const, input_slot + 1>() + output * G::depth;
}

/// Where First stores values of y: those in no window (beside the last ones, between windows) must not be missing. Each is left to the
/// window (wy, wx) before it. Pool: a pool2d::Problem over y's planes.
template <class G, class First, class Pool, class C>
__device__ inline void store_outside_windows(C const& c, index_t sample, int output, int wy, int wx) {
    constexpr int down = static_cast<int>(Pool::out_height), right = static_cast<int>(Pool::out_width);
    constexpr bool all_inside = Pool::stride_height <= Pool::kernel_height && (down - 1) * Pool::stride_height - Pool::padding_height + Pool::kernel_height >= G::out_height &&
                                Pool::stride_width <= Pool::kernel_width && (right - 1) * Pool::stride_width - Pool::padding_width + Pool::kernel_width >= G::out_width;
    if constexpr (First::stores && !all_inside) {
        int const top = wy * Pool::stride_height - Pool::padding_height, left = wx * Pool::stride_width - Pool::padding_width;
        int const bottom = wy + 1 == down ? G::out_height : top + Pool::stride_height, end = wx + 1 == right ? G::out_width : left + Pool::stride_width;
#pragma unroll 1
        for (int y = top < 0 ? 0 : top; y < bottom; ++y)
#pragma unroll 1
            for (int x = left < 0 ? 0 : left; x < end; ++x) {
                if (y < top + Pool::kernel_height && x < left + Pool::kernel_width) continue;
                int const oy[1] = {y}, ox[1] = {x};
                float sum[1];
                convolve<G>(planes_of<G>(c, sample, output), weights_of<G>(c, output), oy, ox, sum);
                (void)First::run(c, sample, static_cast<typename First::Index>((output * G::out_height + y) * G::out_width + x), sum[0]);
            }
    }
}

/// What follows on whole windows of G's result: First on each position, the largest of them, Post on that. Pool: a pool2d::Problem
/// over its planes. Keeps: as in MaxPoolMake.
template <class G, class First, class Pool, class Keeps, class Post>
struct PooledEnding {
    static constexpr int slots = First::slots > Post::slots ? First::slots : Post::slots;

    template <class C>
    struct Epilogue {
        using Args = C;

        /// Returns the winning tap.
        template <int Count>
        __device__ static unsigned apply_window(C const& c, tile::Position const& position, float const (&value)[Count]) {
            constexpr int height = Pool::kernel_height, width = Pool::kernel_width, right = static_cast<int>(Pool::out_width);
            int const window = position.index - position.channel * static_cast<int>(Pool::out_plane), wy = window / right, wx = window % right;
            index_t sample[Count];
            typename First::Index at[Count];
            float y[Count];
#pragma unroll
            for (int q = 0; q < Count; ++q) {
                sample[q] = position.sample;
                at[q] = static_cast<typename First::Index>((position.channel * G::out_height + wy * height + q / width) * G::out_width + wx * width + q % width);
                y[q] = value[q];
            }
            First::template run<Count>(c, sample, at, y);
            Winner winner;
#pragma unroll
            for (int q = 0; q < Count; ++q) winner.meet(y[q], q);
            if constexpr (!packed<Keeps> && !std::is_void_v<Keeps>) Keeps::write(c.template at<std::byte, pool_companion_slot>(), position.offset(), winner.tap);
            store_outside_windows<G, First, Pool>(c, position.sample, position.channel, wy, wx);
            Post::run(c, position.sample, static_cast<typename Post::Index>(position.index), winner.value);
            return static_cast<unsigned>(winner.tap);
        }
        __device__ static void store_taps(C const& c, tile::Position const& position, unsigned taps)
            requires packed<Keeps>
        {
            Keeps::write_four(c.template at<std::byte, pool_companion_slot>(), position.offset(), taps);
        }
    };
};

/// The gradient behind a pool whose index is kept so.
template <graph::Dtype Index>
using unpooled_by = std::conditional_t<Index == graph::Dtype::u2, tile::PackedUnpooled, tile::Unpooled>;

/// A window of y, each value continued by First, and the largest of them: for pools whose windows overlap, are padded, or have other
/// sizes than the tile kernel holds. Pool: a pool2d::Problem over y's planes. Keeps: as in PooledEnding.
template <class G, class First, class Pool, class Keeps>
struct PooledConvolutionMake {
    static constexpr int slots = First::slots;
    static constexpr int taps = Pool::kernel_height * Pool::kernel_width;
    static constexpr int at_once = taps <= 16 ? taps : Pool::kernel_width; ///< values of y that a thread holds

    template <class C, class Index>
    __device__ static float value(C const& c, index_t sample, Index at) {
        int const output = static_cast<int>(at) / static_cast<int>(Pool::out_plane), window = static_cast<int>(at) % static_cast<int>(Pool::out_plane);
        int const y0 = window / static_cast<int>(Pool::out_width) * Pool::stride_height - Pool::padding_height;
        int const x0 = window % static_cast<int>(Pool::out_width) * Pool::stride_width - Pool::padding_width;
        float const *const x = planes_of<G>(c, sample, output), *const weight = weights_of<G>(c, output);
        Winner winner;
#pragma unroll 1
        for (int first = 0; first < taps; first += at_once) {
            int oy[at_once], ox[at_once];
            float sum[at_once];
            bool inside[at_once];
#pragma unroll
            for (int n = 0; n < at_once; ++n) {
                oy[n] = y0 + (first + n) / Pool::kernel_width;
                ox[n] = x0 + (first + n) % Pool::kernel_width;
                inside[n] = !Pool::padded || (oy[n] >= 0 && oy[n] < G::out_height && ox[n] >= 0 && ox[n] < G::out_width);
                if (!inside[n]) oy[n] = ox[n] = 0;
            }
            convolve<G>(x, weight, oy, ox, sum);
#pragma unroll
            for (int n = 0; n < at_once; ++n)
                if (inside[n]) winner.meet(First::run(c, sample, static_cast<typename First::Index>((output * G::out_height + oy[n]) * G::out_width + ox[n]), sum[n]), first + n);
        }
        store_outside_windows<G, First, Pool>(c, sample, output, window / static_cast<int>(Pool::out_width), window % static_cast<int>(Pool::out_width));
        if constexpr (!std::is_void_v<Keeps>)
            Keeps::write(c.template at<std::byte, pool_companion_slot>(), sample * (G::outputs * Pool::out_plane) + static_cast<index_t>(at), winner.tap);
        return winner.value;
    }
};

} // namespace detail

template <>
struct CudaStage<&conv2d::forward_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Stage stage = C::stages[S];
        constexpr graph::Node node = graph::anchor_of<C, S>();
        using G = typename detail::convolution_of<node, graph::input_shape<C, node>(), node.shape[0]>::type;
        using Slots = FloatSlots<input_slot, input_slot + 1>;
        using First = DeviceEpilogue<C, S, 0>;
        if constexpr (stage.pool >= 0) {
            constexpr graph::Node pool = C::nodes[static_cast<std::size_t>(stage.pool)];
            static_assert(pool.is(pool2d::max_op), "tenon: only a max-pool can follow in a convolution's kernel");
            constexpr pool2d::Geometry g = pool2d::Geometry::of(pool);
            using Keeps = typename detail::taps_of_companion<C, stage.pool_companion[0]>::type;
            using Pool = typename pool2d::problem_of<pool, node.shape>::type;
            using Post = DeviceEpilogue<C, S, 1>;
            if constexpr (conv2d::Windows::fit(g)) {
                using P = tile::Conv2dForward<tile::Plain, G, tile::Windowed<g.kernel.height, g.kernel.width>>;
                return tile_job<C, P, Slots, detail::PooledEnding<G, First, Pool, Keeps, Post>>();
            } else {
                return ElementJob<usual_threads, C::layout.capacity, 1, detail::PooledConvolutionMake<G, First, Pool, Keeps>, Post>{};
            }
        } else {
            return tile_job<C, tile::Conv2dForward<tile::Plain, G>, Slots, ProgramEnding<First>>();
        }
    }
};

/// dx [C, H, W] from dy [O, OH, OW] and the weights
template <>
struct CudaStage<&conv2d::input_gradient_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        using G = typename detail::convolution_of<node, node.shape, graph::input_shape<C, node>(0)[0]>::type;
        using P = tile::Conv2dInputGradientFor<tile::Plain, G, tile::Rowwise, typename C::From::factors, C::layout.capacity>;
        return tile_job<C, P, FloatSlots<input_slot, input_slot + 1>, ProgramEnding<DeviceEpilogue<C, S, 0>>>();
    }
};

/// The same from the gradient behind a max-pool and the winning taps
template <>
struct CudaStage<&conv2d::unpooled_input_gradient_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        constexpr conv2d::Windows windows = conv2d::Windows::of(node);
        using Element = detail::unpooled_by<C::nodes[static_cast<std::size_t>(node.input[2])].dtype>;
        using G = typename detail::convolution_of<node, node.shape, graph::input_shape<C, node>(1)[0]>::type;
        using P = tile::Conv2dInputGradientFor<Element, G, tile::Windowed<windows.height, windows.width>, typename C::From::factors, C::layout.capacity>;
        return tile_job<C, P, UnpooledSlots<input_slot, input_slot + 1>, ProgramEnding<DeviceEpilogue<C, S, 0>>>();
    }
};

/// dweight [O, C / groups, KH, KW] from x and dy
template <>
struct CudaStage<&conv2d::weight_gradient_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        using G = typename detail::convolution_of<node, graph::input_shape<C, node>(0), node.shape[0]>::type;
        using P = tile::Conv2dWeightGradient<tile::Plain, tile::Plain, G>;
        return tile_job<C, P, FloatSlots<input_slot + 1, input_slot>, ProgramEnding<DeviceEpilogue<C, S, 0>>>();
    }
};

/// The same from x, the gradient behind a max-pool, and the winning taps
template <>
struct CudaStage<&conv2d::unpooled_weight_gradient_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        constexpr conv2d::Windows windows = conv2d::Windows::of(node);
        using Element = detail::unpooled_by<C::nodes[static_cast<std::size_t>(node.input[2])].dtype>;
        using G = typename detail::convolution_of<node, graph::input_shape<C, node>(0), node.shape[0]>::type;
        using P = tile::Conv2dWeightGradient<Element, tile::Plain, G, tile::Windowed<windows.height, windows.width>>;
        return tile_job<C, P, UnpooledSlots<input_slot + 1, input_slot>, ProgramEnding<DeviceEpilogue<C, S, 0>>>();
    }
};

} // namespace tenon::cuda
