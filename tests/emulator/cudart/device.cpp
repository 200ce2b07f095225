// Devices: count, choice, properties, peers.
#include "device.hpp"
#include "counts.hpp"
#include "call.hpp"
#include "execution/memory.hpp"
#include "execution/registry.hpp"
#include "execution/report.hpp"
#include "execution/settings.hpp"
#include "stream.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

namespace emu {
namespace {

constexpr std::size_t KiB = 1024;
constexpr DeviceLimits limits[] = {
    {75, 64 * KiB, 64 * KiB, 0, 1024, 16},         {80, 164 * KiB, 163 * KiB, 1 * KiB, 2048, 32},
    {86, 100 * KiB, 99 * KiB, 1 * KiB, 1536, 16},  {89, 100 * KiB, 99 * KiB, 1 * KiB, 1536, 24},
    {90, 228 * KiB, 227 * KiB, 1 * KiB, 2048, 32}, {100, 228 * KiB, 227 * KiB, 1 * KiB, 2048, 32},
    {120, 100 * KiB, 99 * KiB, 1 * KiB, 1536, 24},
};

thread_local int chosen = 0;
std::set<std::pair<int, int>> peers;

int arch() {
    if (settings().arch) return settings().arch;
    int newest = 0;
    for (ModuleTable const* module : modules()) newest = std::max(newest, module->arch);
    return newest ? newest : 90;
}

bool is_device(int device) { return device >= 0 && device < visible_devices(); }

void fill_properties(cudaDeviceProp& p, int device) {
    DeviceLimits const& l = device_limits();
    std::memset(&p, 0, sizeof p);
    std::snprintf(p.name, sizeof p.name, "tenon emulator %d (compute capability %d.%d)", device, l.arch / 10,
                  l.arch % 10);
    p.totalGlobalMem = settings().device_memory;
    p.sharedMemPerBlock = default_shared_per_block;
    p.sharedMemPerBlockOptin = l.shared_per_block_optin;
    p.sharedMemPerMultiprocessor = l.shared_per_multiprocessor;
    p.reservedSharedMemPerBlock = l.reserved_shared;
    p.regsPerBlock = p.regsPerMultiprocessor = registers_per_block;
    p.warpSize = 32;
    p.memPitch = 0x7fffffff;
    p.maxThreadsPerBlock = threads_per_block;
    p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024, p.maxThreadsDim[2] = 64;
    p.maxGridSize[0] = 0x7fffffff, p.maxGridSize[1] = p.maxGridSize[2] = 65535;
    p.totalConstMem = 64 * KiB;
    p.major = l.arch / 10, p.minor = l.arch % 10;
    p.textureAlignment = 512, p.texturePitchAlignment = 32, p.surfaceAlignment = 512;
    p.multiProcessorCount = settings().multiprocessors;
    p.maxThreadsPerMultiProcessor = l.threads_per_multiprocessor;
    p.maxBlocksPerMultiProcessor = l.blocks_per_multiprocessor;
    p.memoryBusWidth = 5120;
    p.l2CacheSize = 50 << 20;
    p.asyncEngineCount = 2;
    p.pciBusID = device + 1;
    p.canMapHostMemory = p.concurrentKernels = p.unifiedAddressing = p.streamPrioritiesSupported = 1;
    p.globalL1CacheSupported = p.localL1CacheSupported = p.managedMemory = p.hostRegisterSupported = 1;
    p.cooperativeLaunch = p.memoryPoolsSupported = p.computePreemptionSupported = p.unifiedFunctionPointers = 1;
}

/// -1: an attribute that is not modelled.
int attribute(cudaDeviceAttr which, int device) {
    cudaDeviceProp p;
    fill_properties(p, device);
    switch (which) {
    case cudaDevAttrMaxThreadsPerBlock: return p.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: return p.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimZ: return p.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX: return p.maxGridSize[0];
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: return p.maxGridSize[1];
    case cudaDevAttrMaxSharedMemoryPerBlock: return static_cast<int>(p.sharedMemPerBlock);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return static_cast<int>(p.sharedMemPerBlockOptin);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return static_cast<int>(p.sharedMemPerMultiprocessor);
    case cudaDevAttrReservedSharedMemoryPerBlock: return static_cast<int>(p.reservedSharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory: return static_cast<int>(p.totalConstMem);
    case cudaDevAttrWarpSize: return p.warpSize;
    case cudaDevAttrMaxPitch: return static_cast<int>(p.memPitch);
    case cudaDevAttrMaxRegistersPerBlock: return p.regsPerBlock;
    case cudaDevAttrMaxRegistersPerMultiprocessor: return p.regsPerMultiprocessor;
    case cudaDevAttrClockRate: return 1000000;
    case cudaDevAttrMemoryClockRate: return 1000000;
    case cudaDevAttrMultiProcessorCount: return p.multiProcessorCount;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrMaxBlocksPerMultiprocessor: return p.maxBlocksPerMultiProcessor;
    case cudaDevAttrComputeCapabilityMajor: return p.major;
    case cudaDevAttrComputeCapabilityMinor: return p.minor;
    case cudaDevAttrGlobalMemoryBusWidth: return p.memoryBusWidth;
    case cudaDevAttrL2CacheSize: return p.l2CacheSize;
    case cudaDevAttrAsyncEngineCount: return p.asyncEngineCount;
    case cudaDevAttrPciBusId: return p.pciBusID;
    case cudaDevAttrTextureAlignment: return static_cast<int>(p.textureAlignment);
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrComputePreemptionSupported: return 1;
    case cudaDevAttrMaxPersistingL2CacheSize:
    case cudaDevAttrMaxAccessPolicyWindowSize:
    case cudaDevAttrClusterLaunch:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrIntegrated:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrComputeMode:
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId:
    case cudaDevAttrTccDriver:
    case cudaDevAttrIsMultiGpuBoard:
    case cudaDevAttrHostNativeAtomicSupported:
    case cudaDevAttrDirectManagedMemAccessFromHost:
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables: return 0;
    default: return -1;
    }
}

} // namespace

int visible_devices() {
    static int const count = [] {
        int const all = settings().device_count;
        char const* list = std::getenv("CUDA_VISIBLE_DEVICES");
        if (!list) return all;
        int seen = 0; // up to the first entry that names no device, as CUDA reads it
        while (*list) {
            char* end = nullptr;
            long const index = std::strtol(list, &end, 10);
            if (end == list || index < 0 || index >= all) break;
            ++seen;
            if (*end != ',') break;
            list = end + 1;
        }
        return seen;
    }();
    return count;
}

DeviceLimits const& device_limits() {
    static DeviceLimits const chosen_limits = [] {
        DeviceLimits best = limits[0];
        for (DeviceLimits const& l : limits)
            if (l.arch <= arch()) best = l;
        best.arch = arch();
        return best;
    }();
    return chosen_limits;
}

int current_device() { return chosen; }

std::size_t free_memory(int device) {
    std::size_t const used = heap().used(device);
    return used < settings().device_memory ? settings().device_memory - used : 0;
}

} // namespace emu

using namespace emu;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
    if (!count) return record_error(cudaErrorInvalidValue);
    *count = startup_error() == cudaErrorInsufficientDriver ? 0 : visible_devices();
    return record_error(startup_error());
}

