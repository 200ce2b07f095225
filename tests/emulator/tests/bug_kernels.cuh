// The kernels of bugs.cu: each with a planted bug (BUG = true, or its number) and without.
#pragma once

#include <cassert>
#include <cuda_runtime.h>

namespace {

constexpr int block = 64;

// ---- synchronisation inside a block

template <bool BUG>
__global__ void reverse(float const* x, float* y) {
    __shared__ float tile[block];
    tile[threadIdx.x] = x[blockIdx.x * block + threadIdx.x];
    if (!BUG) __syncthreads();
    y[blockIdx.x * block + threadIdx.x] = tile[block - 1 - threadIdx.x];
}

/// The barrier at the end of the loop is missing: the next round overwrites what is still being read.
template <bool BUG>
__global__ void sums(float const* x, float* y, int rounds) {
    __shared__ float tile[block];
    float sum = 0;
    for (int r = 0; r < rounds; ++r) {
        tile[threadIdx.x] = x[r * block + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < block; ++i) sum += tile[i];
        if (!BUG) __syncthreads();
    }
    y[threadIdx.x] = sum;
}

template <bool BUG>
__global__ void exchange_in_warp(float const* x, float* y) {
    __shared__ float tile[32];
    tile[threadIdx.x] = x[threadIdx.x];
    if (!BUG) __syncwarp();
    y[threadIdx.x] = tile[threadIdx.x ^ 1];
}

template <bool BUG>
__global__ void barrier_in_branch(float const* x, float* y) {
    __shared__ float tile[block];
    tile[threadIdx.x] = x[threadIdx.x];
    if (!BUG || threadIdx.x < 40) __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x] * 2;
    __syncthreads();
}

template <bool BUG>
__global__ void early_return(float const* x, float* y, int n) {
    __shared__ float tile[block];
    if (BUG && threadIdx.x >= n) return;
    tile[threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] : 0;
    __syncthreads();
    if (threadIdx.x < n) y[threadIdx.x] = tile[n - 1 - threadIdx.x];
}

// ---- warps

template <int BUG>
__global__ void warp_sum(float const* x, float* y) {
    int const lane = threadIdx.x;
    float sum = x[lane];
    for (int offset = 16; offset; offset /= 2)
        if (BUG != 1 || lane < 16) sum += __shfl_down_sync(~0u, sum, offset); // 1: all lanes named, half of them come
    if (BUG == 2 && lane < 16) sum = __shfl_sync(0xffff0000u, sum, 0);        // 2: names others than itself
    if (BUG == 3 && lane < 16) sum = __shfl_sync(0x0000ffffu, sum, 20);       // 3: reads a lane that is not there
    if (lane == 0) *y = sum;
}

// ---- addresses

template <bool BUG>
__global__ void global_index(float const* x, float* y, int n) {
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (BUG ? i <= n : i < n) y[i] = 2 * x[i];
}

/// BUG 1: reads past the end of the first array; 2: writes past the end of the second.
template <int BUG>
__global__ void shared_index(float const* x, float* y) {
    __shared__ float a[block], b[block];
    int const t = threadIdx.x;
    a[t] = x[t], b[t] = 1;
    __syncthreads();
    y[t] = a[t + (BUG == 1)] + b[t];
    __syncthreads();
    b[t + (BUG == 2)] = y[t];
    __syncthreads();
    y[t] = b[t];
}

template <bool BUG>
__global__ void dynamic_index(float const* x, float* y) {
    extern __shared__ float dynamic[];
    dynamic[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = dynamic[threadIdx.x + (BUG ? 1 : 0)];
}

__global__ void misaligned(float const* x, float* y) {
    float4 const v = *reinterpret_cast<float4 const*>(x + 1);
    *y = v.x + v.y + v.z + v.w;
}

__global__ void store(float* y) { *y = 1; }

// ---- races

template <bool BUG>
__global__ void histogram(int const* x, int* counts, int n) {
    __shared__ int bins[4];
    if (threadIdx.x < 4) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += block) {
        if (BUG) bins[x[i]] += 1;
        else atomicAdd(&bins[x[i]], 1);
    }
    __syncthreads();
    if (threadIdx.x < 4) counts[threadIdx.x] = bins[threadIdx.x];
}

template <bool BUG>
__global__ void total(int* sum) {
    if (threadIdx.x != 0) return;
    if (BUG) *sum += static_cast<int>(blockIdx.x);
    else atomicAdd(sum, static_cast<int>(blockIdx.x));
}

// ---- uninitialised memory

template <bool BUG>
__global__ void unwritten(float const* x, float* y) {
    __shared__ float tile[block];
    if (!BUG || threadIdx.x != 5) tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x ^ 7];
}

template <bool BUG>
__global__ void copy_without_wait(float const* x, float* y) {
    __shared__ __align__(16) float tile[block];
    int const t = threadIdx.x;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    auto const to = static_cast<unsigned>(__cvta_generic_to_shared(&tile[4 * t]));
    if (t < block / 4) asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + 4 * t) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (!BUG) asm volatile("cp.async.wait_group 0;" ::: "memory");
#else
    if (!BUG) tile[t] = x[t];
#endif
    __syncthreads();
    y[t] = tile[block - 1 - t];
}

// ---- faults

__global__ void fails(int what, int* flag) {
    assert(what != 1 || threadIdx.x != 3);
    if (what == 2 && threadIdx.x == 2) __trap();
    if (what == 3)
        while (*static_cast<int volatile*>(flag) == 0) __nanosleep(10);
}

} // namespace
