/// @file
/// The 16-bit float formats, alone and in pairs. Arithmetic is done in double and rounded once.
#pragma once

#include "rounding.hpp"

namespace emu {

/// A float of 1 + ExponentBits + FractionBits = 16 bits.
template <int ExponentBits, int FractionBits>
struct SmallFloat {
    static constexpr int bias = (1 << (ExponentBits - 1)) - 1;
    static constexpr std::uint16_t infinity = ((1 << ExponentBits) - 1) << FractionBits;
    static constexpr std::uint16_t nan = 0x7fff; // the NaN that a GPU makes

    std::uint16_t pattern = 0;

    SmallFloat() = default;
    explicit SmallFloat(float value) : SmallFloat(from(value, Rounding::nearest)) {}

    static SmallFloat of_bits(std::uint32_t bits) {
        SmallFloat result;
        result.pattern = static_cast<std::uint16_t>(bits);
        return result;
    }

    /// Rounded to nearest, ties to even, or towards zero.
    static SmallFloat from(double value, Rounding mode) {
        std::uint64_t const image = bits<std::uint64_t>(value);
        std::uint32_t const sign = static_cast<std::uint32_t>(image >> 63) << 15;
        int const exponent = static_cast<int>(image >> 52 & 0x7ff) - 1023;
        if (std::isnan(value)) return of_bits(nan);
        if (exponent > bias)
            return of_bits(sign | (std::isinf(value) || mode != Rounding::zero ? infinity : infinity - 1));
        // Bits that are dropped: more of them below the smallest normal number.
        int const dropped = 52 - FractionBits + (exponent < 1 - bias ? 1 - bias - exponent : 0);
        if (exponent == -1023 || dropped > 54) return of_bits(sign);
        std::uint64_t const significand = (image & 0xfffffffffffffull) | 1ull << 52;
        std::uint64_t kept = significand >> dropped;
        std::uint64_t const rest = significand & ((1ull << dropped) - 1), middle = 1ull << (dropped - 1);
        if (mode == Rounding::nearest && (rest > middle || (rest == middle && (kept & 1)))) ++kept;
        // Adding the significand, its leading 1 included, to the exponent lets a carry raise the exponent by itself.
        std::uint32_t const base =
            exponent < 1 - bias ? 0 : static_cast<std::uint32_t>(exponent + bias - 1) << FractionBits;
        return of_bits(sign | static_cast<std::uint32_t>(base + kept));
    }

    float value() const {
        std::uint32_t const sign = std::uint32_t{pattern} << 16 & 0x80000000u;
        std::uint32_t const exponent = pattern >> FractionBits & ((1 << ExponentBits) - 1),
                            fraction = pattern & ((1 << FractionBits) - 1);
        if (exponent == (1 << ExponentBits) - 1)
            return bits<float>(sign | 0x7f800000u | fraction << (23 - FractionBits));
        if (exponent == 0) {
            float const magnitude = std::ldexp(static_cast<float>(fraction), 1 - bias - FractionBits);
            return sign ? -magnitude : magnitude;
        }
        return bits<float>(sign | (exponent + 127 - bias) << 23 | fraction << (23 - FractionBits));
    }
    operator float() const { return value(); }
};

using Half = SmallFloat<5, 10>;
using Bfloat = SmallFloat<8, 7>;

template <class S>
inline constexpr bool is_small = false;
template <int E, int F>
inline constexpr bool is_small<SmallFloat<E, F>> = true;

/// Two of them in a 32-bit register, the first in the low half.
template <class S>
struct Pair {
    std::uint32_t pattern = 0;

    Pair() = default;
    static Pair join(S low, S high) {
        Pair pair;
        pair.pattern = std::uint32_t{low.pattern} | std::uint32_t{high.pattern} << 16;
        return pair;
    }
    /// 1.0 or 0.0 in each half: what set.*.f16x2.f16x2 returns.
    static Pair flags(bool low, bool high) { return join(S{low ? 1.0f : 0.0f}, S{high ? 1.0f : 0.0f}); }

    S low() const { return S::of_bits(pattern & 0xffff); }
    S high() const { return S::of_bits(pattern >> 16); }
};

using Half2 = Pair<Half>;
using Bfloat2 = Pair<Bfloat>;

template <class S>
inline constexpr bool is_pair = false;
template <class S>
inline constexpr bool is_pair<Pair<S>> = true;

/// Applies a function of doubles to a small float, or to both halves of a pair.
template <class Function, class First, class... Rest>
inline First in_double(Function function, First first, Rest... rest) {
    if constexpr (is_pair<First>)
        return First::join(in_double(function, first.low(), rest.low()...),
                           in_double(function, first.high(), rest.high()...));
    else
        return First::from(function(static_cast<double>(first.value()), static_cast<double>(rest.value())...),
                           Rounding::nearest);
}

} // namespace emu
