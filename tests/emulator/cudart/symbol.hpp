/// @file
/// __device__ and __constant__ variables, by the address that the host program knows them by.
#pragma once

#include "device/module.hpp"

namespace emu {

void register_symbol(void const* host, Variable const*);
Variable const* find_symbol(void const* host);

} // namespace emu
