/// @file
/// Convolution's stages on CUDA. The jobs here are direct and serve every geometry; `conv2d_*_job` at the end is where a faster one
/// takes their place.
#pragma once

#include <tenon/cuda/job.hpp>
#include <tenon/ops/conv2d/unpooled.hpp>
#include <tenon/ops/pool2d/cuda_stage.hpp>

namespace tenon::cuda {

namespace detail {

/// A convolution as the kernels see it: x [C][H][W], weight [O][C / Groups][KH][KW], y [O][OH][OW].
template <int C, int H, int W, int O, int KH, int KW, int SH, int SW, int PH, int PW, int DH, int DW, int Groups>
struct Convolution {
    static constexpr int channels = C, height = H, width = W, outputs = O, kernel_height = KH, kernel_width = KW, stride_height = SH, stride_width = SW;
    static constexpr int padding_height = PH, padding_width = PW, dilation_height = DH, dilation_width = DW, groups = Groups;
    static constexpr int out_height = static_cast<int>(window_count(H, KH, SH, PH, DH)), out_width = static_cast<int>(window_count(W, KW, SW, PW, DW));
    static constexpr int plane = H * W, out_plane = out_height * out_width, taps = KH * KW;
    static constexpr int group_channels = C / Groups, group_outputs = O / Groups;
    static constexpr index_t sample = index_t{C} * plane, out_sample = index_t{O} * out_plane; ///< elements
    static constexpr bool padded = PH > 0 || PW > 0;

    [[nodiscard]] __device__ static bool inside(int y, int x) { return !padded || (y >= 0 && y < H && x >= 0 && x < W); }
};

/// N values of one plane of y, at positions[i] = {oy, ox}: they share each weight.
template <class P, int N>
__device__ inline void convolve(float const* x, float const* weight, int const (&oy)[N], int const (&ox)[N], float (&sum)[N]) {
#pragma unroll
    for (int n = 0; n < N; ++n) sum[n] = 0;
#pragma unroll 1
    for (int channel = 0; channel < P::group_channels; ++channel, x += P::plane, weight += P::taps)
#pragma unroll
        for (int ky = 0; ky < P::kernel_height; ++ky)
#pragma unroll
            for (int kx = 0; kx < P::kernel_width; ++kx) {
                float const w = weight[ky * P::kernel_width + kx];
#pragma unroll
                for (int n = 0; n < N; ++n) {
                    int const y = oy[n] * P::stride_height - P::padding_height + ky * P::dilation_height;
                    int const at = ox[n] * P::stride_width - P::padding_width + kx * P::dilation_width;
                    if (P::inside(y, at)) sum[n] += w * x[y * P::width + at];
                }
            }
}

/// Where the planes of an output channel begin: those of x that it reads, and its weights.
template <class P, class C>
__device__ inline float const* input_planes(C const& c, index_t sample, int output) {
    return c.template at<float const, input_slot>() + sample * P::sample + output / P::group_outputs * (P::group_channels * P::plane);
}
template <class P, class C>
__device__ inline float const* weights_of(C const& c, int output) {
    return c.template at<float const, input_slot + 1>() + output * (P::group_channels * P::taps);
}

template <class P>
struct ConvolutionMake {
    template <class C, class Index>
    __device__ static float value(C const& c, index_t sample, Index at) {
        int const output = static_cast<int>(at) / P::out_plane, pixel = static_cast<int>(at) % P::out_plane;
        int const oy[1] = {pixel / P::out_width}, ox[1] = {pixel % P::out_width};
        float sum[1];
        convolve<P>(input_planes<P>(c, sample, output), weights_of<P>(c, output), oy, ox, sum);
        return sum[0];
    }
};

/// A window of y, each value continued by First, and the largest of them: y itself is never stored. Pool: a pool2d::Problem over y's planes.
/// Tap: type of the winning tap, void where it is not wanted.
template <class P, class First, class Pool, class Tap>
struct PooledConvolutionMake {
    static constexpr int slots = First::slots;
    static constexpr int taps = Pool::kernel_height * Pool::kernel_width;
    static constexpr int at_once = taps <= 16 ? taps : Pool::kernel_width; ///< values of y that a thread holds

