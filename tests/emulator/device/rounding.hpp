/// @file
/// Rounding: the four directions, conversion of floats to integers, and arithmetic rounded otherwise than to nearest.
#pragma once

#include "bits.hpp"

#include <cmath>
#include <limits>

namespace emu {

enum class Rounding { nearest, zero, down, up, away };

template <class T>
inline T round_to_integer(Rounding mode, T a) {
    switch (mode) {
    case Rounding::nearest: return std::nearbyint(a);
    case Rounding::zero: return std::trunc(a);
    case Rounding::down: return std::floor(a);
    case Rounding::up: return std::ceil(a);
    case Rounding::away: return std::round(a);
    }
    return a;
}

/// Out of range gives the nearest integer of the type, NaN gives 0.
template <class Integer>
inline Integer to_integer(Rounding mode, double a) {
    double const value = round_to_integer(mode, a);
    if (std::isnan(value)) return 0;
    if (value <= static_cast<double>(std::numeric_limits<Integer>::min())) return std::numeric_limits<Integer>::min();
    if (value >= static_cast<double>(std::numeric_limits<Integer>::max())) return std::numeric_limits<Integer>::max();
    return static_cast<Integer>(value);
}

/// .rz, .rm and .rp forms: the CPU's rounding mode is switched for the one operation (execution/directed.cpp).
namespace directed {
float add(Rounding, float, float);
float sub(Rounding, float, float);
float mul(Rounding, float, float);
float div(Rounding, float, float);
float fma(Rounding, float, float, float);
float sqrt(Rounding, float);
float rcp(Rounding, float);
double add(Rounding, double, double);
double sub(Rounding, double, double);
double mul(Rounding, double, double);
double div(Rounding, double, double);
double fma(Rounding, double, double, double);
double sqrt(Rounding, double);
double rcp(Rounding, double);
float to_float(Rounding, double);
float to_float(Rounding, std::int64_t);
float to_float(Rounding, std::uint64_t);
double to_double(Rounding, std::int64_t);
double to_double(Rounding, std::uint64_t);

template <class To, class From>
inline To convert(Rounding mode, From value) {
    using Wide = std::conditional_t<std::is_floating_point_v<From>, double,
                                    std::conditional_t<std::is_signed_v<From>, std::int64_t, std::uint64_t>>;
    if constexpr (std::is_same_v<To, float>) return to_float(mode, static_cast<Wide>(value));
    else if constexpr (std::is_floating_point_v<From>) return static_cast<To>(value);
    else return to_double(mode, static_cast<Wide>(value));
}
} // namespace directed

/// cvt.*.tf32.f32: 10 bits of fraction are kept. A NaN stays one.
inline std::uint32_t to_tf32(Rounding mode, float a) {
    std::uint32_t const pattern = bits<std::uint32_t>(a);
    if (std::isnan(a) || std::isinf(a)) return pattern & 0xffffe000u;
    std::uint32_t const half = mode == Rounding::away      ? 0x1000u
                               : mode == Rounding::nearest ? 0xfffu + (pattern >> 13 & 1)
                                                           : 0;
    return (pattern + half) & 0xffffe000u;
}

} // namespace emu
