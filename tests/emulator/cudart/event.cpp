#include "event.hpp"
#include "counts.hpp"
#include "call.hpp"
#include "capture.hpp"

#include <list>

using namespace emu;

namespace {
/// All events there have been: none is freed, because a stream may still hold its address.
std::list<Event>& events() {
    static auto* const all = new std::list<Event>;
    return *all;
}
} // namespace

extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    return call([&] {
        if (!event) return cudaErrorInvalidValue;
        *event = &events().emplace_back();
        (*event)->timed = !(flags & cudaEventDisableTiming);
        return cudaSuccess;
    });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return call([&] { return event ? cudaSuccess : cudaErrorInvalidResourceHandle; });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned flags) {
    return call([&] {
        Stream* const stream = find_stream(handle);
        if (!stream || !event) return cudaErrorInvalidResourceHandle;
        if (stream->capture && flags != cudaEventRecordExternal) {
            event->capture = stream->capture;
            event->tail = stream->tail;
            return cudaSuccess;
        }
        if (stream->capture) return submit(handle, EventWork{event});
        event->capture.reset();
        event->recorded = true;
        cudaError_t const error = submit(handle, EventWork{event});
        event->operation = stream->last;
        return error;
    });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return call([&] {
        if (!event) return cudaErrorInvalidResourceHandle;
        if (event->capture) return cudaErrorCapturedEvent;
        if (!event->operation || event->operation->done) return cudaSuccess;
        advance(event->operation);
        return cudaErrorNotReady;
    });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    count(Counted::event_wait);
    return call([&] {
        if (!event) return cudaErrorInvalidResourceHandle;
        if (event->capture) return cudaErrorCapturedEvent;
        if (event->operation) complete(event->operation);
        return cudaSuccess;
    });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
    return call([&] {
        if (!milliseconds) return cudaErrorInvalidValue;
        if (!from || !to || !from->timed || !to->timed || !from->recorded || !to->recorded)
            return cudaErrorInvalidResourceHandle;
        if (!from->operation->done || !to->operation->done) return cudaErrorNotReady;
        *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
        return cudaSuccess;
    });
}

} // extern "C"