cudaError_t cudaSetDevice(int device) {
    return call([&] {
        if (!is_device(device)) return cudaErrorInvalidDevice;
        chosen = device;
        return cudaSuccess;
    });
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
    return call([&] { return is_device(device) ? cudaSuccess : cudaErrorInvalidDevice; });
}

cudaError_t cudaGetDevice(int* device) {
    return call([&] {
        *device = chosen;
        return cudaSuccess;
    });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    return call([&] {
        if (!is_device(device)) return cudaErrorInvalidDevice;
        fill_properties(*properties, device);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
    return call([&] {
        if (!is_device(device)) return cudaErrorInvalidDevice;
        *value = attribute(which, device);
        if (*value >= 0) return cudaSuccess;
        warn("cudaDeviceGetAttribute: attribute " + std::to_string(which) + " is not emulated");
        return cudaErrorInvalidValue;
    });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
    return call([&] {
        if (!is_device(device)) return cudaErrorInvalidDevice;
        std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    return call([&] {
        if (!is_device(device) || !is_device(peer)) return cudaErrorInvalidDevice;
        *can = device != peer;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    return call([&] {
        if (!is_device(peer) || peer == chosen) return cudaErrorInvalidDevice;
        return peers.emplace(chosen, peer).second ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
    });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    return call([&] { return peers.erase({chosen, peer}) ? cudaSuccess : cudaErrorPeerAccessNotEnabled; });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    return call([&] {
        *free = free_memory(chosen);
        *total = settings().device_memory;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSynchronize() {
    count(Counted::device_wait);
    return call([] { return synchronize_device(); });
}

cudaError_t cudaDeviceReset() {
    return call([] { return synchronize_device(); });
}

cudaError_t cudaSetDeviceFlags(unsigned) {
    return call([] { return cudaSuccess; });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    return call([&] {
        *flags = 0;
        return cudaSuccess;
    });
}

cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) {
    return call([] { return cudaSuccess; });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return call([&] {
        if (least) *least = 0;
        if (greatest) *greatest = -5;
        return cudaSuccess;
    });
}

cudaError_t cudaProfilerStart() {
    return call([] { return cudaSuccess; });
}

cudaError_t cudaProfilerStop() {
    return call([] { return cudaSuccess; });
}

} // extern "C"
