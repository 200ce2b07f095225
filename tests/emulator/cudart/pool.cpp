// Stream-ordered allocation and its pools.
#include "call.hpp"
#include "capture.hpp"
#include "device.hpp"
#include "execution/report.hpp"
#include "stream.hpp"

#include <algorithm>
#include <map>

struct CUmemPoolHandle_st {
    int device = 0;
    std::size_t reserved = 0, used_high = 0, reserved_high = 0;
    std::uint64_t release_threshold = 0;
    int reuse[3] = {1, 1, 1};
};

using namespace emu;

namespace {

using Pool = CUmemPoolHandle_st;

std::map<int, Pool*> current_pools;

Pool* default_pool(int device) {
    static std::map<int, Pool*> pools;
    Pool*& pool = pools[device];
    if (!pool) pool = new Pool{device};
    return pool;
}

Pool* current_pool(int device) {
    Pool* const pool = current_pools[device];
    return pool ? pool : default_pool(device);
}

/// The address is known at once; in stream order the memory begins with an operation that fills it with NaN, so that
/// a use in another stream without an event in between meets NaN.
cudaError_t allocate(void** memory, std::size_t bytes, Pool* pool, cudaStream_t handle) {
    Stream* const stream = find_stream(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    *memory = nullptr;
    if (bytes == 0) return cudaErrorInvalidValue;
    if (bytes > free_memory(pool->device)) synchronize_stream(*stream); // what was freed in stream order may make room
    if (bytes > free_memory(pool->device)) return cudaErrorMemoryAllocation;
    Allocation const* const allocation = heap().allocate(bytes, MemoryKind::device, pool->device, pool);
    if (!allocation) return cudaErrorMemoryAllocation;
    *memory = allocation->begin;
    std::size_t const used = heap().used_by(pool);
    pool->used_high = std::max(pool->used_high, used);
    pool->reserved = std::max(pool->reserved, used);
    pool->reserved_high = std::max(pool->reserved_high, pool->reserved);
    return submit(handle, AllocateWork{allocation->begin});
}

} // namespace

extern "C" {

cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t stream) {
    return call([&] { return allocate(memory, bytes, current_pool(current_device()), stream); });
}

cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    return call([&] { return pool ? allocate(memory, bytes, pool, stream) : cudaErrorInvalidValue; });
}

cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
    return call([&] {
        Allocation const* const allocation = heap().find(memory);
        if (!allocation || !allocation->live || allocation->begin != memory || allocation->kind != MemoryKind::device) {
            warn("cudaFreeAsync: not the beginning of an allocation of the device, or already freed");
            return cudaErrorInvalidValue;
        }
        return submit(stream, FreeWork{allocation->begin, false});
    });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    return call([&] { return *pool = default_pool(device), cudaSuccess; });
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
    return call([&] { return *pool = current_pool(device), cudaSuccess; });
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
    return call([&] { return current_pools[device] = pool, cudaSuccess; });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, cudaMemPoolProps const* properties) {
    return call([&] {
        if (!pool || !properties) return cudaErrorInvalidValue;
        *pool = new Pool{properties->location.id};
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    return call([&] {
        for (auto& [device, current] : current_pools)
            if (current == pool) current = nullptr;
        return pool ? cudaSuccess : cudaErrorInvalidValue; // its memory may still be in use: the record stays
    });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t keep) {
    return call([&] {
        pool->reserved = std::max({keep < pool->reserved ? keep : pool->reserved, heap().used_by(pool)});
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, cudaMemAccessDesc const*, std::size_t) {
    return call([&] { return pool ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    return call([&] {
        switch (attribute) {
        case cudaMemPoolReuseFollowEventDependencies:
        case cudaMemPoolReuseAllowOpportunistic:
        case cudaMemPoolReuseAllowInternalDependencies: pool->reuse[attribute - 1] = *static_cast<int*>(value); break;
        case cudaMemPoolAttrReleaseThreshold: pool->release_threshold = *static_cast<std::uint64_t*>(value); break;
        case cudaMemPoolAttrReservedMemHigh: pool->reserved_high = pool->reserved; break;
        case cudaMemPoolAttrUsedMemHigh: pool->used_high = heap().used_by(pool); break;
        default: return cudaErrorInvalidValue;
        }
        return cudaSuccess;
    });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    return call([&] {
        auto& number = *static_cast<std::uint64_t*>(value);
        switch (attribute) {
        case cudaMemPoolReuseFollowEventDependencies:
        case cudaMemPoolReuseAllowOpportunistic:
        case cudaMemPoolReuseAllowInternalDependencies: *static_cast<int*>(value) = pool->reuse[attribute - 1]; break;
        case cudaMemPoolAttrReleaseThreshold: number = pool->release_threshold; break;
        case cudaMemPoolAttrReservedMemCurrent: number = pool->reserved; break;
        case cudaMemPoolAttrReservedMemHigh: number = pool->reserved_high; break;
        case cudaMemPoolAttrUsedMemCurrent: number = heap().used_by(pool); break;
        case cudaMemPoolAttrUsedMemHigh: number = pool->used_high; break;
        default: return cudaErrorInvalidValue;
        }
        return cudaSuccess;
    });
}

} // extern "C"
