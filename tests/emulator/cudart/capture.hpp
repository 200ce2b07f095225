/// @file
/// Capture of a stream's work into a graph, and graphs.
#pragma once

#include "stream.hpp"

#include <map>

struct CUgraphNode_st {
    CUgraph_st* graph = nullptr;
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    emu::Work work;
    std::vector<cudaGraphNode_t> after;
    std::vector<void*> argument_pointers; ///< for cudaGraphKernelNodeGetParams
};

struct CUgraph_st {
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
    std::vector<char*> allocations; ///< made while it was captured

    cudaGraphNode_t add(emu::Work work, std::vector<cudaGraphNode_t> after);
};

struct CUgraphExec_st {
    std::shared_ptr<std::vector<emu::GraphNode>> nodes; ///< replaced, not changed, while a launch of it may be waiting
    std::map<cudaGraphNode_t, std::size_t> index;       ///< by the node of the graph that it was made from
    std::vector<cudaGraphNodeType> types;
    unsigned long long flags = 0;
};

namespace emu {

struct Capture {
    CUgraph_st* graph = nullptr;
    Stream* origin = nullptr;
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    unsigned long long number = 0;
    bool valid = true;
    std::vector<Stream*> streams; ///< those that have joined

    void invalidate() { valid = false; }
};

cudaError_t capture_work(Stream&, Work);
/// cudaStreamWaitEvent where the stream or the event belongs to a capture.
cudaError_t capture_wait(Stream&, CUevent_st&);
/// Calls that a capture in global mode does not allow: they return this, and the capture is lost.
cudaError_t forbid_while_capturing();

} // namespace emu
