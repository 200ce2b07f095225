/// @file
/// Everything that a training leaves behind, bit by bit.
#pragma once

#include "numbers.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <type_traits>
#include <vector>

namespace tenon::test {

/// The bits of the losses of `steps` steps (every third batch is short), of predictions in between, and of all weights at the end.
template <class Trainer>
[[nodiscard]] std::vector<std::uint64_t> bits_after_steps(Trainer& trainer, std::uint64_t steps) {
    using Target = typename Trainer::Target;
    std::vector<std::uint64_t> bits;
    for (std::uint64_t step = 0; step < steps; ++step) {
        index_t const samples = step % 3 == 2 && Trainer::batch_size > 1 ? Trainer::batch_size - 1 : Trainer::batch_size;
        auto const inputs = random_numbers(samples * Trainer::features, 100 + step);
        std::vector<Target> targets;
        if constexpr (std::is_integral_v<Target>) targets = random_labels(samples, Trainer::outputs, 200 + step);
        else targets = random_numbers(samples * Trainer::outputs, 200 + step);
        bits.push_back(std::bit_cast<std::uint64_t>(trainer.step(inputs.data(), targets.data(), samples)));
        std::vector<float> predicted(static_cast<std::size_t>(samples * Trainer::outputs));
        trainer.predict(inputs.data(), samples, predicted.data());
        for (float value : predicted) bits.push_back(std::bit_cast<std::uint32_t>(value));
    }
    for (int p = 0; p < trainer.network().size(); ++p)
        for (float value : trainer.network()[p].values) bits.push_back(std::bit_cast<std::uint32_t>(value));
    return bits;
}

} // namespace tenon::test
