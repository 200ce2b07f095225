/// @file
/// Stages that are pointwise work alone, on CUDA: four elements a thread.
#pragma once

#include <tenon/cuda/job.hpp>

namespace tenon::cuda {

namespace detail {
/// There is no anchor, and so no tile.
struct NoTile {
    template <class C, class Index>
    __device__ static float value(C const&, index_t, Index) {
        return 0;
    }
};
} // namespace detail

template <>
struct CudaStage<nullptr> {
    template <class C, int S>
    static constexpr auto job() {
        return ElementJob<usual_threads, C::layout.capacity, 4, detail::NoTile, DeviceEpilogue<C, S, 0>>{};
    }
};

} // namespace tenon::cuda
