/// @file
/// Tensors of fresh numbers for tests.
#pragma once

#include <tenon/core/tensor.hpp>

#include <limits>
#include <random>

namespace tenon::test {

/// Uniform in [low, high], from a generator that starts where `seed` says.
template <class T, class S>
Tensor<T, S> random_tensor(unsigned seed, double low = -2, double high = 2) {
    std::mt19937 generator{seed};
    std::uniform_real_distribution<double> uniform{low, high};
    Tensor<T, S> x;
    for (T& element : x) element = static_cast<T>(uniform(generator));
    return x;
}

/// Every element NaN (or -99): what no computation leaves behind.
template <class T, class S>
Tensor<T, S> poisoned() {
    Tensor<T, S> x;
    if constexpr (std::numeric_limits<T>::has_quiet_NaN) x.fill(std::numeric_limits<T>::quiet_NaN());
    else x.fill(static_cast<T>(-99));
    return x;
}

/// Whether all elements are equal, bit by bit.
template <class T, class S>
bool same_bits(Tensor<T, S> const& a, Tensor<T, S> const& b) {
    return std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

} // namespace tenon::test
