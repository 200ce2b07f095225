/// @file
/// The translated modules of this program.
#pragma once

#include "device/module.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emu {

std::vector<ModuleTable const*> const& modules();

/// The module whose PTX text has this fingerprint; null where it was not translated.
ModuleTable const* find_module(std::uint64_t fingerprint);
Kernel const* find_kernel(ModuleTable const&, char const* name);
Variable const* find_variable(ModuleTable const&, char const* name);
/// The __device__ or __constant__ variable that holds these bytes.
Variable const* find_variable(void const* address, std::size_t size);

/// FNV-1a, as translator/fatbin.py computes it.
std::uint64_t fingerprint(char const* text, std::size_t size);

} // namespace emu
