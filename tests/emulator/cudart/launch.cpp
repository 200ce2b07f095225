// Registration of the host program's fatbins, kernels and variables (what nvcc's generated code calls), and launches.
#include "launch.hpp"
#include "call.hpp"
#include "device.hpp"
#include "failures.hpp"
#include "execution/registry.hpp"
#include "execution/report.hpp"
#include "stream.hpp"
#include "symbol.hpp"

#include <cstring>
#include <map>

namespace emu {
namespace {

/// What __cudaRegisterFatBinary is given: nvcc's wrapper of the fatbin (fatbinary_section.h of the toolkit).
struct FatbinWrapper {
    int magic, version;
    char const* data;
    void* more;
};
struct FatbinHeader {
    std::uint32_t magic;
    std::uint16_t version, header_bytes;
    std::uint64_t payload_bytes;
};
struct FatbinEntry {
    std::uint16_t kind, version;
    std::uint32_t header_bytes;
    std::uint64_t bytes;
};

/// The translation of the first PTX text of the fatbin that has one.
ModuleTable const* module_of(FatbinWrapper const& wrapper) {
    FatbinHeader header;
    std::memcpy(&header, wrapper.data, sizeof header);
    char const* at = wrapper.data + header.header_bytes;
    char const* const end = at + header.payload_bytes;
    while (at + sizeof(FatbinEntry) <= end) {
        FatbinEntry entry;
        std::memcpy(&entry, at, sizeof entry);
        char const* const text = at + entry.header_bytes;
        std::size_t length = entry.bytes;
        while (length && text[length - 1] == 0) --length;
        if (entry.kind == 1)
            if (ModuleTable const* const module = find_module(fingerprint(text, length))) return module;
        if (entry.header_bytes + entry.bytes == 0) break;
        at = text + entry.bytes;
    }
    return nullptr;
}

struct Handle {
    ModuleTable const* module;
};

/// Used before this file is initialised: made at the first call.
std::map<void const*, Function>& functions() {
    static auto* const all = new std::map<void const*, Function>;
    return *all;
}

struct Configuration {
    dim3 grid, block;
    std::size_t shared;
    cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

Dimensions dimensions(dim3 d) { return {d.x, d.y, d.z}; }

/// The arguments, one after the other at their alignments.
cudaError_t copy_arguments(KernelWork& work, void* const* arguments) {
    Kernel const* const kernel = work.function->kernel;
    if (!kernel) return check(work);
    if (kernel->parameter_count && !arguments) return cudaErrorInvalidValue;
    work.arguments.clear();
    work.offsets.clear();
    for (std::uint32_t i = 0; i < kernel->parameter_count; ++i) {
        KernelParameter const& p = kernel->parameters[i];
        std::size_t const offset = (work.arguments.size() + p.align - 1) / p.align * p.align;
        work.arguments.resize(offset + p.size);
        std::memcpy(work.arguments.data() + offset, arguments[i], p.size);
        work.offsets.push_back(offset);
    }
    return check(work);
}

cudaError_t launch(void const* host, dim3 grid, dim3 block, void** arguments, std::size_t shared, cudaStream_t stream,
                   bool cooperative) {
    return call([&] {
        Function const* const function = find_function(host);
        if (!function) return cudaErrorInvalidDeviceFunction;
        if (fails(Failing::launch)) return cudaErrorLaunchOutOfResources;
        KernelWork work{
            function, dimensions(grid), dimensions(block), static_cast<std::uint32_t>(shared), cooperative, {}, {}};
        cudaError_t const error = copy_arguments(work, arguments);
        return error != cudaSuccess ? error : submit(stream, std::move(work));
    });
}

} // namespace

Function* find_function(void const* host) {
    auto const found = functions().find(host);
    if (found != functions().end()) return &found->second;
    for (auto& [address, function] : functions()) // a cudaKernel_t in place of the host function
        if (&function == host) return &function;
    return nullptr;
}

cudaError_t make_kernel_work(KernelWork& work, cudaKernelNodeParams const& p) {
    Function const* const function = find_function(p.func);
    if (!function || !p.kernelParams) return cudaErrorInvalidValue;
    KernelWork made{function, dimensions(p.gridDim), dimensions(p.blockDim), p.sharedMemBytes, work.cooperative, {},
                    {}};
    cudaError_t const error = copy_arguments(made, p.kernelParams);
    if (error == cudaSuccess) work = std::move(made);
    return error;
}

} // namespace emu

using namespace emu;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
    return reinterpret_cast<void**>(new Handle{module_of(*static_cast<FatbinWrapper const*>(wrapper))});
}

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void** handle, char const* host, char*, char const* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
    ModuleTable const* const module = reinterpret_cast<Handle*>(handle)->module;
    Function& function = functions()[host];
    function.module = module;
    function.kernel = module ? find_kernel(*module, name) : nullptr;
    function.host = host;
    function.name = name;
}

void __cudaRegisterVar(void** handle, char* host, char*, char const* name, int, std::size_t, int, int) {
    if (ModuleTable const* const module = reinterpret_cast<Handle*>(handle)->module)
        register_symbol(host, find_variable(*module, name));
}

void __cudaRegisterManagedVar(void** handle, void** host, char*, char const* name, int, std::size_t, int, int) {
    ModuleTable const* const module = reinterpret_cast<Handle*>(handle)->module;
    Variable const* const variable = module ? find_variable(*module, name) : nullptr;
    if (variable) *host = variable->address;
    register_symbol(host, variable);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, CUstream_st* stream) {
    configurations.push_back({grid, block, shared, stream});
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
    if (configurations.empty()) return cudaErrorMissingConfiguration;
    Configuration const c = configurations.back();
    configurations.pop_back();
    *grid = c.grid, *block = c.block, *shared = c.shared;
    *static_cast<cudaStream_t*>(stream) = c.stream;
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, void const* host) {
    *kernel = find_function(host);
    return *kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, void const* host) { return __cudaGetKernel(kernel, host); }

cudaError_t cudaLaunchKernel(void const* host, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t stream) {
    return launch(host, grid, block, arguments, shared, stream, false);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                               cudaStream_t stream) {
    return launch(kernel, grid, block, arguments, shared, stream, false);
}

cudaError_t cudaLaunchCooperativeKernel(void const* host, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                        cudaStream_t stream) {
    return launch(host, grid, block, arguments, shared, stream, true);
}

cudaError_t cudaLaunchKernelExC(cudaLaunchConfig_t const* c, void const* host, void** arguments) {
    bool cooperative = false;
    for (unsigned i = 0; i < c->numAttrs; ++i) {
        cudaLaunchAttribute const& a = c->attrs[i];
        if (a.id == cudaLaunchAttributeCooperative) cooperative = a.val.cooperative != 0;
        if (a.id == cudaLaunchAttributeClusterDimension &&
            a.val.clusterDim.x * a.val.clusterDim.y * a.val.clusterDim.z > 1) {
            warn("cudaLaunchKernelEx: clusters of more than one block are not emulated");
            return record_error(cudaErrorNotSupported);
        }
    }
    return launch(host, c->gridDim, c->blockDim, arguments, c->dynamicSmemBytes, c->stream, cooperative);
}

} // extern "C"
