/// @file
/// How the lanes of a warp meet for an instruction that they carry out together.
#pragma once

#include "grid.hpp"

namespace emu {

/// Waits until every lane that `mask` names has come here with the same action, which then runs once, with one
/// argument per lane (null for lanes outside of the mask). It orders no memory: only __syncwarp does.
void warp_collective(ThreadState&, std::uint32_t mask, WarpOperation::Action, void* argument, char const* what, Site);

} // namespace emu
