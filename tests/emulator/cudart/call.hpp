/// @file
/// What every function of the stand-in for libcudart shares: one lock, the checks before, the error state after.
#pragma once

#include <cuda_runtime_api.h>

#include <mutex>
#include <utility>

namespace emu {

/// Host threads take turns; callbacks may call back.
std::recursive_mutex& runtime_lock();

/// No driver, a driver that is too old, or no device: what every call then returns.
cudaError_t startup_error();
/// An error of a kernel, after which nothing works any more.
cudaError_t sticky_error();
void set_sticky_error(cudaError_t);
/// Remembers an error for cudaGetLastError of this thread; returns it.
cudaError_t record_error(cudaError_t);

/// Runs the body of a runtime function.
template <class Body>
cudaError_t call(Body body) {
    std::lock_guard<std::recursive_mutex> const lock(runtime_lock());
    if (cudaError_t const error = startup_error(); error != cudaSuccess) return record_error(error);
    if (cudaError_t const error = sticky_error(); error != cudaSuccess) return record_error(error);
    cudaError_t const error = body();
    return record_error(error != cudaSuccess ? error : sticky_error());
}

} // namespace emu
