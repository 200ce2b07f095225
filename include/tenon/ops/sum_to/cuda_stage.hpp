/// @file
/// Sums over the batch and over axes on CUDA: gradients of what broadcasting had stretched, such as biases.
#pragma once

#include <tenon/cuda/job.hpp>
#include <tenon/ops/sum_to/cpu_stage.hpp>

namespace tenon::cuda {

namespace detail {

/// The terms of one kept number k of x [samples][Outer, Kept, Inner]: over the samples too if OverBatch.
template <bool OverBatch, bool Batched, index_t Outer, index_t Kept, index_t Inner>
struct SumTerms {
    __device__ static index_t terms(int samples) { return (OverBatch ? samples : 1) * Outer * Inner; }
    template <class C, class Index>
    __device__ static float term(C const& c, index_t sample, Index at, index_t t) {
        float const* x = c.template at<float const, input_slot>();
        index_t const row = t / Inner, inner = t - row * Inner; // row: of samples and outer axes
        if constexpr (!OverBatch && Batched) x += sample * (Outer * Kept * Inner);
        return x[(row * Kept + static_cast<index_t>(at)) * Inner + inner];
    }
};

/// Where nothing lies inside the kept axis, neighbours in memory belong to different sums: each thread of a row has a sum of its
/// own, and the rows of the block share the samples.
template <int Threads, class Make, class Post>
struct ColumnSumJob {
    static constexpr int threads = Threads;
    static constexpr int slots = Post::slots;
    static constexpr int columns = warp_size, rows = Threads / columns;
    static constexpr index_t shared = Threads * static_cast<index_t>(sizeof(float));
    static constexpr index_t blocks(index_t) { return divide_up(Post::count, columns); }

    template <class C>
    __device__ static void run(C const& c, index_t block, std::byte* memory) {
        auto* const partial = reinterpret_cast<float*>(memory); // [rows][columns]
        index_t const column = block * columns + lane_number();
        float sum = 0;
        if (column < Post::count) {
            index_t const terms = Make::terms(c.samples);
            for (index_t t = warp_number(); t < terms; t += rows) sum += Make::term(c, 0, column, t);
        }
        partial[thread_number()] = sum;
        __syncthreads();
        if (warp_number() == 0 && column < Post::count) {
            for (int row = 1; row < rows; ++row) sum += partial[row * columns + lane_number()];
            Post::run(c, 0, static_cast<typename Post::Index>(column), sum);
        }
    }
};

} // namespace detail

template <>
struct CudaStage<&graph::sum_to_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        constexpr graph::Node x = C::nodes[static_cast<std::size_t>(node.input[0])];
        constexpr cpu::detail::SumAxes axes = cpu::detail::sum_axes(x.shape, node.shape);
        static_assert(axes.one_run, "tenon: a sum over axes on both sides of kept ones, with kept ones between them, is not supported");
        constexpr bool over_batch = x.batched && !node.batched;
        using Terms = detail::SumTerms<over_batch, x.batched, axes.outer, axes.kept, axes.inner>;
        using Post = DeviceEpilogue<C, S, 0>;
        if constexpr (axes.inner == 1 && axes.kept > 1 && !node.batched) {
            return detail::ColumnSumJob<usual_threads, Terms, Post>{};
        } else {
            constexpr index_t terms = (over_batch ? C::layout.capacity : 1) * axes.outer * axes.inner;
            return SumJob<usual_threads, team_for(usual_threads, terms), Terms, Post>{};
        }
    }
};

} // namespace tenon::cuda
