/// @file
/// What a load makes of an element: the hooks with which neighbouring pointwise work rides on the loads of a product.
///
/// An Element has
///     struct or pointer Args, passed by value to the kernel;
///     Raw, what waits in registers while the copy is under way;
///     static constexpr bool direct: the floats lie in memory as they are needed, and are copied without passing through registers
///         (then Args is float const*);
///     static Raw fetch(Args, index_t offset): issues the loads; offset counts elements of the tensor;
///     static float value(Args, Raw, int tap): what enters the product. tap is the element's place in its pooling window where the
///         index map has windows, else 0;
///     static int note(index_t offset), or none: added to the tap, for what value() must know of the offset.
/// Padding is zero, whatever the element.
#pragma once

#include <tenon/core/config.hpp>

#include <cuda_runtime.h>

namespace tenon::cuda::tile {

/// Floats as they are.
struct Plain {
    using Args = float const*;
    using Raw = float;
    static constexpr bool direct = true;
    __device__ static Raw fetch(Args const& data, index_t offset) { return __ldg(data + offset); }
    __device__ static float value(Args const&, Raw raw, int) { return raw; }
};

/// Bytes, normalised: images stay bytes in memory.
struct Normalized {
    struct Args {
        std::uint8_t const* data;
        float scale, shift; ///< value = byte * scale + shift
    };
    using Raw = std::uint8_t;
    static constexpr bool direct = false;
    __device__ static Raw fetch(Args const& a, index_t offset) { return __ldg(a.data + offset); }
    __device__ static float value(Args const& a, Raw raw, int) { return fmaf(static_cast<float>(raw), a.scale, a.shift); }
};

/// The gradient behind a relu: dy where y > 0. NaN in y lets dy pass, as in PyTorch.
struct ReluMasked {
    struct Args {
        float const* dy;
        float const* y;
    };
    struct Raw {
        float dy, y;
    };
    static constexpr bool direct = false;
    __device__ static Raw fetch(Args const& a, index_t offset) { return {__ldg(a.dy + offset), __ldg(a.y + offset)}; }
    __device__ static float value(Args const&, Raw raw, int) { return raw.y <= 0 ? 0.0f : raw.dy; }
};

/// The gradient behind a max-pool: dy at the tap that won. Offsets count windows.
struct Unpooled {
    struct Args {
        float const* dy;
        std::uint8_t const* index;
    };
    struct Raw {
        float dy;
        std::uint8_t index;
    };
    static constexpr bool direct = false;
    __device__ static Raw fetch(Args const& a, index_t offset) { return {__ldg(a.dy + offset), __ldg(a.index + offset)}; }
    __device__ static float value(Args const&, Raw raw, int tap) { return raw.index == tap ? raw.dy : 0.0f; }
};

/// The same where the winning taps are below 4 and lie four in a byte (graph::Dtype::u2).
struct PackedUnpooled {
    using Args = Unpooled::Args;
    using Raw = Unpooled::Raw; ///< with the whole byte
    static constexpr bool direct = false;
    __device__ static Raw fetch(Args const& a, index_t offset) { return {__ldg(a.dy + offset), __ldg(a.index + (offset >> 2))}; }
    __device__ static int note(index_t offset) { return (static_cast<int>(offset) & 3) << 3; } // four times the place of its two bits
    __device__ static float value(Args const&, Raw raw, int tap) { return (((raw.index >> (tap >> 2)) ^ tap) & 3) == 0 ? raw.dy : 0.0f; }
};

/// The gradient behind relu and max-pool: both of the above; y is the pooled activation.
struct ReluUnpooled {
    struct Args {
        float const* dy;
        float const* y;
        std::uint8_t const* index;
    };
    struct Raw {
        float dy, y;
        std::uint8_t index;
    };
    static constexpr bool direct = false;
    __device__ static Raw fetch(Args const& a, index_t offset) { return {__ldg(a.dy + offset), __ldg(a.y + offset), __ldg(a.index + offset)}; }
    __device__ static float value(Args const&, Raw raw, int tap) { return raw.index != tap || raw.y <= 0 ? 0.0f : raw.dy; }
};

} // namespace tenon::cuda::tile
