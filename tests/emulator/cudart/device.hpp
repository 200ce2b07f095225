/// @file
/// The emulated devices: limits by compute capability, and which device a host thread uses.
#pragma once

#include <cstddef>

namespace emu {

/// Limits of one multiprocessor and one block (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability").
struct DeviceLimits {
    int arch; ///< 90 for compute capability 9.0
    std::size_t shared_per_multiprocessor, shared_per_block_optin, reserved_shared;
    int threads_per_multiprocessor, blocks_per_multiprocessor;
};

inline constexpr std::size_t default_shared_per_block = 48 << 10;
inline constexpr int registers_per_block = 65536;
inline constexpr int threads_per_block = 1024;

/// After CUDA_VISIBLE_DEVICES.
int visible_devices();
DeviceLimits const& device_limits();
int current_device();
std::size_t free_memory(int device);

} // namespace emu
