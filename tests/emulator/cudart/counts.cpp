// Counts of calls, for tests.
#include "counts.hpp"

#include <atomic>
#include <cstring>

namespace emu {
namespace {

constexpr char const* names[] = {"kernel",     "graph_launch", "graph_made", "copy",       "fill",
                                 "allocation", "stream_wait",  "event_wait", "device_wait"};
std::atomic<long long> counts[static_cast<int>(Counted::kinds)];

} // namespace

void count(Counted what) { ++counts[static_cast<int>(what)]; }

} // namespace emu

extern "C" long long emu_count(char const* what) {
    for (int i = 0; i < static_cast<int>(emu::Counted::kinds); ++i)
        if (std::strcmp(what, emu::names[i]) == 0) return emu::counts[i];
    return -1;
}
