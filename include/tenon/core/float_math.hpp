/// @file
/// Elementary functions in single precision without a branch, so that they run on SIMD vectors under any compiler and
/// any flags: V is float or a vector of floats. NaN, infinities, signed zeros and denormal numbers come out as in C;
/// errors are at most a few units in the last place (tests/core/math_test.cpp holds the bounds). Host code only;
/// core/math.hpp is the door.
///
/// The polynomials are weighted minimax fits made for this file; the reductions are the textbook ones
/// (Muller, "Elementary Functions", 3rd edition, chapters 11 and 13).
#pragma once

#include <tenon/core/lanes.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace tenon::math::single {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Adding and subtracting it rounds |x| < 2^22 to the nearest integer, ties to even; the sum's low bits hold that
/// integer.
inline constexpr float rounder = 0x1.8p23f;
inline constexpr std::int32_t rounder_bits = 0x4B400000;

/// c0 + c1 x + c2 x^2 + ...
template <class V>
TENON_ALWAYS_INLINE V polynomial(V, element_t<V> c0) {
    return all<V>(c0);
}
template <class V, class... C>
TENON_ALWAYS_INLINE V polynomial(V x, element_t<V> c0, C... c) {
    return c0 + x * polynomial(x, c...);
}

template <class V>
TENON_ALWAYS_INLINE V magnitude(V x) {
    return bits_as<float>(bits_as<std::int32_t>(x) & 0x7FFFFFFF);
}

/// |x| with the sign of s.
template <class V>
TENON_ALWAYS_INLINE V with_sign(V x, V s) {
    return bits_as<float>((bits_as<std::int32_t>(x) & 0x7FFFFFFF) | (bits_as<std::int32_t>(s) & ~0x7FFFFFFF));
}

/// To the nearest integer, ties to even; keeps the sign of zero.
template <class V>
TENON_ALWAYS_INLINE V round(V x) {
    V const shift = with_sign(all<V>(0x1p23f), x); // beyond 2^23 every float is an integer
    V const rounded = with_sign((x + shift) - shift, x);
    return choose<V>(magnitude(x) < 0x1p23f, rounded, x);
}

template <class V>
TENON_ALWAYS_INLINE V floor(V x) {
    V const near = round(x);
    return choose<V>(near > x, near - 1.0f, near);
}

template <class V>
TENON_ALWAYS_INLINE V ceil(V x) {
    V const near = round(x);
    return choose<V>(near < x, with_sign(near + 1.0f, x), near);
}

/// x = n ln 2 + r with |r| <= ln 2 / 2, for |x| <= 200.
template <class V>
struct Reduced {
    rebind_t<std::int32_t, V> n;
    V r;
};
template <class V>
TENON_ALWAYS_INLINE Reduced<V> reduce_by_log2(V x) {
    V const shifted = x * 0x1.715476p0f + rounder;
    V const n = shifted - rounder;
    V const r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f; // ln 2 in 15 bits and the rest: n * high is exact
    return {bits_as<std::int32_t>(shifted) - rounder_bits, r};
}

/// exp(r) - 1 for |r| <= ln 2 / 2
template <class V>
TENON_ALWAYS_INLINE V expm1_reduced(V r) {
    return r + r * r * polynomial(r, 0.5f, 0.166665122f, 0.0416661873f, 0.00836959947f, 0.00139516767f);
}

/// 2^n for -126 <= n <= 127
template <class V>
TENON_ALWAYS_INLINE V power_of_two(rebind_t<std::int32_t, V> n) {
    return __builtin_bit_cast(V, (n + 127) << 23);
}

/// x 2^n, rounded once, for |n| <= 252
template <class V>
TENON_ALWAYS_INLINE V scale(V x, rebind_t<std::int32_t, V> n) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) {
        V scaled;
        V const power = convert<float>(n);
        asm("vscalefps {%2, %1, %0|%0, %1, %2}" : "=v"(scaled) : "v"(x), "v"(power));
        return scaled;
    }
#endif
    auto const half = n >> 1; // 2^n in two factors: neither overflows, and a denormal result is rounded once
    return x * power_of_two<V>(half) * power_of_two<V>(n - half);
}

