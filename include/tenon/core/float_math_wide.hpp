/// @file
/// sin, cos and pow in single precision: those elementary functions whose reduction needs double precision inside.
/// As core/float_math.hpp otherwise: V is float or a vector of floats, host code only.
#pragma once

#include <tenon/core/float_math.hpp>

namespace tenon::math::single {

/// Adding it leaves the nearest integer in the low bits of a double.
inline constexpr double wide_rounder = 0x1.8p52;
inline constexpr std::int64_t wide_rounder_bits = 0x4338000000000000;

/// Above it the reduction below has too few bits; each such lane goes through the C library.
inline constexpr float trigonometry_limit = 0x1p22f;

/// x = quadrant * pi/2 + r with |r| <= pi/4; quadrant in 0 to 3.
template <class V>
struct Angle {
    rebind_t<std::int32_t, V> quadrant;
    V r;
};
template <class V>
TENON_ALWAYS_INLINE Angle<V> reduce_few(V const& x) {
    using W = rebind_t<double, V>;
    W const wide = convert<double>(x);
    W const shifted = wide * 0.63661977236758134308 + wide_rounder;
    W const n = shifted - wide_rounder;
    W const r = (wide - n * 0x1.921fb5p0) - n * 0x1.110b4611a6263p-26; // pi/2 in 25 bits and the rest
    return {convert<std::int32_t>(bits_as<std::int64_t>(shifted) & 3), convert<float>(r)};
}
/// By halves, since a register holds half as many doubles.
template <class V>
TENON_ALWAYS_INLINE Angle<V> reduce_by_half_pi(V const& x) {
    if constexpr (lanes_of<V> < 4) {
        return reduce_few(x);
    } else {
        auto const lower = reduce_few(lower_half(x)), upper = reduce_few(upper_half(x));
        return {join_halves<rebind_t<std::int32_t, V>>(lower.quadrant, upper.quadrant),
                join_halves<V>(lower.r, upper.r)};
    }
}

/// The C library's function of each lane that is beyond the limit, in double. Out of line: hardly ever called.
template <class V>
TENON_NEVER_INLINE V fix_lanes_beyond_limit(V x, V y, double (*function)(double)) {
    if constexpr (std::is_arithmetic_v<V>) {
        return static_cast<V>(function(static_cast<double>(x)));
    } else {
        for (int i = 0; i < lanes_of<V>; ++i)
            if (!(std::fabs(x[i]) < trigonometry_limit)) y[i] = static_cast<float>(function(static_cast<double>(x[i])));
        return y;
    }
}

/// Sine (of quadrant_shift 0) or cosine (1): a polynomial in r for the sine where the quadrant is even, for the cosine
/// where it is odd; negative in quadrants 2 and 3.
template <class V>
TENON_ALWAYS_INLINE V sine(V x, std::int32_t quadrant_shift, double (*function)(double)) {
    auto const [from_zero, r] = reduce_by_half_pi(x);
    auto const quadrant = from_zero + quadrant_shift;
    V const z = r * r;
    V const odd = r + r * z * polynomial(z, -0.166666672f, 0.00833332911f, -0.000198393158f, 2.71812132e-06f);
    V const even = 1.0f - 0.5f * z + z * z * polynomial(z, 0.0416666456f, -0.00138873525f, 2.44366565e-05f);
    V const value = choose<V>((quadrant & 1) != 0, even, odd);
    V const y = bits_as<float>(bits_as<std::int32_t>(value) ^ ((quadrant & 2) << 30));
    if (any(!(magnitude(x) < trigonometry_limit))) [[unlikely]] return fix_lanes_beyond_limit<V>(x, y, function);
    return y;
}

template <class V>
TENON_ALWAYS_INLINE V sin(V x) {
    return choose<V>(x == 0.0f, x, sine(x, 0, [](double wide) { return std::sin(wide); }));
}

template <class V>
TENON_ALWAYS_INLINE V cos(V x) {
    return sine(x, 1, [](double wide) { return std::cos(wide); });
}

/// base^y for base >= 0
template <class V>
TENON_ALWAYS_INLINE V power_of_magnitude(V const& base, V const& y) {
    using W = rebind_t<double, V>;
    constexpr double wide_infinity = std::numeric_limits<double>::infinity();
    W const wide = convert<double>(base);
    auto const bits = bits_as<std::int64_t>(wide);
    auto const shifted = bits - 0x3FE6A09E667F3BCD; // sqrt(1/2): the mantissa goes to [sqrt(1/2), sqrt(2))
    W const mantissa = __builtin_bit_cast(W, bits - ((shifted >> 52) << 52));
    W const exponent = __builtin_bit_cast(W, (shifted >> 52) + wide_rounder_bits) - wide_rounder;
    W const s = (mantissa - 1.0) / (mantissa + 1.0);
    W log2_base = exponent + s * polynomial(s * s, 2.88539008177792731, 0.961796693924318514, 0.577078017252692019,
                                            0.412198401125452064, 0.320616448616380782, 0.261442422346193264,
                                            0.242936779338023568);
    log2_base = choose<W>(wide < wide_infinity, log2_base, wide); // infinity and NaN stay
    log2_base = choose<W>(wide == 0.0, all<W>(-wide_infinity), log2_base);

    W t = convert<double>(y) * log2_base;
    t = choose<W>(t > 140.0, all<W>(140.0), t); // past the range of float on both sides, within that of double
    t = choose<W>(t < -160.0, all<W>(-160.0), t);
    W const near = t + wide_rounder;
    W const f = t - (near - wide_rounder);
    W const fraction = polynomial(f, 1.00000000000002694, 0.693147180545930771, 0.240226506954680959,
                                  0.0555041094121452087, 0.00961812922838288874, 0.00133334505611300797,
                                  0.000154034117042440987, 0.0000153100809727042369, 1.32640546346449537e-6);
    W const scale = __builtin_bit_cast(W, ((bits_as<std::int64_t>(near) - wide_rounder_bits) + 1023) << 52);
    return convert<float>(fraction * scale);
}

/// x^y with C's rules for zeros, infinities, NaN and negative x.
template <class V>
TENON_ALWAYS_INLINE V pow(V x, V y) {
    V const base = magnitude(x);
    V result = base;
    if constexpr (lanes_of<V> < 4) result = power_of_magnitude(base, y);
    else
        result = join_halves<V>(power_of_magnitude(lower_half(base), lower_half(y)),
                                power_of_magnitude(upper_half(base), upper_half(y)));
    auto const both = [](auto m, auto n) { return m & n; };
    auto const whole = floor(y) == y;
    auto const odd = both(whole, floor(0.5f * y) != 0.5f * y);
    result = choose<V>(both(base == 1.0f, y == y), all<V>(1.0f), result); // (+-1)^(+-infinity)
    result = choose<V>(both(bits_as<std::int32_t>(x) < 0, odd), -result, result);
    result = choose<V>(both(both(x < 0.0f, base < infinity), floor(y) != y), all<V>(not_a_number), result);
    result = choose<V>(y == 0.0f, all<V>(1.0f), result); // even where the other is NaN
    return choose<V>(x == 1.0f, all<V>(1.0f), result);
}

} // namespace tenon::math::single
