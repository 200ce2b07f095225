/// @file
/// Sums within a warp and within a block, in one order whatever the run: no atomics.
#pragma once

#include <tenon/core/config.hpp>

#include <cuda_runtime.h>

namespace tenon::cuda {

inline constexpr int warp_size = 32;
inline constexpr unsigned whole_warp = 0xFFFFFFFFu;

/// Number of the thread in its block, of the lane in its warp, of the warp in its block.
__device__ inline int thread_number() { return static_cast<int>(threadIdx.x); }
__device__ inline int lane_number() { return static_cast<int>(threadIdx.x) % warp_size; }
__device__ inline int warp_number() { return static_cast<int>(threadIdx.x) / warp_size; }

/// The value of the lane whose number differs by `mask`.
template <class T>
__device__ inline T shuffle_xor(T value, int mask) {
    return __shfl_xor_sync(whole_warp, value, mask);
}

/// The sum over a warp, in every lane: pairs 16 apart, then 8, 4, 2, 1. All 32 lanes must call it.
template <class T>
__device__ inline T warp_sum(T value) {
#pragma unroll
    for (int distance = warp_size / 2; distance > 0; distance /= 2) value += shuffle_xor(value, distance);
    return value;
}

/// The sum over a block of `Threads`, in every thread. `shared` holds a T for each warp; all threads must call it.
template <int Threads, class T>
__device__ inline T block_sum(T value, T* shared) {
    static_assert(Threads % warp_size == 0 && Threads <= 1024, "tenon: a block is whole warps");
    value = warp_sum(value);
    __syncthreads(); // whoever used `shared` before is done
    if (lane_number() == 0) shared[warp_number()] = value;
    __syncthreads();
    T total = shared[0];
#pragma unroll
    for (int warp = 1; warp < Threads / warp_size; ++warp) total += shared[warp];
    return total;
}

/// A number that another block wrote before a fence: from the cache that all multiprocessors share, past their own.
__device__ inline float load_shared_by_blocks(float const* global) {
    float value;
    asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(__cvta_generic_to_global(global)) : "memory");
    return value;
}

} // namespace tenon::cuda
