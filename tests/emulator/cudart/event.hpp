/// @file
/// Events: a place in a stream.
#pragma once

#include "stream.hpp"

#include <chrono>

struct CUevent_st {
    bool timed = true;
    bool recorded = false;
    emu::OperationPtr operation;           ///< the last record
    std::shared_ptr<emu::Capture> capture; ///< it was recorded in a capturing stream: a place in its graph
    std::vector<cudaGraphNode_t> tail;
    std::chrono::steady_clock::time_point time;

    void mark() { time = std::chrono::steady_clock::now(); }
};

namespace emu {
using Event = CUevent_st;
}