template <class V>
TENON_ALWAYS_INLINE V exp(V x) {
    x = choose<V>(x > 89.0f, all<V>(89.0f), x); // overflows as the product below does
    x = choose<V>(x < -104.0f, all<V>(-104.0f), x);
    auto const [n, r] = reduce_by_log2(x);
    return scale(1.0f + expm1_reduced(r), n);
}

template <class V>
TENON_ALWAYS_INLINE V expm1(V x) {
    x = choose<V>(x > 89.0f, all<V>(89.0f), x);
    x = choose<V>(x < -30.0f, all<V>(-30.0f), x);
    auto const [n, r] = reduce_by_log2(x);
    V const p = expm1_reduced(r);
    V const scale = power_of_two<V>(n - 1); // 2^128 is no float, 2^127 is
    return choose<V>(n == 0, choose<V>(x == 0.0f, x, p), (scale * p + (scale - 0.5f)) * 2.0f);
}

template <class V>
TENON_ALWAYS_INLINE V log(V x) {
    auto const tiny = x < (std::numeric_limits<float>::min)();
    V const normal = choose<V>(tiny, x * 0x1p23f, x);
    auto const bits = bits_as<std::uint32_t>(normal); // unsigned: it wraps round where x is negative
    auto const power = bits_as<std::int32_t>(bits - 0x3F3504F3u) >> 23; // the mantissa goes to [sqrt(1/2), sqrt(2))
    V const mantissa = bits_as<float>(bits - (bits_as<std::uint32_t>(power) << 23));
    V const exponent = (bits_as<float>(power + rounder_bits) - rounder) - choose<V>(tiny, all<V>(23.0f), V{});
    V const f = mantissa - 1.0f;
    V const tail = f * f * f *
                   polynomial(f, 0.333333135f, -0.250000089f, 0.200021192f, -0.166679949f, 0.142195448f, -0.124056041f,
                              0.118882276f, -0.116755798f, 0.0674640983f);
    V result = exponent * 0x1.62e4p-1f + (f + (exponent * 0x1.7f7d1cp-20f + (tail - 0.5f * f * f)));
    result = choose<V>(x < infinity, result, x); // infinity and NaN stay
    result = choose<V>(x > 0.0f, result, choose<V>(x == 0.0f, all<V>(-infinity), all<V>(not_a_number)));
    return choose<V>(x != x, x, result);
}

template <class V>
TENON_ALWAYS_INLINE V log1p(V x) {
    V const u = 1.0f + x;
    V const lost = x - (u - 1.0f); // what rounding 1 + x threw away
    V const corrected = log(u) + lost / choose<V>(u > 0.0f, u, all<V>(1.0f));
    return choose<V>(u == 1.0f, x, choose<V>(u < infinity, corrected, u));
}

template <class V>
TENON_ALWAYS_INLINE V tanh(V x) {
    V const z = x * x;
    V const small =
        x + x * z * polynomial(z, -0.333332777f, 0.133313283f, -0.0537292138f, 0.0206019599f, -0.00566074206f);
    V const t = magnitude(x);
    V const large = 1.0f - 2.0f / (exp(t + t) + 1.0f);
    return with_sign(choose<V>(t < 0.625f, small, choose<V>(x == x, large, x)), x);
}

template <class V>
TENON_ALWAYS_INLINE V sigmoid(V x) {
    V const e = exp(-magnitude(x)); // never overflows
    return choose<V>(x < 0.0f, e, choose<V>(x == x, all<V>(1.0f), x)) / (1.0f + e);
}

template <class V>
TENON_ALWAYS_INLINE V erf(V x) {
    V const t = magnitude(x);
    V const z = x * x;
    V const small = x + x * polynomial(z, 0.128379151f, -0.376124978f, 0.112818427f, -0.0267670732f, 0.00499323849f,
                                       -0.000598858285f);
    V const bounded = choose<V>(t > 4.0f, all<V>(4.0f), t); // erf(4) is 1 in float
    V const minus_log_erfc = bounded * polynomial(bounded, 1.1285522f, 0.635623276f, 0.105266772f, -0.022678595f,
                                                  0.00293301139f, -5.06545402e-05f, -4.53652065e-05f, 4.92000936e-06f);
    V const large = with_sign(1.0f - exp(-minus_log_erfc), x);
    return choose<V>(t < 0.92f, small, choose<V>(x == x, large, x));
}

} // namespace tenon::math::single
