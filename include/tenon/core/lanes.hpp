/// @file
/// What the elementary functions need to know about the type that they compute on: a scalar, or a SIMD vector of
/// scalars (the compiler's vector extension). Host code only: nvcc refuses vector types in __host__ __device__
/// functions.
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
struct MaskOf {
    using type = decltype(std::declval<V>() < std::declval<V>());
};
template <class V>
    requires std::is_arithmetic_v<V>
struct MaskOf<V> { // clang as CUDA's compiler calls no function of the host, not even unevaluated
    using type = bool;
};
template <class V>
using mask_t = typename MaskOf<V>::type;

/// The number of elements in a scalar (1) or a vector.
template <class V>
inline constexpr int lanes_of = static_cast<int>(sizeof(V) / sizeof(element_t<V>));

namespace math {

/// V with its elements replaced by T.
template <class T, class V>
struct Rebind {
    typedef T type
        __attribute__((vector_size(sizeof(T) * static_cast<std::size_t>(lanes_of<V>)))); // `using` drops the attribute
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

/// Element by element conversion, as static_cast does it. By reference: compilers warn where a vector wider than a
/// register is passed by value.
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

/// A vector of half as many lanes.
template <class V>
struct HalfOf {
    typedef element_t<V> type __attribute__((vector_size(sizeof(V) / 2)));
};
template <class V>
using half_t = typename HalfOf<V>::type;

// Halves of 2 to 16 lanes by shuffles, since compilers move a vector that is bit-cast to a pair of halves through
// memory; each by itself, since g++ expands no pack in a built-in function.

/// Lanes 0 to n/2 - 1.
template <class V>
TENON_ALWAYS_INLINE half_t<V> lower_half(V const& v) {
    if constexpr (lanes_of<V> == 2) return __builtin_shufflevector(v, v, 0);
    else if constexpr (lanes_of<V> == 4) return __builtin_shufflevector(v, v, 0, 1);
    else if constexpr (lanes_of<V> == 8) return __builtin_shufflevector(v, v, 0, 1, 2, 3);
    else if constexpr (lanes_of<V> == 16) return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
}
/// Lanes n/2 to n - 1.
template <class V>
TENON_ALWAYS_INLINE half_t<V> upper_half(V const& v) {
    if constexpr (lanes_of<V> == 2) return __builtin_shufflevector(v, v, 1);
    else if constexpr (lanes_of<V> == 4) return __builtin_shufflevector(v, v, 2, 3);
    else if constexpr (lanes_of<V> == 8) return __builtin_shufflevector(v, v, 4, 5, 6, 7);
    else if constexpr (lanes_of<V> == 16) return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
}
/// The vector of which these are the halves.
template <class V>
TENON_ALWAYS_INLINE V join_halves(half_t<V> const& lower, half_t<V> const& upper) {
    if constexpr (lanes_of<V> == 2) return __builtin_shufflevector(lower, upper, 0, 1);
    else if constexpr (lanes_of<V> == 4) return __builtin_shufflevector(lower, upper, 0, 1, 2, 3);
    else if constexpr (lanes_of<V> == 8) return __builtin_shufflevector(lower, upper, 0, 1, 2, 3, 4, 5, 6, 7);
    else if constexpr (lanes_of<V> == 16)
        return __builtin_shufflevector(lower, upper, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

typedef std::int64_t TwoWords __attribute__((vector_size(16)));

/// Whether any lane of a mask is set.
template <class M>
TENON_ALWAYS_INLINE bool any(M const& mask) {
    if constexpr (std::is_arithmetic_v<M>) return mask != 0;
    else if constexpr (lanes_of<M> == 1) return mask[0] != 0;
    else if constexpr (lanes_of<M> == 2) return (mask[0] | mask[1]) != 0;
    else if constexpr (sizeof(M) > 16) return any(lower_half(mask) | upper_half(mask));
    else return any(__builtin_bit_cast(TwoWords, mask));
}

} // namespace math
} // namespace tenon
