/// @file
/// Stages that are pointwise work alone, on the CPU.
#pragma once

#include <tenon/cpu/stage.hpp>

namespace tenon::cpu {

namespace detail {

/// Runs the program over slices of axis 0 that are large enough to pay for a task.
template <class Post>
struct PointwiseStage {
    static constexpr index_t scratch(index_t) { return 0; }

    static constexpr index_t worthwhile = 8192; ///< elements in a task
    static constexpr index_t per_row = Post::row * Post::lanes;
    static constexpr index_t tile = (per_row * Post::rows <= worthwhile || per_row == 0) ? Post::rows : (per_row >= worthwhile ? 1 : worthwhile / per_row);
    static constexpr index_t tasks = (Post::rows + tile - 1) / tile;
    static constexpr index_t channel_count(index_t task) { return task + 1 < tasks ? tile : Post::rows - task * tile; }

    static constexpr index_t channel_begin(index_t task) { return task * tile; }

    static void run(StageContext const& c) { c.run_tasks(&task, (Post::batched ? c.blocks : 1) * tasks); }

    static void task(StageContext const& c, index_t task, float*, index_t) { Post::template run_task<PointwiseStage>(c, task % tasks, task / tasks, nullptr); }
};

} // namespace detail

template <>
struct CpuStage<nullptr> {
    template <class C, int S>
    static constexpr StageKernel kernel() {
        using Stage = detail::PointwiseStage<EpilogueOf<C, S, 0>>;
        return {&Stage::run, &Stage::scratch};
    }
};

} // namespace tenon::cpu
