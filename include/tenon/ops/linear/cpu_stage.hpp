/// @file
/// The fully connected layer's stages on the CPU: kernels (cpu.hpp) joined with the pointwise programs that follow them.
#pragma once

#include <tenon/cpu/stage.hpp>
#include <tenon/ops/linear/cpu.hpp>
#include <tenon/ops/linear/linear.hpp>

namespace tenon::cpu {

/// Forward and input gradient: both read one batched tensor and the weights, and make tiles of another batched tensor.
template <class Kernel, int Lanes, class Post>
struct LinearBatched {
    static constexpr index_t workspace(index_t blocks) { return whole_lines(Kernel::workspace(blocks)); }
    static constexpr index_t scratch(index_t blocks) { return workspace(blocks) + whole_lines(Kernel::tile_size(blocks)); }

    static void run(StageContext const& c) { c.run_tasks(&task, Kernel::tasks); }

    static void task(StageContext const& c, index_t task, float* scratch, index_t previous) {
        float const* const from = c.at<float const>(input_slot);
        float* const tile = scratch + workspace(c.blocks);
        if (previous < 0) Kernel::prepare(from, c.blocks, scratch);
        Kernel::run(task, from, c.blocks, c.at<float const>(input_slot + 1), tile, scratch);
        for (index_t block = 0; block < c.blocks; ++block) Post::template run_task<Kernel>(c, task, block, tile + block * Kernel::channel_count(task) * Lanes);
    }
};

/// The input gradient for few images and many weights. Tasks are groups of outputs, as in the other two passes, so that
/// each thread finds in its cache the weights that it read and wrote there; what the groups contribute meets in the
/// scratch memory of thread 0 and is added in order.
template <class P, class Post>
struct LinearInputGradientByOutputs {
    using Kernel = linear::InputGradient<P>;
    /// So many outputs that writing and reading what they contribute is little beside reading their weights.
    static constexpr Partition groups{P::outputs, 16 * P::lanes};
    static constexpr index_t block = P::inputs * P::lanes;

    static constexpr bool suits(index_t blocks) {
        return P::lanes < native_lanes<float> && blocks * P::lanes <= native_lanes<float> && groups.tiles >= 2 &&
               P::inputs * P::outputs >= 64 * 1024;
    }
    static constexpr index_t scratch(index_t blocks) { return groups.tiles * blocks * block; }

    static void run(StageContext const& c) {
        c.run_tasks(&multiply, groups.tiles);
        c.run_tasks(&finish, Kernel::tasks);
    }
    static void multiply(StageContext const& c, index_t task, float*, index_t) {
        index_t const begin = groups.begin(task), end = begin + groups.size(task);
        float* const to = c.scratch + task * c.blocks * block;
        for (index_t t = 0; t < Kernel::tasks; ++t)
            Kernel::run_outputs(t, {begin, end}, c.at<float const>(input_slot), c.blocks,
                                c.at<float const>(input_slot + 1), to + Kernel::channel_begin(t) * P::lanes, block);
    }
    static void finish(StageContext const& c, index_t task, float*, index_t) {
        index_t const count = Kernel::channel_count(task) * P::lanes;
        for (index_t b = 0; b < c.blocks; ++b) {
            float* const sum = c.scratch + b * block + Kernel::channel_begin(task) * P::lanes;
            for (index_t g = 1; g < groups.tiles; ++g) {
                float const* const part = sum + g * c.blocks * block;
                for (index_t i = 0; i < count; ++i) sum[i] += part[i];
            }
            Post::template run_task<Kernel>(c, task, b, sum);
        }
    }
};

template <class Kernel, class Post>
struct LinearWeightGradient {
    static constexpr index_t workspace(index_t blocks) { return whole_lines(Kernel::workspace(blocks)); }
    static constexpr index_t scratch(index_t blocks) { return workspace(blocks) + whole_lines(Kernel::tile_size); }

    static void run(StageContext const& c) { c.run_tasks(&task, Kernel::tasks); }

    static void task(StageContext const& c, index_t task, float* scratch, index_t previous) {
        float const* const x = c.at<float const>(input_slot);
        float* const tile = scratch + workspace(c.blocks);
        if (previous < 0) Kernel::prepare(x, c.blocks, scratch);
        Kernel::run(task, x, c.at<float const>(input_slot + 1), c.blocks, tile, nullptr, scratch);
        Post::template run_task<Kernel>(c, task, 0, tile);
    }
};

/// The problem from the weights' shape [out, in].
template <class C, int Weight>
using LinearProblem = linear::Problem<C::layout.lanes, C::nodes[Weight].shape[1], C::nodes[Weight].shape[0]>;

template <>
struct CpuStage<&linear::forward_op> {
    template <class C, int S>
    static constexpr StageKernel kernel() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        using P = LinearProblem<C, node.input[1]>;
        using Stage = LinearBatched<linear::Forward<P>, C::layout.lanes, EpilogueOf<C, S, 0>>;
        return {&Stage::run, &Stage::scratch};
    }
};

template <>
struct CpuStage<&linear::input_gradient_op> {
    template <class C, int S>
    static constexpr StageKernel kernel() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        using P = LinearProblem<C, node.input[1]>;
        using Post = EpilogueOf<C, S, 0>;
        using ByOutputs = LinearInputGradientByOutputs<P, Post>;
        using Stage = std::conditional_t<ByOutputs::suits(C::layout.blocks()), ByOutputs,
                                         LinearBatched<linear::InputGradient<P>, P::lanes, Post>>;
        return {&Stage::run, &Stage::scratch};
    }
};

template <>
struct CpuStage<&linear::weight_gradient_op> {
    template <class C, int S>
    static constexpr StageKernel kernel() {
        using P = LinearProblem<C, C::stages[S].anchor>;
        using Stage = LinearWeightGradient<linear::WeightGradient<P>, EpilogueOf<C, S, 0>>;
        return {&Stage::run, &Stage::scratch};
    }
};

} // namespace tenon::cpu
