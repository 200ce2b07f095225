// Executable graphs: instantiation, launch, update.
#include "call.hpp"
#include "counts.hpp"
#include "graph.hpp"
#include "launch.hpp"

#include <algorithm>

using namespace emu;

namespace {

/// The parts of an executable graph, in the order of the graph's nodes; empty where the edges make a circle.
std::shared_ptr<std::vector<GraphNode>> compile(CUgraph_st const& graph,
                                                std::map<cudaGraphNode_t, std::size_t>& index) {
    index.clear();
    for (auto const& node : graph.nodes) index.emplace(node.get(), index.size());
    auto nodes = std::make_shared<std::vector<GraphNode>>(graph.nodes.size());
    for (auto const& node : graph.nodes) {
        GraphNode& target = (*nodes)[index[node.get()]];
        target.work = node->work;
        for (cudaGraphNode_t before : node->after) target.after.push_back(index.at(before));
    }
    std::vector<bool> done(nodes->size(), false);
    for (std::size_t left = nodes->size(); left > 0;) {
        std::size_t const before = left;
        for (std::size_t i = 0; i < nodes->size(); ++i)
            if (!done[i] &&
                std::all_of((*nodes)[i].after.begin(), (*nodes)[i].after.end(), [&](std::size_t j) { return done[j]; }))
                done[i] = true, --left;
        if (left == before) return nullptr;
    }
    return nodes;
}

/// Changes one node of an executable graph. Launches that wait keep what they were launched with.
template <class Change>
cudaError_t change_node(cudaGraphExec_t exec, cudaGraphNode_t node, Change change) {
    return call([&]() -> cudaError_t {
        if (!exec) return cudaErrorInvalidValue;
        auto const found = exec->index.find(node);
        if (found == exec->index.end()) return cudaErrorInvalidValue;
        auto nodes = std::make_shared<std::vector<GraphNode>>(*exec->nodes);
        cudaError_t const error = change((*nodes)[found->second].work);
        if (error == cudaSuccess) exec->nodes = nodes;
        return error;
    });
}

} // namespace

extern "C" {

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
    count(Counted::graph_made);
    return call([&] {
        if (!graph || !exec) return cudaErrorInvalidValue;
        auto made = std::make_unique<CUgraphExec_st>();
        made->nodes = compile(*graph, made->index);
        if (!made->nodes) return cudaErrorInvalidValue;
        for (auto const& node : graph->nodes) made->types.push_back(node->type);
        made->flags = flags;
        *exec = made.release();
        return cudaSuccess;
    });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
    return cudaGraphInstantiate(exec, graph, flags);
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
    return call([&] { return *flags = exec->flags, cudaSuccess; });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    return call([&] {
        if (!exec) return cudaErrorInvalidValue;
        delete exec; // launches that wait hold the nodes themselves
        return cudaSuccess;
    });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
    return call([&] { return exec && find_stream(stream) ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    count(Counted::graph_launch);
    return call([&] { return exec ? submit(stream, GraphWork{exec->nodes}) : cudaErrorInvalidValue; });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             cudaKernelNodeParams const* p) {
    return change_node(exec, node, [&](Work& work) {
        auto* const kernel = std::get_if<KernelWork>(&work);
        return kernel ? make_kernel_work(*kernel, *p) : cudaErrorInvalidValue;
    });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to, void const* from,
                                               std::size_t bytes, cudaMemcpyKind kind) {
    return change_node(exec, node, [&](Work& work) {
        CopyWork const copy = copy_of(to, from, bytes, kind);
        cudaError_t const error = std::holds_alternative<CopyWork>(work)
                                      ? check(copy, "cudaGraphExecMemcpyNodeSetParams1D")
                                      : cudaErrorInvalidValue;
        if (error == cudaSuccess) work = copy;
        return error;
    });
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaMemsetParams const* p) {
    return change_node(exec, node, [&](Work& work) {
        cudaError_t const error = std::holds_alternative<FillWork>(work)
                                      ? check(fill_of(*p), "cudaGraphExecMemsetNodeSetParams")
                                      : cudaErrorInvalidValue;
        if (error == cudaSuccess) work = fill_of(*p);
        return error;
    });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result) {
    return call([&] {
        if (!exec || !graph || !result) return cudaErrorInvalidValue;
        *result = {};
        std::map<cudaGraphNode_t, std::size_t> index;
        auto const nodes = compile(*graph, index);
        bool same = nodes && nodes->size() == exec->nodes->size();
        for (std::size_t i = 0; same && i < nodes->size(); ++i)
            same = graph->nodes[i]->type == exec->types[i] && (*nodes)[i].after == (*exec->nodes)[i].after;
        if (!same) {
            result->result = cudaGraphExecUpdateErrorTopologyChanged;
            return cudaErrorGraphExecUpdateFailure;
        }
        exec->nodes = nodes;
        exec->index.merge(index); // nodes of either graph name it from now on
        result->result = cudaGraphExecUpdateSuccess;
        return cudaSuccess;
    });
}

} // extern "C"
