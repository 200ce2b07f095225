/// @file
/// Counter-based random numbers: a pure function of (seed, stream, step, element), so that the same seed gives the same
/// numbers whatever the number of threads, the device and the order of evaluation.
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011 (Philox4x32-10).
#pragma once

#include <tenon/core/config.hpp>

namespace tenon {

/// What a stream of random numbers is for. A stream is `purpose << 24 | number`.
enum class RandomPurpose : std::uint32_t {
    initial_weights = 0, ///< number = the parameter's number in the network
    shuffle = 1,
    dropout = 2, ///< number = the layer
    user = 3,
};

/// A stream's identity from its purpose and its number (below 2^24).
[[nodiscard]] constexpr std::uint32_t random_stream(RandomPurpose purpose, std::uint32_t number = 0) {
    return static_cast<std::uint32_t>(purpose) << 24 | number;
}

/// Everything but the element that a random number depends on.
struct RandomSource {
    std::uint64_t seed = 0;
    std::uint32_t stream = random_stream(RandomPurpose::user);
    std::uint32_t step = 0;
};

/// Four words: a counter, or what Philox makes of it.
struct PhiloxBlock {
    std::uint32_t word[4];
};

/// Philox4x32-10 of one counter under a 64-bit key (its low word first).
[[nodiscard]] TENON_HOST_DEVICE constexpr PhiloxBlock philox(PhiloxBlock counter, std::uint64_t key) {
    std::uint32_t key_low = static_cast<std::uint32_t>(key);
    std::uint32_t key_high = static_cast<std::uint32_t>(key >> 32);
    std::uint32_t c0 = counter.word[0], c1 = counter.word[1], c2 = counter.word[2], c3 = counter.word[3];
    for (int round = 0; round < 10; ++round) {
        std::uint64_t const product0 = std::uint64_t{0xD2511F53} * c0;
        std::uint64_t const product1 = std::uint64_t{0xCD9E8D57} * c2;
        c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ key_low;
        c1 = static_cast<std::uint32_t>(product1);
        c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ key_high;
        c3 = static_cast<std::uint32_t>(product0);
        key_low += 0x9E3779B9; // the golden ratio and sqrt(3) - 1, as Weyl sequences
        key_high += 0xBB67AE85;
    }
    return {{c0, c1, c2, c3}};
}

/// The four words that elements 4 * block to 4 * block + 3 of `source` share.
[[nodiscard]] TENON_HOST_DEVICE constexpr PhiloxBlock philox(RandomSource const& source, std::uint64_t block) {
    return philox(
        {{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), source.stream, source.step}},
        source.seed);
}

/// The 32 random bits of one element.
[[nodiscard]] TENON_HOST_DEVICE constexpr std::uint32_t random_bits(RandomSource const& source, std::uint64_t element) {
    return philox(source, element / 4).word[element % 4];
}

/// Uniform in [0, 1): a multiple of 2^-24, so that every value is a float and 1 is never reached.
[[nodiscard]] TENON_HOST_DEVICE constexpr float uniform_from_bits(std::uint32_t bits) {
    return static_cast<float>(bits >> 8) * 0x1p-24f;
}

/// The uniform random number in [0, 1) of one element.
[[nodiscard]] TENON_HOST_DEVICE constexpr float uniform(RandomSource const& source, std::uint64_t element) {
    return uniform_from_bits(random_bits(source, element));
}

} // namespace tenon
