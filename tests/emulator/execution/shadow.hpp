/// @file
/// The checked build's record of who touched each byte: finds reads of shared memory that nothing wrote, or that a
/// cp.async is still on its way to, and accesses of two
/// threads to the same byte, one of them a write, with no synchronisation between them.
///
/// Time is one counter that grows with every access and every synchronisation. An access at time e by another thread
/// is ordered before one by this thread if, after e, the whole block met at a barrier; or if both threads took part
/// in a synchronisation after e (a __syncwarp for lanes of one warp, a named barrier otherwise). Two writes are not
/// reported: threads may store the same value. The rule errs on the side of silence, never of a false report.
#pragma once

#include "device/thread.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emu {

struct ThreadState;
struct Block;

struct ByteHistory {
    struct Event {
        std::uint64_t time = 0;
        std::uint32_t thread = 0;
        bool is_atomic = false;
        Site site{};
    };
    Event write, read, other_read; ///< other_read: by another thread than `read`
    bool guard = false;
    bool copying = false; ///< the target of a cp.async that nobody has waited for
};

struct SharedShadow {
    std::vector<ByteHistory> bytes; ///< kept from block to block: what is older than `start` is stale
    std::uint64_t start = 0;        ///< time at which the block began
    std::uint64_t barrier = 0;      ///< time of the last barrier of the whole block
    bool ready = false;             ///< guards are marked for this kernel
};

/// The next moment.
std::uint64_t tick();

/// A cp.async is on its way to these bytes, or has landed.
void mark_copying(ThreadState&, char const* target, std::uint32_t size, bool copying);

/// Marks the guards between a block's shared arrays.
void start_shadow(Block&);

} // namespace emu
