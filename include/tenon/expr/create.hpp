/// @file
/// Expressions that begin without a tensor: indices, random numbers, constants.
#pragma once

#include <tenon/expr/operators.hpp>
#include <tenon/expr/views.hpp>

namespace tenon {

/// 0, 1, 2, ... in the order of the elements of shape S; element type int64.
template <class S>
constexpr auto iota() {
    return expr::Iota<S>{};
}

/// Uniform random numbers in [0, 1), a float for each element of shape S: a function of source and place alone.
template <class S>
constexpr auto uniform(RandomSource const& source) {
    return expr::Uniform<S>{source};
}

/// Normal random numbers of mean 0 and variance 1, a float for each element of shape S (Box and Muller, Annals of
/// Mathematical Statistics 29, 1958). Uses steps `source.step` and `source.step + 2^31` of the source.
template <class S>
constexpr auto normal(RandomSource const& source) {
    RandomSource second = source;
    second.step ^= 0x80000000u;
    return sqrt(-2.0f * log1p(-uniform<S>(source))) * cos(6.28318530717958648f * uniform<S>(second));
}

/// The same number for each element of shape S.
template <class S, class T>
constexpr auto full(T value) {
    return broadcast_to<S>(expr::as_node(value));
}

} // namespace tenon
