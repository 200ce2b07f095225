/// @file
/// What a stream carries out, and what a graph's node does: one description for both, so that capture only redirects
/// it.
#pragma once

#include "execution/grid.hpp"
#include "execution/memory.hpp"

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <variant>
#include <vector>

/// A kernel as the host program knows it. (CUDA leaves the type of the handle cudaKernel_t open.)
struct CUkern_st {
    emu::ModuleTable const* module = nullptr;
    emu::Kernel const* kernel = nullptr; ///< null: its module was not translated
    void const* host = nullptr;          ///< what the host program calls it by
    std::string name;
    int max_dynamic_shared = -1; ///< set by cudaFuncSetAttribute; -1: what 48 KiB leave
};

namespace emu {

using Function = CUkern_st;

struct KernelWork {
    Function const* function = nullptr;
    Dimensions grid, block;
    std::uint32_t dynamic_shared = 0;
    bool cooperative = false;
    std::vector<char> arguments; ///< copied at the launch, each at its own alignment
    std::vector<std::size_t> offsets;
};

struct CopyWork {
    void* to = nullptr;
    void const* from = nullptr;
    std::size_t to_pitch = 0, from_pitch = 0, width = 0, height = 1;
    cudaMemcpyKind kind = cudaMemcpyDefault;
    std::shared_ptr<std::vector<char>> staged; ///< pageable host memory is read when the copy is asked for
};

struct FillWork {
    void* to = nullptr;
    std::size_t pitch = 0, width = 0, height = 1; ///< width in elements
    unsigned value = 0, element_size = 1;
};

struct HostWork {
    std::function<void()> function;
    cudaHostFn_t call = nullptr; ///< as a graph's node shows it
    void* data = nullptr;
};

struct AllocateWork {
    char* memory = nullptr;
};

struct FreeWork {
    char* memory = nullptr;
    bool in_graph = false; ///< the graph keeps the address for its next launch
};

struct EventWork {
    cudaEvent_t event = nullptr;
};

struct GraphNode;
struct GraphWork {
    std::shared_ptr<std::vector<GraphNode> const> nodes;
};

struct EmptyWork {};

using Work =
    std::variant<EmptyWork, KernelWork, CopyWork, FillWork, HostWork, AllocateWork, FreeWork, EventWork, GraphWork>;

/// A node of an executable graph: its work and the indices of the nodes before it.
struct GraphNode {
    Work work;
    std::vector<std::size_t> after;
};

/// Does it now. A fault of a kernel becomes the sticky error.
void execute(Work const&);

/// Whether the runtime would accept it: pointers, directions, sizes. Says what is wrong on stderr.
cudaError_t check(CopyWork const&, char const* function);
cudaError_t check(FillWork const&, char const* function);
cudaError_t check(KernelWork const&);

} // namespace emu
