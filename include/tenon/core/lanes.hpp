/// @file
/// What the elementary functions need to know about the type that they compute on: a scalar, or a SIMD vector of scalars
/// (the compiler's vector extension). Host code only: nvcc refuses vector types in __host__ __device__ functions.
#pragma once

#include <tenon/core/config.hpp>

#include <type_traits>
#include <utility>

namespace tenon {

/// The scalar that a scalar or a SIMD vector consists of.
template <class V>
struct ElementOf {
    using type = std::remove_cvref_t<decltype(std::declval<V&>()[0])>;
};
template <class V>
    requires std::is_arithmetic_v<V>
struct ElementOf<V> {
    using type = V;
};
template <class V>
using element_t = typename ElementOf<V>::type;

/// What a comparison of two V gives: bool, or a vector of 0 and -1 in integers as wide as V's elements.
template <class V>
using mask_t = decltype(std::declval<V>() < std::declval<V>());

/// The number of elements in a scalar (1) or a vector.
template <class V>
inline constexpr int lanes_of = static_cast<int>(sizeof(V) / sizeof(element_t<V>));

namespace math {

/// V with its elements replaced by T.
template <class T, class V>
struct Rebind {
    typedef T type __attribute__((vector_size(sizeof(T) * static_cast<std::size_t>(lanes_of<V>)))); // `using` drops the attribute
};
template <class T, class V>
    requires std::is_arithmetic_v<V>
struct Rebind<T, V> {
    using type = T;
};
template <class T, class V>
using rebind_t = typename Rebind<T, V>::type;

/// The same value in every lane.
template <class V>
TENON_ALWAYS_INLINE V all(element_t<V> value) {
    if constexpr (std::is_arithmetic_v<V>) return value;
    else return value - V{}; // V{} + value would turn -0 into 0
}

/// Element by element m ? a : b. Both values are computed by then: there is no branch.
template <class V>
TENON_ALWAYS_INLINE V choose(mask_t<V> m, V a, V b) {
    return m ? a : b;
}

/// Element by element conversion, as static_cast does it. By reference: compilers warn where a vector wider than a register is
/// passed by value.
template <class T, class V>
TENON_ALWAYS_INLINE rebind_t<T, V> convert(V const& v) {
    if constexpr (std::is_same_v<T, element_t<V>>) return v;
    else if constexpr (std::is_arithmetic_v<V>) return static_cast<T>(v);
    else return __builtin_convertvector(v, rebind_t<T, V>);
}

/// The same bits, seen as elements of T of the same width.
template <class T, class V>
TENON_ALWAYS_INLINE rebind_t<T, V> bits_as(V v) {
    return __builtin_bit_cast(rebind_t<T, V>, v);
}

/// f of each lane by itself: for functions that have no vector form.
template <class V, class F>
TENON_ALWAYS_INLINE V lane_by_lane(V v, F f) {
    if constexpr (std::is_arithmetic_v<V>) {
        return f(v);
    } else {
        for (int i = 0; i < lanes_of<V>; ++i) v[i] = f(v[i]);
        return v;
    }
}

/// The lower and the upper half of a vector.
template <class V>
struct Halves {
    typedef element_t<V> half __attribute__((vector_size(sizeof(V) / 2)));
    half low, high;
};

/// f of each half, joined: for computations in elements twice as wide, so that they still fill no more than a register.
template <class V, class F>
TENON_ALWAYS_INLINE V by_halves(V const& x, F f) {
    if constexpr (lanes_of<V> < 2) {
        return f(x);
    } else {
        Halves<V> const halves = __builtin_bit_cast(Halves<V>, x);
        return __builtin_bit_cast(V, (Halves<V>{f(halves.low), f(halves.high)}));
    }
}
template <class V, class F>
TENON_ALWAYS_INLINE V by_halves(V const& x, V const& y, F f) {
    if constexpr (lanes_of<V> < 2) {
        return f(x, y);
    } else {
        Halves<V> const a = __builtin_bit_cast(Halves<V>, x), b = __builtin_bit_cast(Halves<V>, y);
        return __builtin_bit_cast(V, (Halves<V>{f(a.low, b.low), f(a.high, b.high)}));
    }
}

} // namespace math
} // namespace tenon
