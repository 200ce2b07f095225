/// @file
/// The CUDA runtime, and the only file that calls it for memory, streams and graphs: every call is checked, every resource has an
/// owner. A port to another runtime with the same model changes this file, device.hpp, launch.hpp and block.hpp.
#pragma once

#include <tenon/core/config.hpp>
#include <tenon/core/error.hpp>

#include <cuda_runtime.h>

#include <string>
#include <utility>
#include <vector>

namespace tenon::cuda {

/// "12.8" from the runtime's 12080.
[[nodiscard]] inline std::string version_text(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

/// What an error code means for a user of this library, and what can be done about it.
[[nodiscard]] inline std::string explain(cudaError_t error) {
    std::string const what = std::string{cudaGetErrorName(error)} + " (" + cudaGetErrorString(error) + ")";
    int driver = 0, runtime = 0;
    switch (error) {
    case cudaErrorInsufficientDriver:
        (void)cudaDriverGetVersion(&driver);
        (void)cudaRuntimeGetVersion(&runtime);
        if (driver == 0) return what + ": no NVIDIA driver is loaded. Install one, or run on the CPU";
        return what + ": this program needs a driver for CUDA " + version_text(runtime) + ", the one that is loaded supports " + version_text(driver) +
               ". Update the driver, or run on the CPU";
    case cudaErrorNoDevice: return what + ": there is no GPU that this process may use. See CUDA_VISIBLE_DEVICES, or run on the CPU";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidPtx:
    case cudaErrorUnsupportedPtxVersion:
        return what + ": this program holds no code for this GPU. Compile it for the GPU's compute capability (nvcc -arch=native, or a list that has it), or run on the CPU";
    case cudaErrorMemoryAllocation: return what + ": the GPU's memory is used up. Free some, or take a smaller batch";
    case cudaErrorInvalidDevice: {
        int count = 0;
        (void)cudaGetDeviceCount(&count);
        return what + message({": devices are numbered from 0, and this process may use ", count, ". See CUDA_VISIBLE_DEVICES"});
    }
    case cudaErrorLaunchOutOfResources:
        return what + ": a kernel takes more registers or shared memory than this GPU has. Compile without -G and -maxrregcount, or run on the CPU";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorHardwareStackError:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
        return what + ": a kernel has failed, and this process can use the GPU no more. A trainer on Cuda{.graphs = false} names the stage, compute-sanitizer the line. Start "
                      "the program again, or go on on the CPU";
    default: return what;
    }
}

/// Fails unless `error` is success. An error that can be recovered from is cleared, so that later calls do not report it again.
/// @param number part of the message unless negative: bytes, or whatever `what` speaks of
inline void check(cudaError_t error, char const* what, index_t number = -1) {
    if (error == cudaSuccess) return;
    (void)cudaGetLastError();
    fail(std::string{"CUDA: "} + what + (number < 0 ? std::string{} : " " + std::to_string(number)) + ": " + explain(error));
}

/// Makes `device` current for a scope.
class DeviceScope {
public:
    explicit DeviceScope(int device) {
        check(cudaGetDevice(&before_), "asking for the current device");
        changed_ = before_ != device;
        if (changed_) check(cudaSetDevice(device), "choosing device", device);
    }
    ~DeviceScope() {
        if (changed_) (void)cudaSetDevice(before_);
    }
    DeviceScope(DeviceScope const&) = delete;
    DeviceScope& operator=(DeviceScope const&) = delete;

private:
    int before_ = 0;
    bool changed_ = false;
};

/// A handle with its release.
template <class Handle, cudaError_t (*Release)(Handle)>
class Owned {
public:
    Owned() = default;
    explicit Owned(Handle handle) : handle_{handle} {}
    Owned(Owned&& other) noexcept : handle_{std::exchange(other.handle_, Handle{})} {}
    Owned& operator=(Owned&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Owned() {
        if (handle_ != Handle{}) (void)Release(handle_);
    }
    [[nodiscard]] Handle get() const { return handle_; }

private:
    Handle handle_{};
};

namespace detail {
inline cudaError_t release_device(void* p) { return cudaFree(p); }
inline cudaError_t release_host(void* p) { return cudaFreeHost(p); }
inline cudaError_t release_stream(cudaStream_t s) { return cudaStreamDestroy(s); }
inline cudaError_t release_event(cudaEvent_t e) { return cudaEventDestroy(e); }
inline cudaError_t release_graph(cudaGraph_t g) { return cudaGraphDestroy(g); }
inline cudaError_t release_executable(cudaGraphExec_t g) { return cudaGraphExecDestroy(g); }
} // namespace detail

using DeviceMemory = Owned<void*, &detail::release_device>;
using PinnedMemory = Owned<void*, &detail::release_host>;
using Stream = Owned<cudaStream_t, &detail::release_stream>;
using Event = Owned<cudaEvent_t, &detail::release_event>;
using Graph = Owned<cudaGraph_t, &detail::release_graph>;
using GraphExecutable = Owned<cudaGraphExec_t, &detail::release_executable>;

struct MemoryInfo {
    index_t free = 0, total = 0; ///< bytes
};
/// Of the current device.
[[nodiscard]] inline MemoryInfo memory_info() {
    std::size_t available = 0, total = 0;
    check(cudaMemGetInfo(&available, &total), "asking for the free memory");
    return {static_cast<index_t>(available), static_cast<index_t>(total)};
}

/// Bytes on the current device; nothing where there is no room.
[[nodiscard]] inline DeviceMemory try_device_memory(index_t bytes) {
    void* p = nullptr;
    cudaError_t const error = cudaMalloc(&p, static_cast<std::size_t>(bytes < 1 ? 1 : bytes));
    if (error != cudaErrorMemoryAllocation) check(error, "allocating on the device, bytes:", bytes);
    else (void)cudaGetLastError();
    return DeviceMemory{error == cudaSuccess ? p : nullptr};
}

/// Bytes on the current device.
[[nodiscard]] inline DeviceMemory device_memory(index_t bytes) {
    DeviceMemory memory = try_device_memory(bytes);
    if (memory.get() == nullptr) {
        MemoryInfo const there = memory_info();
        fail({"CUDA: ", bytes, " bytes of the device's memory were asked for; of ", there.total, " bytes ", there.free, " are free. Free some, or take a smaller batch"});
    }
    return memory;
}

/// Page-locked bytes on the host: what asynchronous copies need.
[[nodiscard]] inline PinnedMemory pinned_memory(index_t bytes) {
    void* p = nullptr;
    check(cudaMallocHost(&p, static_cast<std::size_t>(bytes < 1 ? 1 : bytes)), "allocating page-locked memory, bytes:", bytes);
    return PinnedMemory{p};
}

/// A stream that does not wait for the default stream.
[[nodiscard]] inline Stream make_stream() {
    cudaStream_t s{};
    check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "creating a stream");
    return Stream{s};
}

/// An event that knows when it came to pass.
[[nodiscard]] inline Event make_timer() {
    cudaEvent_t e{};
    check(cudaEventCreateWithFlags(&e, cudaEventDefault), "creating a timer");
    return Event{e};
}
/// An event that is only waited for.
[[nodiscard]] inline Event make_event() {
    cudaEvent_t e{};
    check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "creating an event");
    return Event{e};
}

// --- work in the order of a stream

inline void copy_to_device(void* to, void const* from, index_t bytes, cudaStream_t stream) {
    if (bytes > 0) check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice, stream), "copying to the device, bytes:", bytes);
}
inline void copy_to_host(void* to, void const* from, index_t bytes, cudaStream_t stream) {
    if (bytes > 0) check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, stream), "copying from the device, bytes:", bytes);
}
/// Sets every byte.
inline void fill_device(void* to, int byte, index_t bytes, cudaStream_t stream) {
    if (bytes > 0) check(cudaMemsetAsync(to, byte, static_cast<std::size_t>(bytes), stream), "filling memory of the device, bytes:", bytes);
}
inline void wait(cudaStream_t stream, char const* what) { check(cudaStreamSynchronize(stream), what); }
inline void record(Event const& event, cudaStream_t stream) { check(cudaEventRecord(event.get(), stream), "recording an event"); }
/// What `stream` is given from now on waits for the event.
inline void wait_for(cudaStream_t stream, Event const& event) { check(cudaStreamWaitEvent(stream, event.get(), 0), "waiting for another stream"); }
inline void wait(Event const& event, char const* what) { check(cudaEventSynchronize(event.get()), what); }

