/// @file
/// Shuffling without a table: a keyed permutation of [0, n) that takes no memory, and gives any position at once, on
/// any thread.
#pragma once

#include <tenon/core/random.hpp>
#include <tenon/data/message.hpp>

namespace tenon::data {

/// An order of the numbers [0, size): `permutation(position)` is the number that stands there. Keyed by (seed, epoch),
/// so that every epoch has an order of its own, and the same one in every run.
///
/// How: a balanced Feistel network permutes [0, 4^k) for the smallest 4^k >= size, at least 256, and a result outside
/// [0, size) is sent through again until it falls inside: on average at most 4 passes, of sets below 64 at most 256
/// (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). Shuffles data; hides nothing from an adversary.
class Permutation {
public:
    static constexpr int rounds = 8;
    static constexpr index_t max_size = index_t{1} << 62;

    /// Nothing in no order.
    constexpr Permutation() = default;

    /// The numbers [0, size) as they come.
    [[nodiscard]] static Permutation in_order(index_t size) {
        Permutation p;
        p.size_ = checked(size);
        return p;
    }

    /// The numbers [0, size) in an order drawn by `seed` and `epoch`. `number` tells apart orders that share both.
    Permutation(index_t size, std::uint64_t seed, std::uint32_t epoch, std::uint32_t number = 0)
        : size_(checked(size)) {
        // A Feistel network reaches only the even orders of its domain; of part of a domain it can reach all.
        half_bits_ = 4;
        while ((index_t{1} << (2 * half_bits_)) < size_) ++half_bits_;
        RandomSource const source{seed, random_stream(RandomPurpose::shuffle, number), epoch};
        for (int round = 0; round < rounds; ++round) {
            std::uint64_t const element = 2 * static_cast<std::uint64_t>(round);
            key_[round] = std::uint64_t{random_bits(source, element + 1)} << 32 | random_bits(source, element);
        }
    }

    [[nodiscard]] TENON_HOST_DEVICE constexpr index_t size() const { return size_; }

    /// The number at `position`, which lies in [0, size).
    [[nodiscard]] TENON_HOST_DEVICE constexpr index_t operator()(index_t position) const {
        if (half_bits_ == 0) return position;
        std::uint64_t number = static_cast<std::uint64_t>(position);
        do number = permute(number);
        while (number >= static_cast<std::uint64_t>(size_));
        return static_cast<index_t>(number);
    }

private:
    [[nodiscard]] static index_t checked(index_t size) {
        if (size < 0 || size > max_size)
            refuse({"a permutation of ", size, " numbers was asked for; its size lies in [0, 2^62]"});
        return size;
    }

    /// One pass through the Feistel network on 2 * half_bits_ bits.
    [[nodiscard]] TENON_HOST_DEVICE constexpr std::uint64_t permute(std::uint64_t number) const {
        std::uint64_t const mask = (std::uint64_t{1} << half_bits_) - 1;
        std::uint64_t left = number >> half_bits_, right = number & mask;
        for (std::uint64_t const key : key_) {
            std::uint64_t const mixed = left ^ (mix(right ^ key) & mask);
            left = right;
            right = mixed;
        }
        return left << half_bits_ | right;
    }

    /// Stafford's mix 13, the finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
    /// generators", 2014).
    [[nodiscard]] TENON_HOST_DEVICE static constexpr std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    index_t size_ = 0;
    int half_bits_ = 0; // 0: in order
    std::uint64_t key_[rounds] = {};
};

} // namespace tenon::data
