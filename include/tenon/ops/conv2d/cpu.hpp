/// @file
/// Convolution on the CPU: forward, input gradient and weight gradient as kernels over compile-time problems
/// (conv2d::Problem). Each kernel cuts its work into tasks: a group of channels, whose results it writes to a small tile that the
/// caller uses up while it is in the cache. Tasks are independent of each other; nothing outside the stated arrays is read or
/// written; nothing is allocated. Host code only.
///
///     using P = conv2d::Problem<16, 20, 12, 12, 50, 5, 5>; // 16 images in the lanes, 20 channels of 12 x 12, 50 kernels of 5 x 5
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
    static constexpr Axis rows{P::out_height, P::height, P::kernel_height, P::stride_height, P::padding_height, P::dilation_height, false};
    static constexpr Axis columns{P::out_width, P::width, P::kernel_width, P::stride_width, P::padding_width, P::dilation_width, false};
    static constexpr index_t groups = P::groups, inputs = P::group_channels, outputs = P::group_outputs;
    static constexpr index_t weight_output = P::weights_per_output, weight_input = P::kernel_height * P::kernel_width;
    static constexpr index_t weight_group = P::group_outputs * P::weights_per_output;
};

/// The input gradient as one: inputs and outputs change places.
template <class P>
struct InputGradientMap {
    static constexpr Axis rows{P::height, P::out_height, P::kernel_height, P::stride_height, P::padding_height, P::dilation_height, true};
    static constexpr Axis columns{P::width, P::out_width, P::kernel_width, P::stride_width, P::padding_width, P::dilation_width, true};
    static constexpr index_t groups = P::groups, inputs = P::group_outputs, outputs = P::group_channels;
    static constexpr index_t weight_output = P::kernel_height * P::kernel_width, weight_input = P::weights_per_output;
    static constexpr index_t weight_group = P::group_outputs * P::weights_per_output;
};

/// y = x * weight for one block of images, a group of output channels and up to `Rows` rows of them.
template <class P, index_t Rows = P::out_height>
class Forward {
    using Kernel = typename std::conditional_t<(P::lanes < cpu::native_lanes<float>), std::type_identity<Pixels<P, Rows>>,
                                               std::type_identity<Gather<ForwardMap<P>, P::lanes, Rows>>>::type;

public:
    static constexpr index_t tasks = Kernel::tasks;
    static constexpr index_t tile = Kernel::tile; ///< most channels of a task
    static constexpr index_t rows = Rows;
    static constexpr index_t tile_size = tile * Rows * P::out_width * P::lanes; ///< floats of y_tile
    static constexpr index_t workspace = Kernel::workspace;                     ///< floats of each thread

    [[nodiscard]] static constexpr index_t channel_begin(index_t task) { return Kernel::channel_begin(task); }
    [[nodiscard]] static constexpr index_t channel_count(index_t task) { return Kernel::channel_count(task); }

    /// Copies the input into the workspace where the kernel wants it in another shape. Call it before run() for the same block and
    /// rows on the same thread; several tasks may follow.
    static void prepare(index_t row_begin, float const* x_block, float* space) { Kernel::prepare(row_begin, x_block, space); }

    /// @param row_begin first row of the output; rows [row_begin, min(row_begin + Rows, out_height)) are computed
    /// @param x_block [C, H, W, Lanes]  @param weight [O, C / groups, KH, KW]
    /// @param y_tile [channel_count(task), Rows, out_width, Lanes]
    static void run(index_t task, index_t row_begin, float const* x_block, float const* weight, float* y_tile, float* space) {
        Kernel::run(task, row_begin, x_block, weight, y_tile, space);
    }
};

/// dx = the gradient of Forward by x for one block of images, a group of input channels and up to `Rows` rows of them.
template <class P, index_t Rows = P::height>
class InputGradient {
    using Kernel = Gather<InputGradientMap<P>, P::lanes, Rows>;

public:
    static constexpr index_t tasks = Kernel::tasks;
    static constexpr index_t tile = Kernel::tile; ///< most channels of a task
    static constexpr index_t rows = Rows;
    static constexpr index_t tile_size = tile * Rows * P::width * P::lanes; ///< floats of dx_tile
    static constexpr index_t workspace = Kernel::workspace;                 ///< floats of each thread

    [[nodiscard]] static constexpr index_t channel_begin(index_t task) { return Kernel::channel_begin(task); }
    [[nodiscard]] static constexpr index_t channel_count(index_t task) { return Kernel::channel_count(task); }

    /// As Forward's.
    static void prepare(index_t row_begin, float const* dy_block, float* space) { Kernel::prepare(row_begin, dy_block, space); }

    /// @param row_begin first row of the input; rows [row_begin, min(row_begin + Rows, H)) are computed
    /// @param dy_block [O, out_height, out_width, Lanes]  @param weight [O, C / groups, KH, KW]
    /// @param dx_tile [channel_count(task), Rows, W, Lanes]
    static void run(index_t task, index_t row_begin, float const* dy_block, float const* weight, float* dx_tile, float* space) {
        Kernel::run(task, row_begin, dy_block, weight, dx_tile, space);
    }
};

} // namespace tenon::conv2d
