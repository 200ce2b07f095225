/// @file
/// The random order of EMU_ORDER=rand:N. Own code: the translated program's instrumented copy of an inline std::
/// function could be linked in its place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace emu {

std::uint32_t random_number();

template <class Sequence>
void shuffle_sequence(Sequence& sequence) {
    for (std::size_t i = sequence.size(); i > 1; --i) {
        std::size_t const j = random_number() % i;
        auto const kept = sequence[i - 1];
        sequence[i - 1] = sequence[j];
        sequence[j] = kept;
    }
}

} // namespace emu
