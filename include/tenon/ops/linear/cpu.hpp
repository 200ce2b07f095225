/// @file
/// The fully connected layer on the CPU: forward, input gradient and weight gradient as kernels over compile-time
/// problems (linear::Problem). Each kernel cuts its work into tasks: a group of outputs (of inputs, for the input
/// gradient), whose results it writes to a small tile that the caller uses up while it is in the cache. Tasks are
/// independent of each other; nothing outside the stated arrays is read or written; nothing is allocated. Host code
/// only.
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

// Forward and InputGradient have these static members:
//     tasks, tile                              number of tasks, most channels of one
//     channel_begin(task), channel_count(task) its outputs, or inputs for the input gradient
//     workspace(blocks)                        floats that each thread must provide
//     prepare(in, blocks, space)               copies what the kernel wants in another shape into the workspace: before
//                                              run() for the same input on the same thread; several tasks may follow
//     run(task, in, blocks, weight, out_tile, space)

/// y = weight x for all blocks and a group of outputs.
/// run: in = x [blocks, In, Lanes], weight [Out, In], out_tile [blocks, channel_count(task), Lanes]
template <class P>
struct Forward : std::conditional_t<(P::lanes < cpu::native_lanes<float>), FewForward<P>,
                                    Images<P::lanes, P::outputs, P::inputs, P::inputs, 1>> {
    /// Floats of out_tile.
    [[nodiscard]] static constexpr index_t tile_size(index_t blocks) { return Forward::tile * blocks * P::lanes; }
};

/// dx = weight transposed dy for all blocks and a group of inputs.
/// run: in = dy [blocks, Out, Lanes], weight [Out, In], out_tile [blocks, channel_count(task), Lanes]
template <class P>
struct InputGradient : std::conditional_t<(P::lanes < cpu::native_lanes<float>), FewInputGradient<P>,
                                          Images<P::lanes, P::inputs, P::outputs, 1, P::inputs>> {
    /// Floats of out_tile.
    [[nodiscard]] static constexpr index_t tile_size(index_t blocks) { return InputGradient::tile * blocks * P::lanes; }
};

} // namespace tenon::linear
