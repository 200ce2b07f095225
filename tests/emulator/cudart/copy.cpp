// Copies, fills, and the variables of the device.
#include "call.hpp"
#include "execution/registry.hpp"
#include "execution/report.hpp"
#include "stream.hpp"
#include "symbol.hpp"

#include <cstring>
#include <map>

namespace emu {
namespace {

std::map<void const*, Variable const*>& symbols() {
    static auto* const all = new std::map<void const*, Variable const*>;
    return *all;
}

bool is_pageable(void const* address) { return !heap().find(address) && !heap().in_device_range(address); }

/// What cudaMemcpyAsync promises (CUDA Runtime API, "API synchronization behavior"): pageable host memory is read
/// before the call returns, and written before it returns; all other copies wait their turn in the stream.
cudaError_t copy_async(CopyWork work, cudaStream_t handle, char const* function) {
    if (cudaError_t const error = check(work, function); error != cudaSuccess) return error;
    if (work.width == 0 || work.height == 0) return cudaSuccess;
    Stream* const stream = find_stream(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    bool const from_device = work.kind == cudaMemcpyDeviceToHost || work.kind == cudaMemcpyDeviceToDevice;
    if (stream->capture) return submit(handle, std::move(work)); // a graph reads the memory when it runs
    if (!from_device && is_pageable(work.from)) {
        work.staged = std::make_shared<std::vector<char>>(work.width * work.height);
        for (std::size_t row = 0; row < work.height; ++row)
            std::memcpy(work.staged->data() + row * work.width,
                        static_cast<char const*>(work.from) + row * work.from_pitch, work.width);
    }
    bool const waits = is_pageable(work.to) && !find_variable(work.to, 1);
    cudaError_t const error = submit(handle, std::move(work));
    if (error == cudaSuccess && waits) return synchronize_stream(*stream);
    return error;
}

/// cudaMemcpy: the same on the legacy stream; done when it returns, except between two places of the device.
cudaError_t copy_now(CopyWork const& work, char const* function) {
    if (cudaError_t const error = check(work, function); error != cudaSuccess) return error;
    if (work.width == 0 || work.height == 0) return cudaSuccess;
    return submit_synchronous(work, work.kind != cudaMemcpyDeviceToDevice);
}

CopyWork linear(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind) {
    return {to, from, bytes, bytes, bytes, 1, kind, nullptr};
}

cudaError_t symbol_place(void const* host, std::size_t offset, std::size_t bytes, char** place) {
    Variable const* const variable = find_symbol(host);
    if (!variable) return cudaErrorInvalidSymbol;
    if (offset + bytes > variable->size) {
        warn(std::to_string(bytes) + " bytes at " + std::to_string(offset) + " of the variable " +
             demangle(variable->name) + " (" + std::to_string(variable->size) + " bytes)");
        return cudaErrorInvalidValue;
    }
    *place = static_cast<char*>(variable->address) + offset;
    return cudaSuccess;
}

} // namespace

void register_symbol(void const* host, Variable const* variable) { symbols()[host] = variable; }

Variable const* find_symbol(void const* host) {
    auto const found = symbols().find(host);
    return found == symbols().end() ? nullptr : found->second;
}

} // namespace emu

using namespace emu;

extern "C" {

cudaError_t cudaMemcpy(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind) {
    return call([&] { return copy_now(linear(to, from, bytes, kind), "cudaMemcpy"); });
}

cudaError_t cudaMemcpyAsync(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&] { return copy_async(linear(to, from, bytes, kind), stream, "cudaMemcpyAsync"); });
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind) {
    return call([&] {
        return copy_now({to, from, to_pitch, from_pitch, width, height, kind, nullptr}, "cudaMemcpy2D");
    });
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, void const* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&] {
        return copy_async({to, from, to_pitch, from_pitch, width, height, kind, nullptr}, stream, "cudaMemcpy2DAsync");
    });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, void const* from, int, std::size_t bytes, cudaStream_t stream) {
    return call(
        [&] { return copy_async(linear(to, from, bytes, cudaMemcpyDeviceToDevice), stream, "cudaMemcpyPeerAsync"); });
}

cudaError_t cudaMemcpyPeer(void* to, int, void const* from, int, std::size_t bytes) {
    return call([&] { return copy_now(linear(to, from, bytes, cudaMemcpyDeviceToDevice), "cudaMemcpyPeer"); });
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
    return call([&] {
        FillWork const work{to, bytes, bytes, 1, static_cast<unsigned>(value), 1};
        cudaError_t const error = check(work, "cudaMemset");
        return error != cudaSuccess || bytes == 0 ? error : submit_synchronous(work, false);
    });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
    return call([&] {
        FillWork const work{to, bytes, bytes, 1, static_cast<unsigned>(value), 1};
        cudaError_t const error = check(work, "cudaMemsetAsync");
        return error != cudaSuccess || bytes == 0 ? error : submit(stream, work);
    });
}

cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream) {
    return call([&] {
        FillWork const work{to, pitch, width, height, static_cast<unsigned>(value), 1};
        cudaError_t const error = check(work, "cudaMemset2DAsync");
        return error != cudaSuccess || width * height == 0 ? error : submit(stream, work);
    });
}

cudaError_t cudaMemcpyToSymbol(void const* symbol, void const* from, std::size_t bytes, std::size_t offset,
                               cudaMemcpyKind kind) {
    return call([&] {
        char* place = nullptr;
        cudaError_t const error = symbol_place(symbol, offset, bytes, &place);
        return error != cudaSuccess ? error : copy_now(linear(place, from, bytes, kind), "cudaMemcpyToSymbol");
    });
}

cudaError_t cudaMemcpyToSymbolAsync(void const* symbol, void const* from, std::size_t bytes, std::size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&] {
        char* place = nullptr;
        cudaError_t const error = symbol_place(symbol, offset, bytes, &place);
        return error != cudaSuccess ? error
                                    : copy_async(linear(place, from, bytes, kind), stream, "cudaMemcpyToSymbolAsync");
    });
}

cudaError_t cudaMemcpyFromSymbol(void* to, void const* symbol, std::size_t bytes, std::size_t offset,
                                 cudaMemcpyKind kind) {
    return call([&] {
        char* place = nullptr;
        cudaError_t const error = symbol_place(symbol, offset, bytes, &place);
        return error != cudaSuccess ? error : copy_now(linear(to, place, bytes, kind), "cudaMemcpyFromSymbol");
    });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, void const* symbol, std::size_t bytes, std::size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
    return call([&] {
        char* place = nullptr;
        cudaError_t const error = symbol_place(symbol, offset, bytes, &place);
        return error != cudaSuccess ? error
                                    : copy_async(linear(to, place, bytes, kind), stream, "cudaMemcpyFromSymbolAsync");
    });
}

cudaError_t cudaGetSymbolAddress(void** address, void const* symbol) {
    return call([&] {
        char* place = nullptr;
        cudaError_t const error = symbol_place(symbol, 0, 0, &place);
        *address = place;
        return error;
    });
}

cudaError_t cudaGetSymbolSize(std::size_t* size, void const* symbol) {
    return call([&] {
        Variable const* const variable = find_symbol(symbol);
        if (variable) *size = variable->size;
        return variable ? cudaSuccess : cudaErrorInvalidSymbol;
    });
}

} // extern "C"
