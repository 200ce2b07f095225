#include "capture.hpp"
#include "call.hpp"
#include "event.hpp"

#include <algorithm>

namespace emu {
namespace {

std::vector<std::shared_ptr<Capture>> active;
thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

bool is_before(cudaGraphNode_t node, cudaGraphNode_t other) {
    std::vector<cudaGraphNode_t> left{other};
    std::vector<cudaGraphNode_t> seen;
    while (!left.empty()) {
        cudaGraphNode_t const at = left.back();
        left.pop_back();
        if (at == node) return true;
        if (std::find(seen.begin(), seen.end(), at) != seen.end()) continue;
        seen.push_back(at);
        left.insert(left.end(), at->after.begin(), at->after.end());
    }
    return false;
}

/// Every node must come before the origin's last ones, or the graph would end with work that nothing waits for.
bool all_joined(Capture const& capture) {
    for (Stream const* stream : capture.streams) {
        if (stream == capture.origin) continue;
        for (cudaGraphNode_t node : stream->tail)
            if (std::none_of(capture.origin->tail.begin(), capture.origin->tail.end(),
                             [&](cudaGraphNode_t last) { return is_before(node, last); }))
                return false;
    }
    return true;
}

} // namespace

cudaError_t capture_work(Stream& stream, Work work) {
    if (!stream.capture->valid) return cudaErrorStreamCaptureInvalidated;
    if (auto* const free = std::get_if<FreeWork>(&work)) free->in_graph = true;
    stream.tail = {stream.capture->graph->add(std::move(work), stream.tail)};
    return cudaSuccess;
}

cudaError_t capture_wait(Stream& stream, CUevent_st& event) {
    if (!event.capture) {
        // An event of ordinary work: what came before the capture is done before the graph can be launched, but CUDA
        // refuses it.
        stream.capture->invalidate();
        return cudaErrorStreamCaptureIsolation;
    }
    if (!event.capture->valid) return cudaErrorStreamCaptureInvalidated;
    if (stream.capture && stream.capture != event.capture) {
        stream.capture->invalidate();
        event.capture->invalidate();
        return cudaErrorStreamCaptureMerge;
    }
    if (&stream == &legacy_stream()) return cudaErrorStreamCaptureImplicit;
    if (!stream.capture) {
        stream.capture = event.capture;
        stream.capture->streams.push_back(&stream);
        stream.tail.clear();
    }
    for (cudaGraphNode_t node : event.tail)
        if (std::find(stream.tail.begin(), stream.tail.end(), node) == stream.tail.end()) stream.tail.push_back(node);
    return cudaSuccess;
}

cudaError_t forbid_while_capturing() {
    if (thread_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
    cudaError_t result = cudaSuccess;
    for (auto const& capture : active) {
        if (capture->mode == cudaStreamCaptureModeRelaxed) continue;
        capture->invalidate();
        result = cudaErrorStreamCaptureUnsupported;
    }
    return result;
}

} // namespace emu

using namespace emu;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
    return call([&] {
        static unsigned long long count = 0;
        Stream* const stream = find_stream(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (stream == &legacy_stream()) return cudaErrorStreamCaptureUnsupported;
        if (stream->capture) return cudaErrorIllegalState;
        stream->capture = std::make_shared<Capture>();
        *stream->capture = {new CUgraph_st, stream, mode, ++count, true, {stream}};
        stream->tail.clear();
        active.push_back(stream->capture);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
    return call([&] {
        Stream* const stream = find_stream(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        if (!stream->capture) return cudaErrorIllegalState;
        if (stream->capture->origin != stream) return cudaErrorStreamCaptureUnmatched;
        auto const capture = stream->capture;
        bool const joined = all_joined(*capture);
        for (Stream* member : capture->streams) {
            member->capture.reset();
            member->tail.clear();
        }
        std::erase(active, capture);
        bool const good = capture->valid && joined;
        if (good) *graph = capture->graph;
        else *graph = nullptr, delete capture->graph;
        return good ? cudaSuccess : capture->valid ? cudaErrorStreamCaptureUnjoined : cudaErrorStreamCaptureInvalidated;
    });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
    return call([&] {
        Stream* const stream = find_stream(handle);
        if (!stream) return cudaErrorInvalidResourceHandle;
        *status = !stream->capture         ? cudaStreamCaptureStatusNone
                  : stream->capture->valid ? cudaStreamCaptureStatusActive
                                           : cudaStreamCaptureStatusInvalidated;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, cudaGraphNode_t const** dependencies,
                                     cudaGraphEdgeData const** edges, std::size_t* count) {
    cudaError_t const error = cudaStreamIsCapturing(handle, status);
    if (error != cudaSuccess || *status != cudaStreamCaptureStatusActive) return error;
    Stream* const stream = find_stream(handle);
    if (id) *id = stream->capture->number;
    if (graph) *graph = stream->capture->graph;
    if (dependencies) *dependencies = stream->tail.data();
    if (edges) *edges = nullptr;
    if (count) *count = stream->tail.size();
    return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    return call([&] { return std::swap(*mode, thread_mode), cudaSuccess; });
}

} // extern "C"
