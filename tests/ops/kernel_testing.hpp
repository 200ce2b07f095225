/// @file
/// What the tests of the CPU kernels share: arrays that notice when something beyond them is touched, and comparisons.
#pragma once

#include <tenon/core/config.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

namespace kernel_testing {

using tenon::index_t;

/// Floats on the heap that start `misaligned` floats behind a vector's boundary and end at the end of an allocation, so
/// that AddressSanitizer sees what goes too far; guards in front and behind show the rest.
class Array {
public:
    explicit Array(index_t size, float value = std::numeric_limits<float>::quiet_NaN(), index_t misaligned = 1)
        : size_{size}, front_{16 + misaligned}, data_{new float[static_cast<std::size_t>(front_ + size)]} {
        for (index_t i = 0; i < front_; ++i) data_.get()[i] = guard;
        fill(value);
    }
    [[nodiscard]] float* data() { return data_.get() + front_; }
    [[nodiscard]] float const* data() const { return data_.get() + front_; }
    [[nodiscard]] index_t size() const { return size_; }
    [[nodiscard]] float& operator[](index_t i) { return data()[i]; }
    [[nodiscard]] float operator[](index_t i) const { return data()[i]; }
    [[nodiscard]] bool intact() const {
        for (index_t i = 0; i < front_; ++i)
            if (std::memcmp(data_.get() + i, &guard, sizeof guard) != 0) return false;
        return true;
    }
    void fill(float value) {
        for (index_t i = 0; i < size_; ++i) data()[i] = value;
    }
    void fill_random(std::mt19937& generator) {
        std::uniform_real_distribution<float> uniform{-1, 1};
        for (index_t i = 0; i < size_; ++i) data()[i] = uniform(generator);
    }

private:
    static constexpr float guard = 12345.678F;
    index_t size_, front_;
    std::unique_ptr<float[]> data_;
};

/// A sum in double, and the sum of the absolute values of its terms: what rounding may do to it.
struct Expected {
    double value = 0, magnitude = 0;

    void add(double term) {
        value += term;
        magnitude += std::abs(term);
    }
    /// Whether `actual` is this sum, computed in float. NaN never is.
    [[nodiscard]] bool is(float actual) const {
        return std::abs(static_cast<double>(actual) - value) <= 4e-6 * magnitude + 1e-30;
    }
};

[[nodiscard]] inline double dot(Array const& a, Array const& b) {
    double sum = 0;
    for (index_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
}

[[nodiscard]] inline bool same_bits(Array const& a, Array const& b) {
    return a.size() == b.size() &&
           std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(float)) == 0;
}

} // namespace kernel_testing
