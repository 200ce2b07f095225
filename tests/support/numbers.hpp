/// @file
/// Seeded random numbers for tests, and the comparison of results in float with an oracle in double.
#pragma once

#include <tenon/core/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace tenon::test {

/// Uniform in [low, high). Other seeds give other numbers; the same seed the same, anywhere.
[[nodiscard]] inline std::vector<float> random_numbers(index_t count, std::uint64_t seed, float low = -1, float high = 1) {
    RandomSource const source{seed, random_stream(RandomPurpose::user, 0x7e57), 0};
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = low + (high - low) * uniform(source, i);
    return numbers;
}

/// Class numbers in [0, classes).
[[nodiscard]] inline std::vector<std::int32_t> random_labels(index_t count, index_t classes, std::uint64_t seed) {
    RandomSource const source{seed, random_stream(RandomPurpose::user, 0x1abe1), 0};
    std::vector<std::int32_t> labels(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < labels.size(); ++i)
        labels[i] = static_cast<std::int32_t>(static_cast<index_t>(random_bits(source, i) >> 8) % classes);
    return labels;
}

/// How far `found` is from `expected`: the largest difference, relative to the largest expected magnitude (to 1 where
/// all are 0). A sum of many terms that cancel is only as good as its terms, so no element is judged by its own size.
/// NaN and infinities must stand at the same places with the same signs: otherwise infinite.
template <class Found, class Expected>
[[nodiscard]] double distance(Found const& found, Expected const& expected) {
    double const infinity = std::numeric_limits<double>::infinity();
    if (std::size(found) != std::size(expected)) return infinity;
    double largest = 0, scale = 0;
    for (std::size_t i = 0; i < std::size(expected); ++i) {
        double const f = static_cast<double>(found[i]), e = static_cast<double>(expected[i]);
        if (std::isnan(f) != std::isnan(e)) return infinity;
        if (!std::isfinite(e)) {
            if (!std::isnan(e) && f != e) return infinity;
            continue;
        }
        largest = (std::max)(largest, std::fabs(f - e));
        scale = (std::max)(scale, std::fabs(e));
    }
    return scale > 0 ? largest / scale : largest;
}

} // namespace tenon::test
