// Graphs: what they are made of. Executable ones: graph_exec.cpp.
#include "graph.hpp"
#include "call.hpp"
#include "launch.hpp"

#include <algorithm>

namespace emu {

FillWork fill_of(cudaMemsetParams const& p) {
    return {p.dst, p.height > 1 ? p.pitch : p.width * p.elementSize, p.width, p.height, p.value, p.elementSize};
}

CopyWork copy_of(void* to, void const* from, std::size_t bytes, cudaMemcpyKind kind) {
    return {to, from, bytes, bytes, bytes, 1, kind, nullptr};
}

} // namespace emu

using namespace emu;

namespace {

cudaGraphNodeType type_of(Work const& work) {
    switch (work.index()) {
    case 1: return cudaGraphNodeTypeKernel;
    case 2: return cudaGraphNodeTypeMemcpy;
    case 3: return cudaGraphNodeTypeMemset;
    case 4: return cudaGraphNodeTypeHost;
    case 5: return cudaGraphNodeTypeMemAlloc;
    case 6: return cudaGraphNodeTypeMemFree;
    case 7: return cudaGraphNodeTypeEventRecord;
    case 8: return cudaGraphNodeTypeGraph;
    default: return cudaGraphNodeTypeEmpty;
    }
}

template <class Add>
cudaError_t add_node(cudaGraphNode_t* node, cudaGraph_t graph, cudaGraphNode_t const* dependencies, std::size_t count,
                     Add work) {
    return call([&] {
        if (!graph || !node) return cudaErrorInvalidValue;
        Work made = work();
        *node = graph->add(std::move(made), {dependencies, dependencies + count});
        return cudaSuccess;
    });
}

} // namespace

cudaGraphNode_t CUgraph_st::add(Work work, std::vector<cudaGraphNode_t> after) {
    auto node = std::make_unique<CUgraphNode_st>();
    node->graph = this;
    node->type = type_of(work);
    if (auto const* const allocate = std::get_if<AllocateWork>(&work)) allocations.push_back(allocate->memory);
    node->work = std::move(work);
    node->after = std::move(after);
    nodes.push_back(std::move(node));
    return nodes.back().get();
}

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
    return call([&] { return *graph = new CUgraph_st, cudaSuccess; });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    return call([&] {
        if (!graph) return cudaErrorInvalidValue;
        delete graph;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, cudaGraphNode_t const* dependencies,
                                   std::size_t count, cudaKernelNodeParams const* p) {
    KernelWork work;
    cudaError_t const error = call([&] { return make_kernel_work(work, *p); });
    return error != cudaSuccess ? error : add_node(node, graph, dependencies, count, [&]() -> Work { return work; });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, cudaGraphNode_t const* dependencies,
                                     std::size_t count, void* to, void const* from, std::size_t bytes,
                                     cudaMemcpyKind kind) {
    CopyWork const work = copy_of(to, from, bytes, kind);
    cudaError_t const error = call([&] { return check(work, "cudaGraphAddMemcpyNode1D"); });
    return error != cudaSuccess ? error : add_node(node, graph, dependencies, count, [&]() -> Work { return work; });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, cudaGraphNode_t const* dependencies,
                                   std::size_t count, cudaMemsetParams const* p) {
    cudaError_t const error = call([&] { return check(fill_of(*p), "cudaGraphAddMemsetNode"); });
    return error != cudaSuccess ? error
                                : add_node(node, graph, dependencies, count, [&]() -> Work { return fill_of(*p); });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, cudaGraphNode_t const* dependencies,
                                 std::size_t count, cudaHostNodeParams const* p) {
    auto const function = p->fn;
    auto* const data = p->userData;
    return add_node(node, graph, dependencies, count, [&]() -> Work {
        return HostWork{[=] { function(data); }, function, data};
    });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, cudaGraphNode_t const* dependencies,
                                  std::size_t count) {
    return add_node(node, graph, dependencies, count, []() -> Work { return EmptyWork{}; });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t, cudaGraphNode_t const* from, cudaGraphNode_t const* to,
                                     cudaGraphEdgeData const*, std::size_t count) {
    return call([&] {
        for (std::size_t i = 0; i < count; ++i) to[i]->after.push_back(from[i]);
        return cudaSuccess;
    });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
    return call([&] {
        if (!graph || !count) return cudaErrorInvalidValue;
        if (nodes)
            for (std::size_t i = 0; i < std::min(*count, graph->nodes.size()); ++i) nodes[i] = graph->nodes[i].get();
        *count = graph->nodes.size();
        return cudaSuccess;
    });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
    return call([&] { return *type = node->type, cudaSuccess; });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* before, cudaGraphEdgeData*,
                                         std::size_t* count) {
    return call([&] {
        if (before)
            for (std::size_t i = 0; i < std::min(*count, node->after.size()); ++i) before[i] = node->after[i];
        *count = node->after.size();
        return cudaSuccess;
    });
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData*,
                              std::size_t* count) {
    return call([&] {
        std::size_t edges = 0;
        for (auto const& node : graph->nodes)
            for (cudaGraphNode_t before : node->after) {
                if (from && edges < *count) from[edges] = before, to[edges] = node.get();
                ++edges;
            }
        *count = edges;
        return cudaSuccess;
    });
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* p) {
    return call([&] {
        auto* const work = node ? std::get_if<KernelWork>(&node->work) : nullptr;
        if (!work) return cudaErrorInvalidValue;
        node->argument_pointers.clear();
        for (std::size_t offset : work->offsets) node->argument_pointers.push_back(work->arguments.data() + offset);
        *p = {};
        p->func = const_cast<void*>(work->function->host);
        p->gridDim = {work->grid.x, work->grid.y, work->grid.z};
        p->blockDim = {work->block.x, work->block.y, work->block.z};
        p->sharedMemBytes = work->dynamic_shared;
        p->kernelParams = node->argument_pointers.data();
        return cudaSuccess;
    });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, cudaKernelNodeParams const* p) {
    return call([&] {
        auto* const work = node ? std::get_if<KernelWork>(&node->work) : nullptr;
        return work ? make_kernel_work(*work, *p) : cudaErrorInvalidValue;
    });
}

} // extern "C"
