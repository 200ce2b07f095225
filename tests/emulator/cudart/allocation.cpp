// Allocation: device, pinned, managed and registered memory; the stream-ordered pools are in pool.cpp.
#include "call.hpp"
#include "counts.hpp"
#include "capture.hpp"
#include "device.hpp"
#include "failures.hpp"
#include "execution/report.hpp"
#include "stream.hpp"

using namespace emu;

namespace {

cudaError_t allocate(void** memory, std::size_t bytes, MemoryKind kind) {
    if (!memory) return cudaErrorInvalidValue;
    *memory = nullptr;
    if (cudaError_t const error = forbid_while_capturing(); error != cudaSuccess) return error;
    if (bytes == 0) return cudaSuccess;
    bool const on_device = kind == MemoryKind::device || kind == MemoryKind::managed;
    if (on_device && (fails(Failing::allocation) || bytes > free_memory(current_device()))) return cudaErrorMemoryAllocation;
    Allocation const* const allocation = heap().allocate(bytes, kind, current_device());
    if (!allocation) return cudaErrorMemoryAllocation;
    *memory = allocation->begin;
    return cudaSuccess;
}

cudaError_t release(void* memory, bool on_device, char const* function) {
    if (!memory) return cudaSuccess;
    Allocation* const allocation = heap().find(memory);
    bool const right_kind =
        allocation && (allocation->kind == MemoryKind::device || allocation->kind == MemoryKind::managed) == on_device;
    if (!allocation || allocation->begin != memory || !allocation->live || !right_kind) {
        warn(std::string(function) + ": " +
             (allocation && !allocation->live ? std::string("the memory was already freed by ") + allocation->freed_by
                                              : std::string("not the beginning of an allocation of this kind")));
        return cudaErrorInvalidValue;
    }
    if (cudaError_t const error = synchronize_device(); error != cudaSuccess)
        return error; // cudaFree waits for the device
    heap().release(*allocation, function);
    return cudaSuccess;
}

} // namespace

extern "C" {

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
    count(Counted::allocation);
    return call([&] { return allocate(memory, bytes, MemoryKind::device); });
}

cudaError_t cudaMallocPitch(void** memory, std::size_t* pitch, std::size_t width, std::size_t height) {
    return call([&] {
        *pitch = (width + 511) / 512 * 512;
        return allocate(memory, *pitch * height, MemoryKind::device);
    });
}

cudaError_t cudaMallocManaged(void** memory, std::size_t bytes, unsigned) {
    return call([&] { return allocate(memory, bytes, MemoryKind::managed); });
}

cudaError_t cudaFree(void* memory) {
    return call([&] { return release(memory, true, "cudaFree"); });
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
    count(Counted::allocation);
    return call([&] { return allocate(memory, bytes, MemoryKind::pinned); });
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
    return call([&] { return allocate(memory, bytes, MemoryKind::pinned); });
}

cudaError_t cudaFreeHost(void* memory) {
    return call([&] { return release(memory, false, "cudaFreeHost"); });
}

cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
    return call([&] {
        if (!memory || !bytes) return cudaErrorInvalidValue;
        if (heap().find(memory)) return cudaErrorHostMemoryAlreadyRegistered;
        heap().adopt(memory, bytes);
        return cudaSuccess;
    });
}

cudaError_t cudaHostUnregister(void* memory) {
    return call([&] {
        Allocation* const allocation = heap().find(memory);
        if (!allocation || allocation->kind != MemoryKind::registered) return cudaErrorHostMemoryNotRegistered;
        heap().forget(*allocation);
        return cudaSuccess;
    });
}

cudaError_t cudaHostGetDevicePointer(void** device, void* memory, unsigned) {
    return call([&] {
        Allocation const* const allocation = heap().find(memory);
        if (!allocation || allocation->kind == MemoryKind::device) return cudaErrorInvalidValue;
        *device = memory;
        return cudaSuccess;
    });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* memory) {
    return call(
        [&] { return heap().find(memory) ? (*flags = cudaHostAllocDefault, cudaSuccess) : cudaErrorInvalidValue; });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, void const* pointer) {
    return call([&] {
        *attributes = {};
        Allocation const* const allocation = heap().find(pointer);
        if (!allocation || !allocation->live) {
            attributes->type = cudaMemoryTypeUnregistered;
            attributes->device = -1;
            attributes->hostPointer = const_cast<void*>(pointer);
            return cudaSuccess;
        }
        attributes->device = allocation->device;
        attributes->devicePointer = const_cast<void*>(pointer);
        if (allocation->kind != MemoryKind::device) attributes->hostPointer = const_cast<void*>(pointer);
        attributes->type = allocation->kind == MemoryKind::device    ? cudaMemoryTypeDevice
                           : allocation->kind == MemoryKind::managed ? cudaMemoryTypeManaged
                                                                     : cudaMemoryTypeHost;
        return cudaSuccess;
    });
}

cudaError_t cudaMemPrefetchAsync(void const*, std::size_t, cudaMemLocation, unsigned, cudaStream_t stream) {
    return call([&] { return submit(stream, EmptyWork{}); });
}

cudaError_t cudaMemAdvise(void const*, std::size_t, cudaMemoryAdvise, cudaMemLocation) {
    return call([] { return cudaSuccess; });
}

} // extern "C"
