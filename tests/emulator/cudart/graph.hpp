/// @file
/// What graphs and executable graphs share: the parameters of CUDA's node functions as work.
#pragma once

#include "capture.hpp"

namespace emu {

FillWork fill_of(cudaMemsetParams const&);
CopyWork copy_of(void* to, void const* from, std::size_t bytes, cudaMemcpyKind);

} // namespace emu
