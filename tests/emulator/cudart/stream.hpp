/// @file
/// Streams: what is asked of them is carried out at once (EMU_STREAMS=eager), or as late as the program's
/// synchronisation allows (lazy), so that a missing one shows as a wrong result. A stream that captures writes a
/// graph instead.
#pragma once

#include "work.hpp"

namespace emu {

struct Capture;
struct Operation;
using OperationPtr = std::shared_ptr<Operation>;

/// Something asked of a stream, and what must come before it.
struct Operation {
    Work work;
    std::vector<OperationPtr> after;
    bool done = false;
};

} // namespace emu

struct CUstream_st {
    bool blocking = true; ///< waits for the legacy default stream, and it waits for this one
    bool alive = true;
    int priority = 0, device = 0;
    unsigned flags = 0;
    unsigned long long number = 0;
    emu::OperationPtr last;
    std::vector<emu::OperationPtr> extra; ///< events that its next work waits for
    std::shared_ptr<emu::Capture> capture;
    std::vector<cudaGraphNode_t> tail; ///< while it captures: what its next node comes after
};

namespace emu {

using Stream = CUstream_st;

/// The stream of a handle, 0 and the special values included; null where it is none, or was destroyed.
Stream* find_stream(cudaStream_t handle);
Stream& legacy_stream();

/// Gives the work to the stream, or to the graph that it captures.
cudaError_t submit(cudaStream_t handle, Work work);
/// The same for the functions that block the host (cudaMemcpy ...): legacy stream, not during a capture.
cudaError_t submit_synchronous(Work work, bool wait);

/// Carries out everything up to and including the operation.
void complete(OperationPtr const&);
cudaError_t synchronize_device();
cudaError_t synchronize_stream(Stream&);
/// One operation that is waiting, for a host that polls. False where nothing is left.
bool advance(OperationPtr const&);

} // namespace emu