    template <class C, class Index>
    __device__ static float value(C const& c, index_t sample, Index at) {
        int const output = static_cast<int>(at) / static_cast<int>(Pool::out_plane), window = static_cast<int>(at) % static_cast<int>(Pool::out_plane);
        int const y0 = window / static_cast<int>(Pool::out_width) * Pool::stride_height - Pool::padding_height;
        int const x0 = window % static_cast<int>(Pool::out_width) * Pool::stride_width - Pool::padding_width;
        float const *const x = input_planes<P>(c, sample, output), *const weight = weights_of<P>(c, output);
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
                inside[n] = !Pool::padded || (oy[n] >= 0 && oy[n] < P::out_height && ox[n] >= 0 && ox[n] < P::out_width);
                if (!inside[n]) oy[n] = ox[n] = 0;
            }
            convolve<P>(x, weight, oy, ox, sum);
#pragma unroll
            for (int n = 0; n < at_once; ++n)
                if (inside[n]) winner.meet(First::run(c, sample, static_cast<typename First::Index>((output * P::out_height + oy[n]) * P::out_width + ox[n]), sum[n]), first + n);
        }
        if constexpr (!std::is_void_v<Tap>)
            c.template at<Tap, pool_companion_slot>()[sample * (P::outputs * Pool::out_plane) + static_cast<index_t>(at)] = static_cast<Tap>(winner.tap);
        return winner.value;
    }
};

/// dy as it lies in memory [samples][O][OH][OW], in slot S.
template <class P, int S>
struct PlainGradient {
    template <class C>
    __device__ PlainGradient(C const& c, index_t sample, int output) : dy{c.template at<float const, S>() + sample * P::out_sample + output * P::out_plane} {}

    [[nodiscard]] __device__ float operator()(int oy, int ox) const { return dy[oy * P::out_width + ox]; }
    __device__ void next_output() { dy += P::out_plane; }

private:
    float const* dy;
};

/// dy before a max-pool with windows of WH x WW side by side, from the pooled gradient in slot S and the winning taps in slot 2.
template <class P, int S, int WH, int WW, class Tap>
struct UnpooledGradient {
    static constexpr int height = P::out_height / WH, width = P::out_width / WW, plane = height * width;

    template <class C>
    __device__ UnpooledGradient(C const& c, index_t sample, int output)
        : dy{c.template at<float const, S>() + (sample * P::outputs + output) * plane}, winner{c.template at<Tap const, input_slot + 2>() + (sample * P::outputs + output) * plane} {}

    [[nodiscard]] __device__ float operator()(int oy, int ox) const {
        int const wy = oy / WH, wx = ox / WW, window = wy * width + wx;
        if (wy >= height || wx >= width) return 0; // at the edges, in no window
        return static_cast<int>(winner[window]) == (oy - wy * WH) * WW + (ox - wx * WW) ? dy[window] : 0.0f;
    }
    __device__ void next_output() { dy += plane, winner += plane; }

private:
    float const* dy;
    Tap const* winner;
};

/// dx [C][H][W] from dy [O][OH][OW] and the weights: a thread for each pixel gathers what the outputs that read it pass back.
template <class P, class Gradient>
struct ConvolutionInputGradientMake {
    template <class C, class Index>
    __device__ static float value(C const& c, index_t sample, Index at) {
        int const channel = static_cast<int>(at) / P::plane, pixel = static_cast<int>(at) % P::plane, y = pixel / P::width, x = pixel % P::width;
        int const group = channel / P::group_channels;
        Gradient dy{c, sample, group * P::group_outputs};
        float const* weight = c.template at<float const, input_slot + 1>() + (group * (P::group_outputs * P::group_channels) + channel % P::group_channels) * P::taps;
        float sum = 0;
#pragma unroll 1
        for (int output = 0; output < P::group_outputs; ++output, dy.next_output(), weight += P::group_channels * P::taps)
#pragma unroll
            for (int ky = 0; ky < P::kernel_height; ++ky) {
                int const down = y + P::padding_height - ky * P::dilation_height, oy = down / P::stride_height;
                bool const row = down >= 0 && down % P::stride_height == 0 && oy < P::out_height;
#pragma unroll
                for (int kx = 0; kx < P::kernel_width; ++kx) {
                    int const right = x + P::padding_width - kx * P::dilation_width, ox = right / P::stride_width;
                    if (row && right >= 0 && right % P::stride_width == 0 && ox < P::out_width) sum += weight[ky * P::kernel_width + kx] * dy(oy, ox);
                }
            }
        return sum;
    }
};

