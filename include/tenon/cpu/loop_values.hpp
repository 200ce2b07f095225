/// @file
/// The values of a program while it runs: in registers, as numbers or as masks, scalars or vectors.
#pragma once

#include <tenon/cpu/random.hpp>
#include <tenon/expr/functions.hpp>

namespace tenon::cpu {
namespace loop {

/// The value of step I while it is in registers.
template <int I, class T>
struct Slot {
    T value;
};
template <class T, class P, class Steps>
struct FrameOf;
template <class T, class P, int... I>
struct FrameOf<T, P, std::integer_sequence<int, I...>> {
    struct type : Slot<I, result_t<P::step(I).fn, T>>... {};
};
/// All values of a program P evaluated on T.
template <class T, class P>
using Frame = typename FrameOf<T, P, std::make_integer_sequence<int, P::size>>::type;

template <int I, class T>
TENON_ALWAYS_INLINE T& slot(Slot<I, T>& s) {
    return s.value;
}

/// Lanes of Compute: the scalar itself for one lane.
template <class Compute, int Lanes>
struct LanesOf {
    using type = Vec<Compute, Lanes>;
};
template <class Compute>
struct LanesOf<Compute, 1> {
    using type = Compute;
};
template <class Compute, int Lanes>
using lanes_t = typename LanesOf<Compute, Lanes>::type;

/// How an element is read and written: bool as the byte that it is.
template <class T>
using stored_t = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class V, class M>
TENON_ALWAYS_INLINE V as_value(M v) {
    if constexpr (std::is_same_v<M, V>) return v;
    else return math::choose<V>(v, math::all<V>(1), V{});
}
template <class V, class M>
TENON_ALWAYS_INLINE mask_t<V> as_mask(M v) {
    if constexpr (std::is_same_v<M, mask_t<V>>) return v;
    else return v != V{};
}

/// A scalar, value or mask, in every lane.
template <class V, class S>
TENON_ALWAYS_INLINE auto spread(S scalar) {
    if constexpr (std::is_arithmetic_v<V>) return scalar;
    else if constexpr (std::is_same_v<S, bool>) return mask_t<V>{} - static_cast<element_t<mask_t<V>>>(scalar);
    else return scalar - V{}; // V{} + scalar would turn -0 into 0
}

/// base, base + step, base + 2 step, ... as Compute; exact in 64 bits before it is converted
template <class Compute, int Lanes, index_t... Lane>
TENON_ALWAYS_INLINE lanes_t<Compute, Lanes> linear_indices(index_t base, index_t step,
                                                           std::integer_sequence<index_t, Lane...>) {
    if constexpr (Lanes == 1) {
        return static_cast<Compute>(base);
    } else {
        Vec<index_t, Lanes> const indices = Vec<index_t, Lanes>{Lane...} * step + base;
        return math::convert<Compute>(indices);
    }
}

/// Uniform random numbers of the elements base, base + Step, ...
template <int Lanes, index_t Step>
TENON_ALWAYS_INLINE lanes_t<float, Lanes> uniform_lanes(RandomSource const& source, index_t base) {
    if constexpr (Lanes == 1) {
        return uniform(source, static_cast<std::uint64_t>(base));
    } else {
        Vec<float, Lanes> v;
        if constexpr (Step == 1 && Lanes % 4 == 0) {
            uniform_row<Lanes>(source, static_cast<std::uint64_t>(base), reinterpret_cast<float*>(&v));
        } else {
            for (int i = 0; i < Lanes; ++i) v[i] = uniform(source, static_cast<std::uint64_t>(base + i * Step));
        }
        return v;
    }
}

} // namespace loop
} // namespace tenon::cpu
