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
        using Stage = LinearBatched<linear::InputGradient<P>, C::layout.lanes, EpilogueOf<C, S, 0>>;
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
