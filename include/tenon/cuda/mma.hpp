/// @file
/// The instructions that CUDA C++ has no name for, one small function each: asynchronous copies to shared memory, matrix loads
/// and tensor-core products. Semantics and register layouts: PTX ISA, "Warp-Level Matrix Instructions" and "cp.async"
/// (https://docs.nvidia.com/cuda/parallel-thread-execution/). A port to other hardware changes this file.
#pragma once

#include <tenon/core/config.hpp>

#include <cuda_runtime.h>

namespace tenon::cuda {

/// The compute capability that this pass compiles for, as 80 for 8.0; 0 in the host's pass, which compiles no instruction.
#if defined(__CUDA_ARCH__)
inline constexpr int architecture = __CUDA_ARCH__ / 10;
#else
inline constexpr int architecture = 0;
#endif

/// Whether this pass may use what compute capability `Needed` brought.
template <int Needed>
inline constexpr bool has_architecture = architecture == 0 || architecture >= Needed;

/// A shared-memory pointer as instructions take it.
__device__ inline std::uint32_t shared_address(void const* pointer) { return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer)); }

/// Starts a copy of `Bytes` (4, 8 or 16, both addresses aligned to them) from global to shared memory; writes zeros and reads
/// nothing where `inside` is false. Visible to the thread after commit and wait, to others after a barrier as well.
template <int Bytes, int Needed = 80>
__device__ inline void copy_async(void* shared, void const* global, bool inside) {
    static_assert(has_architecture<Needed>, "tenon: asynchronous copies need compute capability 8.0");
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
    int const bytes = inside ? Bytes : 0;
    if constexpr (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(shared)), "l"(global), "n"(Bytes), "r"(bytes) : "memory");
}

/// Closes the group of copies started since the last commit.
template <int Needed = 80>
__device__ inline void commit_copies() {
    static_assert(has_architecture<Needed>, "tenon: asynchronous copies need compute capability 8.0");
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Waits until at most `Pending` groups of this thread's copies are under way.
template <int Pending, int Needed = 80>
__device__ inline void wait_for_copies() {
    static_assert(has_architecture<Needed>, "tenon: asynchronous copies need compute capability 8.0");
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

/// The nearest tf32 (10 bits of mantissa, ties away from zero), in a float's bits.
template <int Needed = 80>
__device__ inline std::uint32_t to_tf32(float value) {
    static_assert(has_architecture<Needed>, "tenon: tf32 needs compute capability 8.0");
    std::uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return bits;
}

/// Two floats rounded to nearest bfloat16, `low` in the low half.
template <int Needed = 80>
__device__ inline std::uint32_t to_bf16_pair(float low, float high) {
    static_assert(has_architecture<Needed>, "tenon: bfloat16 needs compute capability 8.0");
    std::uint32_t bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return bits;
}

/// d (16 x 8) += a (16 x 8) b (8 x 8) in tf32, by one warp. Lane l, with g = l / 4 and t = l % 4, holds
/// a: rows g, g + 8 of column t, then of column t + 4;  b: rows t, t + 4 of column g;
/// d: columns 2t, 2t + 1 of row g, then of row g + 8.
template <int Needed = 80>
__device__ inline void multiply_tf32(float& d0, float& d1, float& d2, float& d3, std::uint32_t const (&a)[4], std::uint32_t const (&b)[2]) {
    static_assert(has_architecture<Needed>, "tenon: tf32 needs compute capability 8.0");
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// d (16 x 8) += a (16 x 16) b (16 x 8) in bfloat16, by one warp. As multiply_tf32, each register of a and b holding two
/// neighbours along the sum: 2t, 2t + 1 in place of t, and 2t + 8, 2t + 9 in place of t + 4.
template <int Needed = 80>
__device__ inline void multiply_bf16(float& d0, float& d1, float& d2, float& d3, std::uint32_t const (&a)[4], std::uint32_t const (&b)[2]) {
    static_assert(has_architecture<Needed>, "tenon: bfloat16 needs compute capability 8.0");
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Four 8 x 8 matrices of 16-bit elements from shared memory; lane l gives the address of row l % 8 (16 bytes, aligned) of matrix
/// l / 8 and gets, of each matrix, the two elements 2t, 2t + 1 of row g.
template <int Needed = 75>
__device__ inline void load_matrices(std::uint32_t (&d)[4], void const* row) {
    static_assert(has_architecture<Needed>, "tenon: ldmatrix needs compute capability 7.5");
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]) : "r"(shared_address(row)) : "memory");
}

} // namespace tenon::cuda
