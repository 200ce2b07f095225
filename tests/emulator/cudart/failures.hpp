/// @file
/// Failures that a test asks for, because a machine does not have them at will: EMU_FAIL or emu_fail() says which and when.
#pragma once

namespace emu {

enum class Failing : int {
    launch,     ///< a kernel's launch is refused: too many resources asked for
    kernel,     ///< a kernel accesses an illegal address; nothing works after it
    allocation, ///< no memory on the device, however much is said to be free
    kinds
};

/// Is this one to fail? Counts it.
bool fails(Failing);

} // namespace emu

/// "launch:N": the N-th launch from now on, N from 1, fails; so "kernel:N", "allocation:N". "": nothing does. False: not understood.
extern "C" bool emu_fail(char const* what);
