#include "stream.hpp"
#include "call.hpp"
#include "capture.hpp"
#include "counts.hpp"
#include "device.hpp"
#include "event.hpp"
#include "execution/random.hpp"
#include "execution/settings.hpp"

#include <algorithm>
#include <list>

namespace emu {
namespace {

/// All streams ever made: a destroyed one may have work left, and its address must not be taken for another's.
std::list<Stream>& streams() {
    static std::list<Stream>* const all = new std::list<Stream>;
    return *all;
}

Stream& make_stream() {
    Stream& stream = streams().emplace_back();
    stream.number = streams().size();
    stream.device = current_device();
    return stream;
}

/// What must come before new work of the stream.
std::vector<OperationPtr> predecessors(Stream& stream) {
    std::vector<OperationPtr> before = std::move(stream.extra);
    stream.extra.clear();
    if (stream.last) before.push_back(stream.last);
    if (&stream == &legacy_stream()) {
        for (Stream& other : streams())
            if (other.blocking && &other != &stream && other.last) before.push_back(other.last);
    } else if (stream.blocking && legacy_stream().last) {
        before.push_back(legacy_stream().last);
    }
    return before;
}

OperationPtr enqueue(Stream& stream, Work work) {
    auto operation = std::make_shared<Operation>();
    operation->work = std::move(work);
    operation->after = predecessors(stream);
    stream.last = operation;
    if (!settings().lazy_streams) complete(operation);
    return operation;
}

/// The legacy stream cannot be used while a blocking stream captures: its work would be ordered behind a graph not
/// yet run.
cudaError_t legacy_conflict() {
    for (Stream& stream : streams()) {
        if (!stream.capture || !stream.blocking) continue;
        stream.capture->invalidate();
        return cudaErrorStreamCaptureImplicit;
    }
    return cudaSuccess;
}

} // namespace

Stream& legacy_stream() {
    static Stream& stream = make_stream();
    return stream;
}

Stream* find_stream(cudaStream_t handle) {
    if (handle == nullptr || handle == cudaStreamLegacy) return &legacy_stream();
    if (handle == cudaStreamPerThread) {
        thread_local Stream* const own = &make_stream();
        return own;
    }
    for (Stream& stream : streams())
        if (&stream == handle) return stream.alive ? &stream : nullptr;
    return nullptr;
}

cudaError_t submit(cudaStream_t handle, Work work) {
    Stream* const stream = find_stream(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (stream->capture) return capture_work(*stream, std::move(work));
    if (stream == &legacy_stream())
        if (cudaError_t const error = legacy_conflict(); error != cudaSuccess) return error;
    enqueue(*stream, std::move(work));
    return sticky_error();
}

cudaError_t submit_synchronous(Work work, bool wait) {
    if (cudaError_t const error = forbid_while_capturing(); error != cudaSuccess) return error;
    if (cudaError_t const error = legacy_conflict(); error != cudaSuccess) return error;
    OperationPtr const operation = enqueue(legacy_stream(), std::move(work));
    if (wait) complete(operation);
    return sticky_error();
}

void complete(OperationPtr const& last) {
    // Chains can be long: an explicit stack instead of recursion.
    std::vector<OperationPtr> stack{last};
    while (!stack.empty()) {
        OperationPtr const operation = stack.back();
        if (operation->done) {
            stack.pop_back();
            continue;
        }
        auto const pending = std::find_if(operation->after.begin(), operation->after.end(),
                                          [](OperationPtr const& o) { return !o->done; });
        if (pending != operation->after.end()) {
            stack.push_back(*pending);
            continue;
        }
        operation->done = true; // before it runs: a callback may synchronise
        operation->after.clear();
        execute(operation->work);
        operation->work = EmptyWork{}; // frees staged data
        stack.pop_back();
    }
}

bool advance(OperationPtr const& last) {
    OperationPtr operation = last;
    if (!operation || operation->done) return false;
    for (;;) {
        auto const pending = std::find_if(operation->after.begin(), operation->after.end(),
                                          [](OperationPtr const& o) { return !o->done; });
        if (pending == operation->after.end()) break;
        operation = *pending;
    }
    complete(operation);
    return !last->done;
}

cudaError_t synchronize_stream(Stream& stream) {
    if (stream.capture) {
        stream.capture->invalidate();
        return cudaErrorStreamCaptureUnsupported;
    }
    for (OperationPtr const& operation : stream.extra) complete(operation);
    if (stream.last) complete(stream.last);
    if (&stream == &legacy_stream()) { // it is behind everything that the blocking streams were asked before
        for (Stream& other : streams())
            if (other.blocking && other.last) complete(other.last);
    }
    return sticky_error();
}

cudaError_t synchronize_device() {
    if (cudaError_t const error = forbid_while_capturing(); error != cudaSuccess) return error;
    std::vector<Stream*> all;
    for (Stream& stream : streams()) all.push_back(&stream);
    if (settings().order == ThreadOrder::descending) std::reverse(all.begin(), all.end());
    if (settings().order == ThreadOrder::random) shuffle_sequence(all);
    for (Stream* stream : all)
        if (stream->last) complete(stream->last);
    return sticky_error();
}

} // namespace emu

using namespace emu;

namespace {

/// Runs `body` with the stream of the handle.
template <class Body>
cudaError_t with_stream(cudaStream_t handle, Body body) {
    return call([&] {
        Stream* const stream = find_stream(handle);
        return stream ? body(*stream) : cudaErrorInvalidResourceHandle;
    });
}

} // namespace

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    return call([&] {
        if (!stream || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
        legacy_stream(); // so that it is the first of all
        Stream& made = make_stream();
        made.blocking = flags != cudaStreamNonBlocking;
        made.flags = flags;
        made.priority = std::clamp(priority, -5, 0);
        *stream = &made;
        return cudaSuccess;
    });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
    return with_stream(handle, [&](Stream& stream) {
        if (&stream == &legacy_stream()) return cudaErrorInvalidResourceHandle;
        stream.alive = false; // its work goes on
        return cudaSuccess;
    });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
    count(Counted::stream_wait);
    return with_stream(handle, [](Stream& stream) { return synchronize_stream(stream); });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
    return with_stream(handle, [](Stream& stream) {
        if (stream.capture) {
            stream.capture->invalidate();
            return cudaErrorStreamCaptureUnsupported;
        }
        return stream.last && !stream.last->done && (advance(stream.last), true) ? cudaErrorNotReady : cudaSuccess;
    });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
    return with_stream(handle, [&](Stream& stream) {
        if (!event) return cudaErrorInvalidResourceHandle;
        if (event->capture || stream.capture) return capture_wait(stream, *event);
        if (event->operation && !event->operation->done) stream.extra.push_back(event->operation);
        return cudaSuccess;
    });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
    return with_stream(handle, [&](Stream& stream) { return *priority = stream.priority, cudaSuccess; });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
    return with_stream(handle, [&](Stream& stream) { return *flags = stream.flags, cudaSuccess; });
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
    return with_stream(handle, [&](Stream& stream) { return *id = stream.number, cudaSuccess; });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
    return with_stream(handle, [&](Stream& stream) { return *device = stream.device, cudaSuccess; });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
    return call([&] { return submit(stream, HostWork{[=] { function(data); }, function, data}); });
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
    return call([&] {
        return submit(stream, HostWork{[=] { callback(stream, sticky_error(), data); }, nullptr, nullptr});
    });
}

} // extern "C"