/// dweight [O][C / Groups][KH][KW] from x and dy: the terms of a weight are all positions of all samples.
template <class P>
struct ConvolutionWeightGradientTerms {
    __device__ static index_t terms(int samples) { return samples * index_t{P::out_plane}; }
    template <class C, class Index>
    __device__ static float term(C const& c, index_t, Index at, index_t t) {
        int const tap = static_cast<int>(at) % P::taps, row = static_cast<int>(at) / P::taps;
        int const channel = row % P::group_channels, output = row / P::group_channels;
        index_t const sample = t / P::out_plane;
        int const pixel = static_cast<int>(t - sample * P::out_plane);
        int const y = pixel / P::out_width * P::stride_height - P::padding_height + tap / P::kernel_width * P::dilation_height;
        int const x = pixel % P::out_width * P::stride_width - P::padding_width + tap % P::kernel_width * P::dilation_width;
        if (!P::inside(y, x)) return 0;
        return input_planes<P>(c, sample, output)[channel * P::plane + y * P::width + x] *
               c.template at<float const, input_slot + 1>()[sample * P::out_sample + output * P::out_plane + pixel];
    }
};

/// The same before a max-pool: a term for each window, whose gradient belongs to the position that won.
template <class P, int WH, int WW, class Tap>
struct UnpooledWeightGradientTerms {
    static constexpr int windows_right = P::out_width / WW, windows = P::out_height / WH * windows_right;

    __device__ static index_t terms(int samples) { return samples * index_t{windows}; }
    template <class C, class Index>
    __device__ static float term(C const& c, index_t, Index at, index_t t) {
        int const tap = static_cast<int>(at) % P::taps, row = static_cast<int>(at) / P::taps;
        int const channel = row % P::group_channels, output = row / P::group_channels;
        index_t const sample = t / windows;
        int const window = static_cast<int>(t - sample * windows);
        index_t const place = (sample * P::outputs + output) * windows + window;
        auto const winner = static_cast<int>(c.template at<Tap const, input_slot + 2>()[place]);
        int const oy = window / windows_right * WH + winner / WW, ox = window % windows_right * WW + winner % WW;
        int const y = oy * P::stride_height - P::padding_height + tap / P::kernel_width * P::dilation_height;
        int const x = ox * P::stride_width - P::padding_width + tap % P::kernel_width * P::dilation_width;
        if (!P::inside(y, x)) return 0;
        return input_planes<P>(c, sample, output)[channel * P::plane + y * P::width + x] * c.template at<float const, input_slot + 1>()[place];
    }
};

template <graph::Node N, Dims X, Dims Y>
struct convolution_of {
    static constexpr auto g = conv2d::Geometry::of(N);
    using type = Convolution<static_cast<int>(X[0]), static_cast<int>(X[1]), static_cast<int>(X[2]), static_cast<int>(Y[0]), g.kernel.height, g.kernel.width, g.stride.height, g.stride.width,
                             g.padding.height, g.padding.width, g.dilation.height, g.dilation.width, g.groups>;
};

/// What winning taps are stored as.
template <graph::Dtype D>
using tap_type = std::conditional_t<D == graph::Dtype::u8, std::uint8_t, std::int32_t>;

} // namespace detail

/// The shape that a convolution makes of X.
constexpr Dims convolved(graph::Node const& node, Dims const& x, index_t outputs) {
    conv2d::Geometry const g = conv2d::Geometry::of(node);
    return {outputs, window_count(x[1], g.kernel.height, g.stride.height, g.padding.height, g.dilation.height),
            window_count(x[2], g.kernel.width, g.stride.width, g.padding.width, g.dilation.width)};
}

