// Attributes of kernels and occupancy.
#include "occupancy.hpp"
#include "call.hpp"
#include "device.hpp"
#include "launch.hpp"

#include <algorithm>

namespace emu {

int max_dynamic_shared(Function const& f) {
    if (f.max_dynamic_shared >= 0) return f.max_dynamic_shared;
    return std::max(0, static_cast<int>(default_shared_per_block) - static_cast<int>(f.kernel->static_shared));
}

int blocks_per_multiprocessor(Function const& f, int block_size, std::size_t dynamic_shared) {
    DeviceLimits const& l = device_limits();
    if (block_size <= 0 || block_size > static_cast<int>(f.kernel->max_threads)) return 0;
    if (static_cast<long>(dynamic_shared) > max_dynamic_shared(f)) return 0;
    int const rounded = (block_size + 31) / 32 * 32;
    std::size_t const shared = f.kernel->static_shared + dynamic_shared + l.reserved_shared;
    int blocks = std::min(l.blocks_per_multiprocessor, l.threads_per_multiprocessor / rounded);
    blocks = std::min(blocks, registers_per_block / (rounded * assumed_registers));
    if (shared)
        blocks = static_cast<int>(
            std::min<std::size_t>(static_cast<std::size_t>(blocks), l.shared_per_multiprocessor / shared));
    return blocks;
}

} // namespace emu

using namespace emu;

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void const* host) {
    return call([&] {
        Function const* const f = find_function(host);
        if (!f || !f->kernel) return cudaErrorInvalidDeviceFunction;
        if (f->module->arch > device_limits().arch) return cudaErrorNoKernelImageForDevice;
        *attributes = {};
        attributes->sharedSizeBytes = f->kernel->static_shared;
        attributes->localSizeBytes = f->kernel->local_bytes;
        attributes->maxThreadsPerBlock = static_cast<int>(f->kernel->max_threads);
        attributes->numRegs = assumed_registers;
        attributes->ptxVersion = attributes->binaryVersion = f->module->arch;
        attributes->maxDynamicSharedSizeBytes = max_dynamic_shared(*f);
        attributes->preferredShmemCarveout = -1;
        return cudaSuccess;
    });
}

cudaError_t cudaFuncSetAttribute(void const* host, cudaFuncAttribute attribute, int value) {
    return call([&] {
        Function* const f = find_function(host);
        if (!f || !f->kernel) return cudaErrorInvalidDeviceFunction;
        if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
            if (value < 0 || value + static_cast<int>(f->kernel->static_shared) >
                                 static_cast<int>(device_limits().shared_per_block_optin))
                return cudaErrorInvalidValue;
            f->max_dynamic_shared = value;
            return cudaSuccess;
        }
        return attribute == cudaFuncAttributePreferredSharedMemoryCarveout ? cudaSuccess : cudaErrorNotSupported;
    });
}

cudaError_t cudaFuncSetCacheConfig(void const*, cudaFuncCache) {
    return call([] { return cudaSuccess; });
}

cudaError_t cudaFuncGetName(char const** name, void const* host) {
    return call([&] {
        Function const* const f = find_function(host);
        if (!f) return cudaErrorInvalidDeviceFunction;
        *name = f->name.c_str();
        return cudaSuccess;
    });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void const* host, int block_size,
                                                                   std::size_t dynamic_shared, unsigned) {
    return call([&] {
        Function const* const f = find_function(host);
        if (!f || !f->kernel) return cudaErrorInvalidDeviceFunction;
        *blocks = blocks_per_multiprocessor(*f, block_size, dynamic_shared);
        return cudaSuccess;
    });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void const* host, int block_size,
                                                          std::size_t dynamic_shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, host, block_size, dynamic_shared, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, void const* host, int blocks, int) {
    return call([&] {
        Function const* const f = find_function(host);
        if (!f || !f->kernel || blocks <= 0) return cudaErrorInvalidValue;
        std::size_t const share = device_limits().shared_per_multiprocessor / static_cast<std::size_t>(blocks);
        std::size_t const taken = f->kernel->static_shared + device_limits().reserved_shared;
        *bytes = share > taken
                     ? std::min(share - taken, device_limits().shared_per_block_optin - f->kernel->static_shared)
                     : 0;
        return cudaSuccess;
    });
}

} // extern "C"
