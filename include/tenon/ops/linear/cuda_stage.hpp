/// @file
/// The fully connected layer's stages on CUDA: products of the tile kernel.
#pragma once

#include <tenon/cuda/tile_job.hpp>
#include <tenon/ops/linear/linear.hpp>

namespace tenon::cuda {

/// y [samples, out] = x [samples, in] weight [out, in]
template <>
struct CudaStage<&linear::forward_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        constexpr Dims weight = graph::input_shape<C, node>(1);
        using P = tile::LinearForward<tile::Plain, static_cast<int>(weight[1]), static_cast<int>(weight[0])>;
        return tile_job<C, P, FloatSlots<input_slot, input_slot + 1>, ProgramEnding<DeviceEpilogue<C, S, 0>>>();
    }
};

/// dx [samples, in] = dy [samples, out] weight [out, in]
template <>
struct CudaStage<&linear::input_gradient_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        constexpr Dims weight = graph::input_shape<C, node>(1);
        using P = tile::LinearInputGradient<tile::Plain, static_cast<int>(weight[1]), static_cast<int>(weight[0])>;
        return tile_job<C, P, FloatSlots<input_slot, input_slot + 1>, ProgramEnding<DeviceEpilogue<C, S, 0>>>();
    }
};

/// dweight [out, in] from x [samples, in] and dy [samples, out]
template <>
struct CudaStage<&linear::weight_gradient_op> {
    template <class C, int S>
    static constexpr auto job() {
        constexpr Dims weight = graph::anchor_of<C, S>().shape;
        using P = tile::LinearWeightGradient<tile::Plain, tile::Plain, static_cast<int>(weight[1]), static_cast<int>(weight[0])>;
        return tile_job<C, P, FloatSlots<input_slot + 1, input_slot>, ProgramEnding<DeviceEpilogue<C, S, 0>>>();
    }
};

} // namespace tenon::cuda
