/// @file
/// Uniform random numbers (core/random.hpp) for the lanes of a vector: the same bits, blocks of four numbers side by
/// side.
#pragma once

#include <tenon/core/random.hpp>
#include <tenon/cpu/vector.hpp>

#include <utility>

namespace tenon::cpu {
namespace detail {

/// The words of `Blocks` blocks in a row, in 64-bit lanes of which the lower half is the word.
template <int Blocks>
struct PhiloxLanes {
    Vec<std::uint64_t, Blocks> word[4];
};

template <int Blocks, int... I>
TENON_ALWAYS_INLINE PhiloxLanes<Blocks> philox_lanes(RandomSource const& source, std::uint64_t first,
                                                     std::integer_sequence<int, I...>) {
    using V = Vec<std::uint64_t, Blocks>;
    constexpr std::uint64_t low = 0xffffffff;
    V block = V{} + first;
    ((block[I] += static_cast<std::uint64_t>(I)), ...); // nvcc takes V{0} of a one-lane vector for a scalar
    V c0 = block & low, c1 = block >> 32, c2 = V{} + source.stream, c3 = V{} + source.step;
    std::uint64_t key_low = source.seed & low, key_high = source.seed >> 32;
    for (int round = 0; round < 10; ++round) { // as philox(): there are the words of one block
        V const product0 = c0 * 0xD2511F53, product1 = c2 * 0xCD9E8D57;
        c0 = (product1 >> 32) ^ c1 ^ key_low;
        c1 = product1 & low;
        c2 = (product0 >> 32) ^ c3 ^ key_high;
        c3 = product0 & low;
        key_low = (key_low + 0x9E3779B9) & low;
        key_high = (key_high + 0xBB67AE85) & low;
    }
    return {{c0, c1, c2, c3}};
}

} // namespace detail

/// The uniform random numbers of elements first, first + 1, ..., first + Lanes - 1. Lanes: a multiple of 4.
template <int Lanes>
TENON_ALWAYS_INLINE void uniform_row(RandomSource const& source, std::uint64_t first, float* to) {
    constexpr int blocks = Lanes / 4;
    auto const words = detail::philox_lanes<blocks>(source, first / 4, std::make_integer_sequence<int, blocks>{});
    // First to last block; where the first element is not a block's first, the last elements are in one block more.
    float numbers[std::size_t{Lanes} + 4];
    for (int b = 0; b < blocks; ++b)
        for (int w = 0; w < 4; ++w)
            numbers[4 * b + w] = uniform_from_bits(static_cast<std::uint32_t>(words.word[w][b]));
    std::uint64_t const skipped = first % 4;
    if (skipped != 0)
        for (std::uint64_t w = 0; w < skipped; ++w)
            numbers[static_cast<std::uint64_t>(Lanes) + w] =
                uniform_from_bits(philox(source, first / 4 + blocks).word[w]);
    std::memcpy(to, numbers + skipped, static_cast<std::size_t>(Lanes) * sizeof(float));
}

} // namespace tenon::cpu
