/// @file
/// The fully connected layer on the CPU: forward, input gradient and weight gradient as kernels over compile-time problems
/// (linear::Problem). Each kernel cuts its work into tasks: a group of outputs (of inputs, for the input gradient), whose results it
/// writes to a small tile that the caller uses up while it is in the cache. Tasks are independent of each other; nothing outside the
/// stated arrays is read or written; nothing is allocated. Host code only.
///
///     using P = linear::Problem<4, 800, 500>; // 4 images in the lanes
///     using F = linear::Forward<P>;
///     F::prepare(x, blocks, workspace);
///     for (index_t task = 0; task < F::tasks; ++task) {
///         F::run(task, x, blocks, weight, y_tile, workspace);
///         ... use outputs [channel_begin(task), channel_begin(task) + channel_count(task)) from y_tile
///     }
#pragma once

#include <tenon/ops/linear/cpu/features.hpp>
#include <tenon/ops/linear/cpu/images.hpp>
#include <tenon/ops/linear/cpu/problem.hpp>
#include <tenon/ops/linear/cpu/weight_gradient.hpp>

#include <type_traits>

namespace tenon::linear {

/// y = weight x for all blocks and a group of outputs.
template <class P>
class Forward {
    static constexpr bool few = P::lanes < cpu::native_lanes<float>;
    using Kernel = typename std::conditional_t<few, std::type_identity<FewForward<P>>,
                                               std::type_identity<Images<P::lanes, P::outputs, P::inputs, P::inputs, 1>>>::type;

public:
    static constexpr index_t tasks = Kernel::tasks;
    static constexpr index_t tile = Kernel::tile; ///< most outputs of a task

    [[nodiscard]] static constexpr index_t channel_begin(index_t task) { return Kernel::channel_begin(task); }
    [[nodiscard]] static constexpr index_t channel_count(index_t task) { return Kernel::channel_count(task); }
    [[nodiscard]] static constexpr index_t tile_size(index_t blocks) { return tile * blocks * P::lanes; } ///< floats of y_tile
    [[nodiscard]] static constexpr index_t workspace([[maybe_unused]] index_t blocks) {                     ///< floats of each thread
        if constexpr (few) return Kernel::workspace(blocks);
        else return 0;
    }

    /// Copies x into the workspace where the kernel wants it in another shape. Call it before run() for the same x on the same
    /// thread; several tasks may follow.
    static void prepare([[maybe_unused]] float const* x, [[maybe_unused]] index_t blocks, [[maybe_unused]] float* space) {
        if constexpr (few) Kernel::prepare(x, blocks, space);
    }

    /// @param x [blocks, In, Lanes]  @param weight [Out, In]  @param y_tile [blocks, channel_count(task), Lanes]
    static void run(index_t task, [[maybe_unused]] float const* x, index_t blocks, float const* weight, float* y_tile,
                    [[maybe_unused]] float* space) {
        if constexpr (few) Kernel::run(task, blocks, weight, y_tile, space);
        else Kernel::run(task, x, blocks, weight, y_tile);
    }
};

/// dx = weight transposed dy for all blocks and a group of inputs.
template <class P>
class InputGradient {
    using Kernel = typename std::conditional_t<(P::lanes < cpu::native_lanes<float>), std::type_identity<FewInputGradient<P>>,
                                               std::type_identity<Images<P::lanes, P::inputs, P::outputs, 1, P::inputs>>>::type;

public:
    static constexpr index_t tasks = Kernel::tasks;
    static constexpr index_t tile = Kernel::tile; ///< most inputs of a task

    [[nodiscard]] static constexpr index_t channel_begin(index_t task) { return Kernel::channel_begin(task); }
    [[nodiscard]] static constexpr index_t channel_count(index_t task) { return Kernel::channel_count(task); }
    [[nodiscard]] static constexpr index_t tile_size(index_t blocks) { return tile * blocks * P::lanes; } ///< floats of dx_tile
    [[nodiscard]] static constexpr index_t workspace(index_t /*blocks*/) { return 0; }

    /// As Forward's.
    static void prepare(float const* /*dy*/, index_t /*blocks*/, float* /*space*/) {}

    /// @param dy [blocks, Out, Lanes]  @param weight [Out, In]  @param dx_tile [blocks, channel_count(task), Lanes]
    static void run(index_t task, float const* dy, index_t blocks, float const* weight, float* dx_tile, float* /*space*/) {
        Kernel::run(task, dy, blocks, weight, dx_tile);
    }
};

} // namespace tenon::linear