/// The jobs of a convolution P (detail::Convolution); Post is the program that follows.
template <class P, index_t Capacity, class Post>
constexpr auto conv2d_forward_job() {
    return ElementJob<usual_threads, Capacity, 1, detail::ConvolutionMake<P>, Post>{};
}
/// With a max-pool: First follows on y, Post on the pooled values.
template <class P, index_t Capacity, class First, class Pool, class Tap, class Post>
constexpr auto conv2d_pool_job() {
    return ElementJob<usual_threads, Capacity, 1, detail::PooledConvolutionMake<P, First, Pool, Tap>, Post>{};
}
template <class P, index_t Capacity, class Post>
constexpr auto conv2d_input_gradient_job() {
    return ElementJob<usual_threads, Capacity, 1, detail::ConvolutionInputGradientMake<P, detail::PlainGradient<P, input_slot>>, Post>{};
}
/// Before a max-pool with windows of WH x WW whose winning taps are of type Tap.
template <class P, int WH, int WW, class Tap, index_t Capacity, class Post>
constexpr auto conv2d_unpooled_input_gradient_job() {
    return ElementJob<usual_threads, Capacity, 1, detail::ConvolutionInputGradientMake<P, detail::UnpooledGradient<P, input_slot, WH, WW, Tap>>, Post>{};
}
template <class P, index_t Capacity, class Post>
constexpr auto conv2d_weight_gradient_job() {
    return SumJob<usual_threads, team_for(usual_threads, Capacity * P::out_plane), detail::ConvolutionWeightGradientTerms<P>, Post>{};
}
template <class P, int WH, int WW, class Tap, index_t Capacity, class Post>
constexpr auto conv2d_unpooled_weight_gradient_job() {
    using Terms = detail::UnpooledWeightGradientTerms<P, WH, WW, Tap>;
    return SumJob<usual_threads, team_for(usual_threads, Capacity * Terms::windows), Terms, Post>{};
}

template <>
struct CudaStage<&conv2d::forward_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Stage stage = C::tables.stages[S];
        constexpr graph::Node node = graph::anchor_of<C, S>();
        using P = typename detail::convolution_of<node, graph::input_shape<C, node>(), node.shape>::type;
        if constexpr (stage.pool >= 0) {
            constexpr graph::Node pool = C::tables.nodes[static_cast<std::size_t>(stage.pool)];
            static_assert(pool.is(pool2d::max_op), "tenon: only a max-pool can follow in a convolution's kernel");
            using Tap = std::conditional_t<(stage.pool_companion[0] >= 0), pool2d::index_type<pool>, void>;
            return conv2d_pool_job<P, C::layout.capacity, DeviceEpilogue<C, S, 0>, typename pool2d::problem_of<pool, node.shape>::type, Tap, DeviceEpilogue<C, S, 1>>();
        } else {
            return conv2d_forward_job<P, C::layout.capacity, DeviceEpilogue<C, S, 0>>();
        }
    }
};

template <>
struct CudaStage<&conv2d::input_gradient_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        using P = typename detail::convolution_of<node, node.shape, graph::input_shape<C, node>()>::type;
        return conv2d_input_gradient_job<P, C::layout.capacity, DeviceEpilogue<C, S, 0>>();
    }
};

template <>
struct CudaStage<&conv2d::unpooled_input_gradient_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        constexpr conv2d::Windows windows = conv2d::Windows::of(node);
        using P = typename detail::convolution_of<node, node.shape, convolved(node, node.shape, graph::input_shape<C, node>(1)[0])>::type;
        using Tap = detail::tap_type<C::tables.nodes[static_cast<std::size_t>(node.input[2])].dtype>;
        return conv2d_unpooled_input_gradient_job<P, windows.height, windows.width, Tap, C::layout.capacity, DeviceEpilogue<C, S, 0>>();
    }
};

template <>
struct CudaStage<&conv2d::unpooled_weight_gradient_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        constexpr conv2d::Windows windows = conv2d::Windows::of(node);
        constexpr Dims x = graph::input_shape<C, node>(0);
        using P = typename detail::convolution_of<node, x, convolved(node, x, node.shape[0])>::type;
        using Tap = detail::tap_type<C::tables.nodes[static_cast<std::size_t>(node.input[2])].dtype>;
        return conv2d_unpooled_weight_gradient_job<P, windows.height, windows.width, Tap, C::layout.capacity, DeviceEpilogue<C, S, 0>>();
    }
};

template <>
struct CudaStage<&conv2d::weight_gradient_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        using P = typename detail::convolution_of<node, graph::input_shape<C, node>(0), graph::input_shape<C, node>(1)>::type;
        return conv2d_weight_gradient_job<P, C::layout.capacity, DeviceEpilogue<C, S, 0>>();
    }
};

} // namespace tenon::cuda
