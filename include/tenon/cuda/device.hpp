/// @file
/// Which GPUs there are, whether this program can use them, and which one it takes.
#pragma once

#include <tenon/cuda/runtime.hpp>

#include <optional>

namespace tenon::cuda {

/// One GPU.
struct DeviceInfo {
    int number = 0; ///< as the runtime counts, after CUDA_VISIBLE_DEVICES
    std::string name;
    int major = 0, minor = 0;    ///< compute capability
    int multiprocessors = 0;
    index_t total = 0, free = 0; ///< bytes
    index_t shared_per_block = 0; ///< bytes, when asked for
    int code = 0, ptx = 0;       ///< this program's code for it: compute capability of machine code and of the PTX it comes from, 90 for 9.0
    std::string obstacle;        ///< why this program cannot run on it; empty: it can

    [[nodiscard]] bool usable() const { return obstacle.empty(); }
    /// Element types that its tensor cores multiply.
    [[nodiscard]] char const* tensor_types() const {
        int const version = major * 10 + minor;
        if (version >= 100) return "fp16 bf16 tf32 fp8 fp4 int8";
        if (version >= 89) return "fp16 bf16 tf32 fp8 int8";
        if (version >= 80) return "fp16 bf16 tf32 int8";
        if (version >= 75) return "fp16 int8";
        return version >= 70 ? "fp16" : "none";
    }
};

namespace detail {
/// A kernel whose presence tells whether this program holds code for a device.
template <int>
__global__ void probe() {}

} // namespace detail

/// Why there is no GPU to be used at all: no driver, one that is too old, no device. Nothing: there is.
[[nodiscard]] inline std::optional<std::string> obstacle() {
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaSuccess && count == 0) error = cudaErrorNoDevice;
    if (error == cudaSuccess) return std::nullopt;
    (void)cudaGetLastError();
    return explain(error);
}

namespace detail {
/// Fills in what device `info.number`, which is current, says of itself; the first question that it does not answer is its obstacle.
inline void examine_current_device(DeviceInfo& info) {
    cudaDeviceProp properties{};
    std::size_t available = 0, total = 0;
    cudaError_t error = cudaGetDeviceProperties(&properties, info.number);
    if (error == cudaSuccess) {
        info.name = properties.name;
        info.major = properties.major;
        info.minor = properties.minor;
        info.multiprocessors = properties.multiProcessorCount;
        info.total = static_cast<index_t>(properties.totalGlobalMem);
        info.shared_per_block = static_cast<index_t>(properties.sharedMemPerBlockOptin);
        error = cudaMemGetInfo(&available, &total); // a device may be reserved for another process
        info.free = static_cast<index_t>(available);
    }
    cudaFuncAttributes code{};
    if (error == cudaSuccess) error = cudaFuncGetAttributes(&code, reinterpret_cast<void const*>(&probe<0>));
    info.code = code.binaryVersion;
    info.ptx = code.ptxVersion;
    if (error != cudaSuccess) info.obstacle = explain(error);
}
} // namespace detail

/// The GPU of this number. Never fails: what goes wrong is its obstacle.
[[nodiscard]] inline DeviceInfo examine_device(int number) {
    DeviceInfo info;
    info.number = number;
    int before = 0;
    bool const known = cudaGetDevice(&before) == cudaSuccess;
    if (cudaError_t const error = cudaSetDevice(number); error != cudaSuccess) info.obstacle = explain(error);
    else detail::examine_current_device(info);
    if (known) (void)cudaSetDevice(before);
    (void)cudaGetLastError();
    return info;
}

/// All GPUs that this process may see; none where there is an obstacle(). Never fails.
[[nodiscard]] inline std::vector<DeviceInfo> devices() {
    std::vector<DeviceInfo> found;
    int count = 0;
    if (obstacle() || cudaGetDeviceCount(&count) != cudaSuccess) return found;
    for (int number = 0; number < count; ++number) found.push_back(examine_device(number));
    return found;
}

namespace detail {
/// Of those that can be used, the one with the most free memory, the first of several; null: none can.
[[nodiscard]] inline DeviceInfo const* most_free(std::vector<DeviceInfo> const& all) {
    DeviceInfo const* best = nullptr;
    for (DeviceInfo const& device : all)
        if (device.usable() && (best == nullptr || device.free > best->free)) best = &device;
    return best;
}
} // namespace detail

/// The GPU of this number, or the one that a program takes if none is named (-1): of those that it can run on, the one with the most
/// free memory. Never fails: where there is none to be used its obstacle says why, of each.
[[nodiscard]] inline DeviceInfo find_device(int number = -1) {
    DeviceInfo found;
    if (std::optional<std::string> const reason = obstacle()) {
        found.number = number;
        found.obstacle = *reason;
        return found;
    }
    if (number >= 0) {
        found = examine_device(number);
        if (!found.usable()) found.obstacle = message({"device ", number, ": ", found.obstacle});
        return found;
    }
    std::vector<DeviceInfo> const all = devices();
    if (DeviceInfo const* const best = detail::most_free(all)) return *best;
    found.number = number;
    found.obstacle = "no GPU can run this program";
    for (DeviceInfo const& device : all) found.obstacle += message({device.number == 0 ? ": device " : "; device ", device.number, ", ", device.name, ": ", device.obstacle});
    return found;
}

/// The one that a program takes if none is named. Fails with the reason of each if there is none.
[[nodiscard]] inline DeviceInfo choose_device() {
    DeviceInfo const found = find_device();
    if (!found.usable()) fail("CUDA: " + found.obstacle);
    return found;
}

/// Can a GPU run this program? Never fails.
[[nodiscard]] inline bool available() {
    for (DeviceInfo const& device : devices())
        if (device.usable()) return true;
    return false;
}

} // namespace tenon::cuda
