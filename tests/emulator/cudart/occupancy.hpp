/// @file
/// How many blocks fit a multiprocessor, and how much shared memory a kernel may ask for.
#pragma once

#include "work.hpp"

namespace emu {

/// Registers a thread would use. Nothing assigns registers here; a middling number keeps occupancy plausible.
inline constexpr int assumed_registers = 32;

int max_dynamic_shared(Function const&);
int blocks_per_multiprocessor(Function const&, int block_size, std::size_t dynamic_shared);

} // namespace emu
