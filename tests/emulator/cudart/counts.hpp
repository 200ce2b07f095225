/// @file
/// How often the program under test asked for what costs time on a GPU; tests read it through emu_count().
#pragma once

namespace emu {

/// What is counted.
enum class Counted : int {
    kernel,
    graph_launch,
    graph_made,
    copy,
    fill,
    allocation,
    stream_wait,
    event_wait,
    device_wait,
    kinds
};

void count(Counted);

} // namespace emu

/// How often it has happened so far: "kernel" (run, those of graphs too), "graph_launch", "graph_made", "copy", "fill", "allocation" (of device
/// or page-locked memory), "stream_wait", "event_wait", "device_wait" (the host's). -1: no such name.
extern "C" long long emu_count(char const* what);
