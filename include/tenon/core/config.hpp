/// @file
/// What the compiler offers, under names of our own. Nothing here allocates, includes much or depends on a target.
#pragma once

#if !defined(__cplusplus) || (__cplusplus < 202002L && !defined(_MSVC_LANG))
#error "tenon needs C++20: compile with -std=c++20 or later"
#endif

#include <cstddef>
#include <cstdint>

/// Marks a function that runs on the host and, under nvcc, also on the device.
#if defined(__CUDACC__)
#define TENON_HOST_DEVICE __host__ __device__
#else
#define TENON_HOST_DEVICE
#endif

namespace tenon {

/// Does this pass of nvcc make device code alone? What it compiles for the host is thrown away.
#if defined(__CUDA_ARCH__)
inline constexpr bool in_device_pass = true;
#else
inline constexpr bool in_device_pass = false;
#endif

} // namespace tenon

/// Inlines where the optimiser alone would not: the register tiles of the CPU kernels depend on it.
#if defined(__GNUC__)
#define TENON_ALWAYS_INLINE [[gnu::always_inline]] inline
#if defined(__clang__)
#define TENON_NEVER_INLINE [[gnu::noinline]]
#else
#define TENON_NEVER_INLINE [[gnu::noinline, gnu::noclone]]
#endif
/// Runs once or never: compiled for size, which also compiles faster.
#define TENON_COLD [[gnu::cold]]
#define TENON_RESTRICT __restrict__
#else
#define TENON_ALWAYS_INLINE inline
#define TENON_NEVER_INLINE
#define TENON_COLD
#define TENON_RESTRICT
#endif

namespace tenon {

/// Sizes, strides and indices: signed, so that differences are safe, and 64 bits wide, so that large tensors fit.
using index_t = std::int64_t;

} // namespace tenon
