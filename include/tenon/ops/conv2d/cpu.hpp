/// @file
/// Convolution on the CPU: forward, input gradient and weight gradient as kernels over compile-time problems
/// (conv2d::Problem). Each kernel cuts its work into tasks: a group of channels, whose results it writes to a small
/// tile that the caller uses up while it is in the cache. Tasks are independent of each other; nothing outside the
/// stated arrays is read or written; nothing is allocated. Host code only.
///
///     using P = conv2d::Problem<16, 20, 12, 12, 50, 5, 5>; // 16 images in the lanes, 50 kernels
///     using F = conv2d::Forward<P>;
///     F::prepare(0, x_block, workspace);
///     for (index_t task = 0; task < F::tasks; ++task) {
///         F::run(task, 0, x_block, weight, y_tile, workspace);
///         ... use channels [channel_begin(task), channel_begin(task) + channel_count(task)) from y_tile
///     }
#pragma once

#include <tenon/ops/conv2d/cpu/gather.hpp>
#include <tenon/ops/conv2d/cpu/pixels.hpp>
#include <tenon/ops/conv2d/cpu/problem.hpp>
#include <tenon/ops/conv2d/cpu/weight_gradient.hpp>

#include <type_traits>

namespace tenon::conv2d {

/// The forward convolution as a problem for Gather.
template <class P>
struct ForwardMap {
    static constexpr Axis rows{P::out_height,      P::height, P::kernel_height, P::stride_height, P::padding_height,
                               P::dilation_height, false};
    static constexpr Axis columns{P::out_width,      P::width, P::kernel_width, P::stride_width, P::padding_width,
                                  P::dilation_width, false};
    static constexpr index_t groups = P::groups, inputs = P::group_channels, outputs = P::group_outputs;
    static constexpr index_t weight_output = P::weights_per_output, weight_input = P::kernel_height * P::kernel_width;
    static constexpr index_t weight_group = P::group_outputs * P::weights_per_output;
};

/// The input gradient as one: inputs and outputs change places.
template <class P>
struct InputGradientMap {
    static constexpr Axis rows{P::height,          P::out_height, P::kernel_height, P::stride_height, P::padding_height,
                               P::dilation_height, true};
    static constexpr Axis columns{P::width,          P::out_width, P::kernel_width, P::stride_width, P::padding_width,
                                  P::dilation_width, true};
    static constexpr index_t groups = P::groups, inputs = P::group_outputs, outputs = P::group_channels;
    static constexpr index_t weight_output = P::kernel_height * P::kernel_width, weight_input = P::weights_per_output;
    static constexpr index_t weight_group = P::group_outputs * P::weights_per_output;
};

/// Rows of which a tile of some channels stays in the first-level cache, a multiple of `multiple` (of the stride of a
/// pool that follows, say): what to use as `Rows` below where whole planes are larger than that.
template <class Map, int Lanes>
[[nodiscard]] constexpr index_t rows_in_cache(index_t multiple) {
    constexpr index_t floats = 20 * 1024 / 4, row = Map::columns.out * Lanes;
    return least(Map::rows.out, most(1, floats / (row * least(Map::outputs, 8)) / multiple) * multiple);
}
template <class P>
[[nodiscard]] constexpr index_t forward_rows(index_t multiple) {
    return rows_in_cache<ForwardMap<P>, P::lanes>(multiple);
}
template <class P>
[[nodiscard]] constexpr index_t input_gradient_rows(index_t multiple) {
    return rows_in_cache<InputGradientMap<P>, P::lanes>(multiple);
}

// Forward and InputGradient have these static members:
//     tasks, tile                              number of tasks, most channels of one
//     channel_begin(task), channel_count(task) its channels
//     workspace                                floats that each thread must provide
//     prepare(row_begin, in_block, space)      copies what the kernel wants in another shape into the workspace: before
//                                              run() for the same block and rows on the same thread; several tasks may follow
//     run(task, row_begin, in_block, weight, out_tile, space)
// A call computes rows [row_begin, row_begin + Rows), as far as there are such; row_begin may be any row.

/// y = x * weight for one block of images, a group of output channels and up to `Rows` rows of them.
/// run: in_block = x [C, H, W, Lanes], weight [O, C / groups, KH, KW],
///      out_tile [channel_count(task), Rows, out_width, Lanes]
template <class P, index_t Rows = P::out_height>
struct Forward : std::conditional_t<(P::lanes < cpu::native_lanes<float>), Pixels<P, Rows>,
                                    Gather<ForwardMap<P>, P::lanes, Rows>> {
    static constexpr index_t rows = Rows;
    static constexpr index_t tile_size = Forward::tile * Rows * P::out_width * P::lanes; ///< floats of out_tile
};

/// dx = the gradient of Forward by x for one block of images, a group of input channels and up to `Rows` rows of them.
/// run: in_block = dy [O, out_height, out_width, Lanes], weight [O, C / groups, KH, KW],
///      out_tile [channel_count(task), Rows, W, Lanes]
template <class P, index_t Rows = P::height>
struct InputGradient : Gather<InputGradientMap<P>, P::lanes, Rows> {
    static constexpr index_t rows = Rows;
    static constexpr index_t tile_size = InputGradient::tile * Rows * P::width * P::lanes; ///< floats of out_tile
};

} // namespace tenon::conv2d
