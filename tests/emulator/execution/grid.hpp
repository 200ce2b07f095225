/// @file
/// The state of a running grid: threads, warps, blocks. scheduler.cpp runs it; barrier.cpp, warp.cpp and copies.cpp
/// change it.
#pragma once

#include "device/bits.hpp"
#include "device/module.hpp"
#include "fiber.hpp"
#include "shadow.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace emu {

struct Block;
struct Grid;

enum class Status : std::uint8_t { ready, at_barrier, at_warp, done };

struct PendingCopy {
    char* target;
    std::uint64_t source;
    std::uint32_t size, read;
};

struct ThreadState : Thread {
    Block* block = nullptr;
    std::uint32_t index = 0; ///< in the block
    Status status = Status::ready;
    bool spun = false; ///< ended its last turn in a wait loop
    Site waiting{};    ///< where, while at_barrier or at_warp
    std::uint32_t waiting_barrier = 0;
    char const* waiting_for = "";
    std::uint64_t warp_sync = 0, named_sync = 0; ///< times of its last synchronisations, see shadow.hpp
    Fiber fiber;
    std::vector<PendingCopy> open_copies; ///< cp.async since the last commit
    std::deque<std::vector<PendingCopy>> copy_groups;
};

/// A warp instruction that some of its lanes have reached.
struct WarpOperation {
    using Action = void (*)(void* const* lane_arguments, std::uint32_t mask, ThreadState&, Site);
    std::uint32_t mask = 0, arrived = 0;
    Action action = nullptr;
    Site site{};
    std::array<void*, 32> arguments{};
};

struct Warp {
    std::uint32_t exists = 0, live = 0; ///< one bit per lane
    /// One place for each lane that may wait; those before `operations_used` are in use where their mask is not 0.
    /// Nothing is allocated or moved while threads run: ThreadSanitizer would take that for a race of theirs.
    std::vector<WarpOperation> operations = std::vector<WarpOperation>(32);
    std::uint32_t operations_used = 0;
    std::uint32_t at_barrier = 0; ///< lanes that wait at an aligned barrier: all at the same one
    std::uint32_t barrier_name = 0;
    Site barrier_site{};
    char order[1]; ///< ThreadSanitizer's object for __syncwarp
};

struct Barrier {
    std::uint32_t waiting = 0; ///< threads that sit at it
    std::uint32_t arrived = 0; ///< these, and those that only arrived
    std::uint32_t expected = 0;
    std::uint32_t generation = 0;
    int votes_for = 0;
    std::uint32_t result[2] = {0, 0};
    Site first{};
    char order[2]; ///< ThreadSanitizer's objects, one per parity of the generation
};

struct Block {
    Grid* grid = nullptr;
    std::uint32_t number = 0; ///< x fastest
    std::uint32_t live = 0;
    std::vector<ThreadState> threads;
    std::vector<Warp> warps;
    std::array<Barrier, 16> barriers;
    char* shared = nullptr;
    std::size_t shared_bytes = 0;
    SharedShadow shadow;            ///< of the checked build
    bool ordered_by_fences = false; ///< a fence was used: the shadow cannot tell what is ordered
};

struct Dimensions {
    std::uint32_t x = 1, y = 1, z = 1;
    std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

struct LaunchRequest {
    Kernel const* kernel = nullptr;
    ModuleTable const* module = nullptr;
    Dimensions grid, block;
    std::uint32_t dynamic_shared = 0;
    bool cooperative = false;
    char* const* arguments = nullptr; ///< one pointer per parameter
};

enum class Fault { none, assertion, trap, illegal_address, misaligned_address, other };

struct Grid {
    LaunchRequest request;
    std::uint32_t number = 0; ///< of this launch
    std::vector<Block*> resident;
    std::uint32_t workspace[64] = {}; ///< zeros: cooperative groups' barrier of the grid
    bool ordered_by_fences = false;   ///< the same between blocks
    std::uint64_t progress = 0;       ///< counts threads that ended and barriers that opened
    Fault fault = Fault::none;
};

/// Runs a grid to its end. Returns what went wrong where EMU_ON_FAULT=error; otherwise a fault ends the program.
Fault run_grid(LaunchRequest const&);

/// The thread that runs; null on the host.
ThreadState* current_thread();
inline ThreadState& state_of(Thread& t) { return static_cast<ThreadState&>(t); }

/// Lets other threads run until this one is ready again.
void wait(ThreadState&, Status, char const* what, Site);
void leave_block(ThreadState&);

} // namespace emu
