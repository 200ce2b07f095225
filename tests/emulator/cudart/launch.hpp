/// @file
/// Kernels as the host program knows them, and launches.
#pragma once

#include "work.hpp"

namespace emu {

/// By the address that the host program calls a kernel by; null where it is none.
Function* find_function(void const* host);

/// Copies the arguments; checks the launch.
cudaError_t make_kernel_work(KernelWork&, cudaKernelNodeParams const&);

} // namespace emu