/// Between two timers that have come to pass.
[[nodiscard]] inline double seconds_between(Event const& from, Event const& to) {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), "reading a timer");
    return 1e-3 * static_cast<double>(milliseconds);
}

/// Whatever `work` sends to `stream`, recorded as one graph and not run.
template <class Work>
[[nodiscard]] Graph capture(cudaStream_t stream, Work const& work) {
    struct Scope { // however `work` ends, the stream captures no longer
        cudaStream_t stream;
        bool open = true;
        cudaError_t end(cudaGraph_t& graph) {
            open = false;
            return cudaStreamEndCapture(stream, &graph);
        }
        ~Scope() {
            cudaGraph_t unfinished{};
            if (open && end(unfinished) == cudaSuccess) (void)cudaGraphDestroy(unfinished);
            (void)cudaGetLastError();
        }
    };
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning to capture a step");
    Scope scope{stream};
    work();
    cudaGraph_t graph{};
    check(scope.end(graph), "capturing a step");
    return Graph{graph};
}
[[nodiscard]] inline GraphExecutable instantiate(Graph const& graph) {
    cudaGraphExec_t executable{};
    check(cudaGraphInstantiate(&executable, graph.get(), 0), "preparing a captured step");
    return GraphExecutable{executable};
}
inline void launch(GraphExecutable const& graph, cudaStream_t stream) { check(cudaGraphLaunch(graph.get(), stream), "launching a captured step"); }

/// How many kernels a graph launches.
[[nodiscard]] inline int kernel_count(Graph const& graph) {
    std::size_t count = 0;
    check(cudaGraphGetNodes(graph.get(), nullptr, &count), "asking for a graph's nodes");
    std::vector<cudaGraphNode_t> nodes(count);
    cudaError_t error = cudaGraphGetNodes(graph.get(), nodes.data(), &count);
    int kernels = 0;
    for (std::size_t i = 0; error == cudaSuccess && i < count; ++i) {
        cudaGraphNodeType type{};
        error = cudaGraphNodeGetType(nodes[i], &type);
        if (type == cudaGraphNodeTypeKernel) ++kernels;
    }
    check(error, "asking for a graph's nodes");
    return kernels;
}

} // namespace tenon::cuda
