/// @file
/// The fully connected layer's stages on CUDA. The jobs here are direct and serve every shape; `linear_*_job` at the end is where
/// a faster one takes their place.
#pragma once

#include <tenon/cuda/job.hpp>
#include <tenon/ops/linear/linear.hpp>

namespace tenon::cuda {

namespace detail {

/// Samples that a thread works on at once: each weight is read once for all of them.
[[nodiscard]] constexpr int samples_at_once(index_t capacity) { return capacity < 4 ? static_cast<int>(capacity) : 4; }

/// Rows of x [samples][Width] from `first` on, N of them; those beyond the batch are its last, so that reading them is harmless.
template <int N>
__device__ inline void find_rows(index_t (&row)[N], index_t first, int samples, index_t width) {
#pragma unroll
    for (int n = 0; n < N; ++n) row[n] = (first + n < samples ? first + n : static_cast<index_t>(samples) - 1) * width;
}

/// y [samples][Out] = x [samples][In] * weight [Out][In]: a warp for each output and N samples, lanes along the weights' row.
template <int Threads, int N, index_t In, index_t Out, class Post>
struct LinearForwardJob {
    static constexpr int threads = Threads;
    static constexpr int slots = Post::slots;
    static constexpr int warps = Threads / warp_size;
    static constexpr index_t shared = 0;
    static constexpr index_t output_groups = divide_up(Out, warps);
    static constexpr index_t blocks(index_t capacity) { return output_groups * divide_up(capacity, N); }

    template <class C>
    __device__ static void run(C const& c, index_t block, std::byte*) {
        index_t const group = block / output_groups, first = group * N;
        index_t const output = (block - group * output_groups) * warps + warp_number();
        if (first >= c.samples || output >= Out) return; // whole warps
        float const* const x = c.template at<float const, input_slot>();
        float const* const weight = c.template at<float const, input_slot + 1>() + output * In;
        index_t row[N];
        find_rows(row, first, c.samples, In);
        float sum[N]{};
#pragma unroll 4
        for (int i = lane_number(); i < static_cast<int>(In); i += warp_size) {
            float const w = weight[i];
#pragma unroll
            for (int n = 0; n < N; ++n) sum[n] += w * x[row[n] + i];
        }
        float mine = 0;
#pragma unroll
        for (int n = 0; n < N; ++n) {
            float const total = warp_sum(sum[n]);
            if (lane_number() == n) mine = total;
        }
        if (lane_number() < N && first + lane_number() < c.samples) Post::run(c, first + lane_number(), static_cast<typename Post::Index>(output), mine);
    }
};

/// dx [samples][In] = dy [samples][Out] * weight [Out][In]: a lane for each input and N samples; the block's warps share the outputs.
template <int Threads, int N, index_t In, index_t Out, class Post>
struct LinearInputGradientJob {
    static constexpr int threads = Threads;
    static constexpr int slots = Post::slots;
    static constexpr int warps = Threads / warp_size;
    static constexpr index_t shared = Threads * N * static_cast<index_t>(sizeof(float));
    static constexpr index_t input_groups = divide_up(In, warp_size);
    static constexpr index_t blocks(index_t capacity) { return input_groups * divide_up(capacity, N); }

    template <class C>
    __device__ static void run(C const& c, index_t block, std::byte* memory) {
        auto* const partial = reinterpret_cast<float*>(memory); // [warps][N][warp_size]
        index_t const group = block / input_groups, first = group * N;
        if (first >= c.samples) return; // whole blocks
        index_t const begin = (block - group * input_groups) * warp_size, input = begin + lane_number();
        float const* const dy = c.template at<float const, input_slot>();
        index_t row[N];
        find_rows(row, first, c.samples, Out);
        float sum[N]{};
        if (input < In) {
            float const* const weight = c.template at<float const, input_slot + 1>() + input;
#pragma unroll 4
            for (int o = warp_number(); o < static_cast<int>(Out); o += warps) {
                float const w = weight[o * In];
#pragma unroll
                for (int n = 0; n < N; ++n) sum[n] += w * dy[row[n] + o];
            }
        }
#pragma unroll
        for (int n = 0; n < N; ++n) partial[(warp_number() * N + n) * warp_size + lane_number()] = sum[n];
        __syncthreads();
        for (int i = thread_number(); i < N * warp_size; i += Threads) {
            float total = partial[i];
            for (int warp = 1; warp < warps; ++warp) total += partial[warp * N * warp_size + i];
            index_t const sample = first + i / warp_size, at = begin + i % warp_size;
            if (sample < c.samples && at < In) Post::run(c, sample, static_cast<typename Post::Index>(at), total);
        }
    }
};

/// dweight [Out][In] from x [samples][In] and dy [samples][Out]: a thread for each weight, over all samples.
template <index_t In, index_t Out>
struct LinearWeightGradientMake {
    template <class C, class Index>
    __device__ static float value(C const& c, index_t, Index at) {
        float const* x = c.template at<float const, input_slot>() + at % static_cast<Index>(In);
        float const* dy = c.template at<float const, input_slot + 1>() + at / static_cast<Index>(In);
        float sum = 0;
#pragma unroll 4
        for (int n = 0; n < c.samples; ++n) sum += x[n * In] * dy[n * Out];
        return sum;
    }
};

} // namespace detail

/// The job of a linear layer's forward pass: In, Out, the most samples, and the program that follows.
template <index_t In, index_t Out, index_t Capacity, class Post>
constexpr auto linear_forward_job() {
    return detail::LinearForwardJob<usual_threads, detail::samples_at_once(Capacity), In, Out, Post>{};
}
template <index_t In, index_t Out, index_t Capacity, class Post>
constexpr auto linear_input_gradient_job() {
    return detail::LinearInputGradientJob<usual_threads, detail::samples_at_once(Capacity), In, Out, Post>{};
}
template <index_t In, index_t Out, index_t Capacity, class Post>
constexpr auto linear_weight_gradient_job() {
    return ElementJob<usual_threads, Capacity, 1, detail::LinearWeightGradientMake<In, Out>, Post>{};
}

template <>
struct CudaStage<&linear::forward_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        constexpr Dims weight = graph::input_shape<C, node>(1);
        return linear_forward_job<weight[1], weight[0], C::layout.capacity, DeviceEpilogue<C, S, 0>>();
    }
};

template <>
struct CudaStage<&linear::input_gradient_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        constexpr Dims weight = graph::input_shape<C, node>(1);
        return linear_input_gradient_job<weight[1], weight[0], C::layout.capacity, DeviceEpilogue<C, S, 0>>();
    }
};

template <>
struct CudaStage<&linear::weight_gradient_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr Dims weight = graph::anchor_of<C, S>().shape;
        return linear_weight_gradient_job<weight[1], weight[0], C::layout.capacity, DeviceEpilogue<C, S, 0>>();
    }
};

} // namespace tenon::cuda
