/// @file
/// What happens to finished sums: the interface, and the simplest one.
///
/// An Epilogue has
///     struct Args, passed by value to the kernel;
///     template <int Count> static void apply(Args const&, Position, float const (&value)[Count]):
///         Count neighbouring elements of the result from `position` on. Count is a power of two, the first element's index a multiple of it;
/// and for products whose positions are Windowed (convolution.hpp), in place of apply,
///     template <int Count> static void apply_window(Args const&, Position, float const (&value)[Count]):
///         the Count positions of one pooling window, row by row; `position` is that of the pooled element.
/// One that keeps which of four positions was the largest, four windows in a byte, has apply_window return that number, and
///     static void store_taps(Args const&, Position, unsigned taps):
///         the lowest byte of `taps` for four windows of one plane, `position` being the first's. Planes are whole fours of windows then.
/// Nothing outside the result is asked for, nothing twice, and in no particular order.
#pragma once

#include <tenon/core/config.hpp>

#include <cuda_runtime.h>

namespace tenon::cuda::tile {

/// An element of the result.
struct Position {
    index_t sample; ///< 0 where the result has no samples: the gradient of weights
    int index;      ///< of the element in its sample: [channel, position], or [row, column] of a gradient
    int channel;    ///< the result's channel, or row of a gradient
    int size;       ///< elements of a sample
    [[nodiscard]] __device__ index_t offset() const { return sample * size + index; }
};

template <class Epilogue>
inline constexpr bool stores_taps = requires { &Epilogue::store_taps; };

/// Count floats in as few stores as can be; `to` is aligned to them, up to 16 bytes.
template <int Count>
__device__ inline void store_line(float* to, float const* value) {
    if constexpr (Count % 4 == 0) {
#pragma unroll
        for (int i = 0; i < Count; i += 4) *reinterpret_cast<float4*>(to + i) = make_float4(value[i], value[i + 1], value[i + 2], value[i + 3]);
    } else if constexpr (Count == 2) {
        *reinterpret_cast<float2*>(to) = make_float2(value[0], value[1]);
    } else {
        *to = value[0];
    }
}

/// The same for loads, of what other threads of the kernel may be changing elsewhere.
template <int Count>
__device__ inline void fetch_line(float* to, float const* from) {
    if constexpr (Count % 4 == 0) {
#pragma unroll
        for (int i = 0; i < Count; i += 4) {
            float4 const v = *reinterpret_cast<float4 const*>(from + i);
            to[i] = v.x, to[i + 1] = v.y, to[i + 2] = v.z, to[i + 3] = v.w;
        }
    } else if constexpr (Count == 2) {
        float2 const v = *reinterpret_cast<float2 const*>(from);
        to[0] = v.x, to[1] = v.y;
    } else {
        to[0] = *from;
    }
}

/// Stores the sums.
struct Store {
    using Args = float*;
    template <int Count>
    __device__ static void apply(Args const& to, Position const& position, float const (&value)[Count]) {
        store_line<Count>(to + position.offset(), value);
    }
};

} // namespace tenon::cuda::tile
