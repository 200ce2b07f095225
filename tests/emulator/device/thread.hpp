/// @file
/// What translated code knows about the thread that runs it, and the services it asks the scheduler for.
/// Translated code includes this and the other headers of this folder, and nothing of CUDA's.
#pragma once

#include <cstdint>

namespace emu {

/// A place in the source, packed by the translator: 16 bits source file's number, 24 bits line, 24 bits line of the
/// PTX text.
struct Site {
    std::uint64_t packed = 0;

    int file() const { return static_cast<int>(packed >> 48); }
    int line() const { return static_cast<int>(packed >> 24 & 0xffffff); }
    int ptx_line() const { return static_cast<int>(packed & 0xffffff); }
    bool operator==(Site const&) const = default;
};

/// One CUDA thread. The scheduler's own record (execution/grid.hpp) derives from it.
struct Thread {
    std::uint32_t tid[3], ntid[3], ctaid[3], nctaid[3];
    std::uint32_t lane, warp, warps;
    std::uint32_t grid_number;
    char* shared;                 ///< this block's shared memory: static arrays with guards, then the dynamic part
    std::uint32_t shared_bytes;   ///< extent of it, the last guard included
    std::uint32_t dynamic_shared; ///< offset of the dynamic part
    std::uint32_t dynamic_shared_bytes;
    std::uint64_t grid_workspace; ///< where cooperative groups keep the barrier of the grid; 0 in an ordinary launch

    std::uint64_t shared_base() const { return reinterpret_cast<std::uint64_t>(shared); }
};

/// `atomic`: also volatile and relaxed accesses. `ordered`: acquire and release, which order other accesses.
enum class Access { read, write, atomic, ordered };

// ---- faults: each reports kernel, block, thread and place, and does not return

[[noreturn]] void bad_shared_address(Thread&, std::uint32_t offset, std::uint32_t size, Site);
[[noreturn]] void bad_alignment(Thread&, std::uint64_t address, std::uint32_t size, Site);
[[noreturn]] void bad_branch(Thread&, Site);
[[noreturn]] void trap(Thread&, Site);
[[noreturn]] void exit_thread(Thread&, Site);

// ---- checks of the `checked` build

void check_shared(Thread&, std::uint32_t offset, std::uint32_t size, Access, Site);
void check_global(Thread&, std::uint64_t address, std::uint32_t size, Access, Site);

// ---- address spaces

bool is_global(Thread&, std::uint64_t address);
bool is_shared(Thread&, std::uint64_t address);
bool is_local(Thread&, std::uint64_t address);

// ---- scheduling

/// The thread may be waiting for another one: lets others run.
void spin(Thread&);
/// Lets others run now and then, in random order only.
void maybe_yield(Thread&);
void fence(Thread&, bool block_only);
std::uint64_t clock_ticks();

enum class Vote { popc_, and_, or_ };

/// bar.sync and barrier.sync: barrier `name` of the block; `threads` 0 means all of them. `aligned`: the lanes of a
/// warp must come to it together, from the same instruction.
void sync_block(Thread&, std::uint32_t name, std::uint32_t threads, bool aligned, Site);
void arrive_at_barrier(Thread&, std::uint32_t name, std::uint32_t threads, bool aligned, Site);
std::uint32_t block_vote(Thread&, std::uint32_t name, std::uint32_t threads, Vote, bool predicate, Site);

// ---- warp (`mask`: the lanes that take part, as the program says)

enum class Shuffle { idx, up, down, bfly };
enum class Reduction { add_, min_, max_, and_, or_, xor_ };
struct Shuffled {
    std::uint32_t value;
    bool in_range;
};

void sync_warp(Thread&, std::uint32_t mask, Site);
Shuffled shuffle(Thread&, Shuffle, std::uint32_t value, std::uint32_t lane, std::uint32_t clamp, std::uint32_t mask,
                 Site);
std::uint32_t ballot(Thread&, std::uint32_t mask, bool predicate, Site);
bool vote_any(Thread&, std::uint32_t mask, bool predicate, Site);
bool vote_all(Thread&, std::uint32_t mask, bool predicate, Site);
bool vote_uni(Thread&, std::uint32_t mask, bool predicate, Site);
std::uint32_t match_any(Thread&, std::uint32_t mask, std::uint64_t value, Site);
std::uint32_t match_all(Thread&, std::uint32_t mask, std::uint64_t value, Site);
std::uint32_t reduce(Thread&, Reduction, bool is_signed, std::uint32_t mask, std::uint32_t value, Site);
std::uint32_t elect(Thread&, std::uint32_t mask, Site);

// ---- matrices: registers of the fragments as PTX lays them out

enum class Format { tf32, bf16, f16 };
struct MatrixProduct {
    Format format;
    int depth;              ///< the k of m16n8k
    bool half_accumulators; ///< c and d are f16, two to a register
    std::uint32_t const *a, *b, *c;
    std::uint32_t* d;
};

void multiply_matrices(Thread&, MatrixProduct const&, Site);
void load_matrices(Thread&, int count, bool transposed, std::uint32_t row_offset, std::uint32_t* registers, Site);
void store_matrices(Thread&, int count, bool transposed, std::uint32_t row_offset, std::uint32_t const* registers,
                    Site);
std::uint32_t transpose_matrix(Thread&, std::uint32_t registers, Site);

// ---- asynchronous copies: land at the wait, as late as a GPU may let them

void copy_async(Thread&, char* target, std::uint64_t source, std::uint32_t size, std::uint32_t read, Site);
void commit_copies(Thread&);
void wait_for_copies(Thread&, std::uint32_t pending_groups);

// ---- what CUDA's device library calls; arguments point at the values

namespace system_call {
void vprintf(Thread&, Site, char* result, char* format, char* arguments);
[[noreturn]] void assertfail(Thread&, Site, char* message, char* file, char* line, char* function,
                             char* character_size);
void malloc(Thread&, Site, char* result, char* size);
void free(Thread&, Site, char* pointer);
} // namespace system_call

} // namespace emu
