/// @file
/// Floating-point instructions. Approximate ones are computed exactly and rounded: they are at least as good as a
/// GPU's.
#pragma once

#include "half.hpp"
#include "integer.hpp"

namespace emu {

template <class T>
inline constexpr bool is_half_format = is_small<T> || is_pair<T>;

template <class T>
inline bool unordered(T a, T b) {
    return std::isnan(static_cast<float>(a)) || std::isnan(static_cast<float>(b));
}
inline bool unordered(double a, double b) { return std::isnan(a) || std::isnan(b); }

/// .ftz: subnormal numbers become zeros of their sign.
inline float flush(float a) { return std::fabs(a) < std::numeric_limits<float>::min() ? std::copysign(0.0f, a) : a; }

/// .sat: [0, 1]; NaN becomes 0.
template <class T>
inline T saturate(T a) {
    if constexpr (is_half_format<T>) return in_double([](double x) { return x > 0 ? (x < 1 ? x : 1.0) : 0.0; }, a);
    else return a > 0 ? (a < 1 ? a : T{1}) : T{0};
}

/// .relu: NaN stays, negative numbers become 0.
template <class T>
inline T relu(T a) {
    if constexpr (is_half_format<T>) return in_double([](double x) { return x < 0 ? 0.0 : x; }, a);
    else return a < 0 ? T{0} : a;
}

/// .satfinite: infinities become the largest finite numbers.
template <class S>
inline S saturate_finite(S a) {
    return std::isinf(a.value()) ? S::of_bits((a.pattern & 0x8000u) | (S::infinity - 1u)) : a;
}

// ---- minimum and maximum: a NaN loses, and -0 is less than +0

template <class T>
inline bool is_less(T a, T b) {
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
}

template <class T>
inline T minimum(T a, T b) {
    if constexpr (is_half_format<T>) return in_double([](double x, double y) { return minimum(x, y); }, a, b);
    else if constexpr (std::is_floating_point_v<T>)
        return std::isnan(a) ? b : std::isnan(b) ? a : is_less(a, b) ? a : b;
    else return b < a ? b : a;
}

template <class T>
inline T maximum(T a, T b) {
    if constexpr (is_half_format<T>) return in_double([](double x, double y) { return maximum(x, y); }, a, b);
    else if constexpr (std::is_floating_point_v<T>)
        return std::isnan(a) ? b : std::isnan(b) ? a : is_less(a, b) ? b : a;
    else return a < b ? b : a;
}

template <class T>
inline T minimum_or_nan(T a, T b) { // min.NaN
    if constexpr (is_half_format<T>) return in_double([](double x, double y) { return minimum_or_nan(x, y); }, a, b);
    else return unordered(a, b) ? std::numeric_limits<T>::quiet_NaN() : minimum(a, b);
}

template <class T>
inline T maximum_or_nan(T a, T b) {
    if constexpr (is_half_format<T>) return in_double([](double x, double y) { return maximum_or_nan(x, y); }, a, b);
    else return unordered(a, b) ? std::numeric_limits<T>::quiet_NaN() : maximum(a, b);
}

template <class T>
inline T negate(T a) {
    if constexpr (is_small<T>) return T::of_bits(a.pattern ^ 0x8000u);
    else if constexpr (is_pair<T>) return bits<T>(a.pattern ^ 0x80008000u);
    else if constexpr (std::is_floating_point_v<T>) return -a;
    else return static_cast<T>(UnsignedOf<T>{0} - static_cast<UnsignedOf<T>>(a));
}

template <class T>
inline T absolute(T a) {
    if constexpr (is_small<T>) return T::of_bits(a.pattern & 0x7fffu);
    else if constexpr (is_pair<T>) return bits<T>(a.pattern & 0x7fff7fffu);
    else if constexpr (std::is_floating_point_v<T>) return std::fabs(a);
    else return a < 0 ? negate(a) : a;
}

template <class T>
inline T copy_sign(T sign, T magnitude) {
    return std::copysign(magnitude, sign);
}

namespace test {
template <class T>
inline bool finite(T a) {
    return std::isfinite(a);
}
template <class T>
inline bool infinite(T a) {
    return std::isinf(a);
}
template <class T>
inline bool number(T a) {
    return !std::isnan(a);
}
template <class T>
inline bool notanumber(T a) {
    return std::isnan(a);
}
template <class T>
inline bool normal(T a) {
    return std::isnormal(a);
}
template <class T>
inline bool subnormal(T a) {
    return std::fpclassify(a) == FP_SUBNORMAL;
}
} // namespace test

/// Rounded to nearest. Half formats go through double.
namespace operation {

#define EMU_OPERATION(NAME, PARAMETERS, ARGUMENTS, DOUBLES, EXPRESSION)                                                \
    template <class T>                                                                                                 \
    inline T NAME PARAMETERS {                                                                                         \
        if constexpr (is_half_format<T>) {                                                                             \
            return in_double([] DOUBLES -> double { return EXPRESSION; }, ARGUMENTS);                                  \
        } else {                                                                                                       \
            return EXPRESSION;                                                                                         \
        }                                                                                                              \
    }
#define EMU_COMMA ,
EMU_OPERATION(add, (T a, T b), a EMU_COMMA b, (double a, double b), a + b)
EMU_OPERATION(sub, (T a, T b), a EMU_COMMA b, (double a, double b), a - b)
EMU_OPERATION(mul, (T a, T b), a EMU_COMMA b, (double a, double b), a* b)
EMU_OPERATION(div, (T a, T b), a EMU_COMMA b, (double a, double b), a / b)
EMU_OPERATION(fma, (T a, T b, T c), a EMU_COMMA b EMU_COMMA c, (double a, double b, double c), std::fma(a, b, c))
EMU_OPERATION(sqrt, (T a), a, (double a), std::sqrt(a))
EMU_OPERATION(rcp, (T a), a, (double a), 1 / a)
EMU_OPERATION(rsqrt, (T a), a, (double a), 1 / std::sqrt(a))
EMU_OPERATION(ex2, (T a), a, (double a), std::exp2(a))
EMU_OPERATION(lg2, (T a), a, (double a), std::log2(a))
EMU_OPERATION(sin, (T a), a, (double a), std::sin(a))
EMU_OPERATION(cos, (T a), a, (double a), std::cos(a))
EMU_OPERATION(tanh, (T a), a, (double a), std::tanh(a))
#undef EMU_COMMA
#undef EMU_OPERATION

} // namespace operation

} // namespace emu
