/// @file
/// Which GPUs there are, whether this program can use them, and which one it takes.
#pragma once

#include <tenon/cuda/runtime.hpp>

#include <cstdio>
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

[[nodiscard]] inline std::string obstacle_on_current_device() {
    cudaFuncAttributes attributes{};
    cudaError_t const error = cudaFuncGetAttributes(&attributes, reinterpret_cast<void const*>(&probe<0>));
    if (error == cudaSuccess) return {};
    (void)cudaGetLastError();
    return explain(error);
}
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

/// All GPUs that this process may see; none where there is an obstacle().
[[nodiscard]] inline std::vector<DeviceInfo> devices() {
    std::vector<DeviceInfo> found;
    if (obstacle()) return found;
    int count = 0;
    check(cudaGetDeviceCount(&count), "counting devices");
    for (int number = 0; number < count; ++number) {
        DeviceInfo info;
        info.number = number;
        cudaDeviceProp properties{};
        check(cudaGetDeviceProperties(&properties, number), "asking for the properties of device", number);
        info.name = properties.name;
        info.major = properties.major;
        info.minor = properties.minor;
        info.multiprocessors = properties.multiProcessorCount;
        info.total = static_cast<index_t>(properties.totalGlobalMem);
        info.shared_per_block = static_cast<index_t>(properties.sharedMemPerBlockOptin);
        DeviceScope const scope{number};
        std::size_t available = 0, total = 0;
        cudaError_t const error = cudaMemGetInfo(&available, &total); // a device may be reserved for another process
        if (error != cudaSuccess) (void)cudaGetLastError();
        info.free = static_cast<index_t>(available);
        info.obstacle = error != cudaSuccess ? explain(error) : detail::obstacle_on_current_device();
        found.push_back(std::move(info));
    }
    return found;
}

/// The GPU that a program takes if none is named: of those that it can run on, the one with the most free memory.
/// Fails with the reason of each if there is none.
[[nodiscard]] inline DeviceInfo choose_device() {
    if (std::optional<std::string> const reason = obstacle()) fail("CUDA: " + *reason);
    DeviceInfo best;
    std::string reasons;
    bool found = false;
    for (DeviceInfo const& device : devices()) {
        if (!device.usable()) reasons += "\n  " + device.name + ": " + device.obstacle;
        else if (!found || device.free > best.free) best = device, found = true;
    }
    if (!found) fail("CUDA: no GPU can run this program:" + reasons);
    return best;
}

/// Can a GPU run this program? Never fails.
[[nodiscard]] inline bool available() {
    for (DeviceInfo const& device : devices())
        if (device.usable()) return true;
    return false;
}

/// A table of the GPUs, the driver and this program's code, for a user to read or to report.
[[nodiscard]] inline std::string device_report() {
    int driver = 0, runtime = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    std::string text = "CUDA runtime " + version_text(runtime) + ", driver for CUDA " + (driver == 0 ? std::string{"(none)"} : version_text(driver)) + "\n";
    if (std::optional<std::string> const reason = obstacle()) return text + *reason + "\n";
    for (DeviceInfo const& d : devices()) {
        char line[512];
        std::snprintf(line, sizeof line, "device %d: %s, compute capability %d.%d, %d multiprocessors, %.1f of %.1f GiB free, %lld KiB shared memory a block, tensor cores: %s\n", d.number, d.name.c_str(),
                      d.major, d.minor, d.multiprocessors, static_cast<double>(d.free) / 0x1p30, static_cast<double>(d.total) / 0x1p30, static_cast<long long>(d.shared_per_block / 1024), d.tensor_types());
        text += line;
        text += d.usable() ? "  this program has code for it\n" : "  " + d.obstacle + "\n";
    }
    return text;
}

} // namespace tenon::cuda
