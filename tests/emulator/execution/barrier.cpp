// Barriers of a block, and threads that leave it.
#include "grid.hpp"
#include "report.hpp"
#include "sanitizer.hpp"
#include "settings.hpp"

namespace emu {
namespace {

/// Lets the waiting threads go on; returns the time of it.
std::uint64_t release(Block& block, std::uint32_t name, bool whole_block) {
    Barrier& barrier = block.barriers[name];
    std::uint32_t const parity = barrier.generation & 1;
    barrier.result[parity] = static_cast<std::uint32_t>(barrier.votes_for);
    std::uint64_t const now = tick();
    if (whole_block) block.shadow.barrier = now;
    ++barrier.generation;
    ++block.grid->progress;
    barrier.waiting = barrier.arrived = 0;
    barrier.votes_for = 0;
    for (ThreadState& t : block.threads) {
        if (t.status != Status::at_barrier || t.waiting_barrier != name) continue;
        t.status = Status::ready;
        t.named_sync = now;
    }
    for (Warp& warp : block.warps)
        if (warp.barrier_name == name) warp.at_barrier = 0;
    return now;
}

/// The lanes of one warp must come to an aligned barrier together: bar.sync is one instruction of the warp.
void check_convergence(ThreadState& t, std::uint32_t name, Site site) {
    Warp const& warp = t.block->warps[t.warp];
    if (warp.at_barrier == 0 || (warp.barrier_site == site && warp.barrier_name == name)) return;
    fail(t, Fault::other,
         "divergent __syncthreads: lanes of one warp wait at different barriers; " + std::to_string(warp.at_barrier) +
             " wait at " + describe(warp.barrier_site, t.block->grid->request.module),
         site);
}

void wait_at_barrier(ThreadState& t, std::uint32_t name, bool aligned, Site site) {
    Warp& warp = t.block->warps[t.warp];
    if (aligned) {
        ++warp.at_barrier;
        warp.barrier_name = name;
        warp.barrier_site = site;
    }
    ++t.block->barriers[name].waiting;
    t.waiting_barrier = name;
    wait(t, Status::at_barrier, "a barrier of the block", site);
}

/// Arrives, and waits unless this was the last one that the barrier needs. Returns which of the two results is its own.
std::uint32_t arrive(ThreadState& t, std::uint32_t name, std::uint32_t threads, bool aligned, bool waits, Site site) {
    Block& block = *t.block;
    if (name >= block.barriers.size()) fail(t, Fault::other, "a block has barriers 0 to 15", site);
    Barrier& barrier = block.barriers[name];
    bool const whole_block = threads == 0 || threads == block.threads.size();
    if (aligned) check_convergence(t, name, site);
    if (threads == 0 && block.live != block.threads.size() && !settings().allow_early_exit)
        fail(t, Fault::other,
             "__syncthreads after " + std::to_string(block.threads.size() - block.live) +
                 " threads of the block have returned",
             site);
    if (barrier.arrived == 0) {
        barrier.first = site;
        barrier.expected = threads;
    } else if (barrier.expected != threads) {
        fail(t, Fault::other,
             "threads disagree on how many meet at the barrier; the first came from " +
                 describe(barrier.first, block.grid->request.module),
             site);
    }
    ++barrier.arrived;
    std::uint32_t const parity = barrier.generation & 1;
    sanitizer::release(&barrier.order[parity]);
    if (barrier.arrived == (threads ? threads : block.live)) {
        t.named_sync = release(block, name, whole_block);
    } else if (waits) {
        wait_at_barrier(t, name, aligned, site);
    }
    if (waits) sanitizer::acquire(&barrier.order[parity]);
    return parity;
}

} // namespace

void sync_block(Thread& thread, std::uint32_t name, std::uint32_t threads, bool aligned, Site site) {
    arrive(state_of(thread), name, threads, aligned, true, site);
}

void arrive_at_barrier(Thread& thread, std::uint32_t name, std::uint32_t threads, bool aligned, Site site) {
    arrive(state_of(thread), name, threads, aligned, false, site);
}

std::uint32_t block_vote(Thread& thread, std::uint32_t name, std::uint32_t threads, Vote kind, bool predicate,
                         Site site) {
    ThreadState& t = state_of(thread);
    if (name >= t.block->barriers.size()) fail(t, Fault::other, "a block has barriers 0 to 15", site);
    Barrier& barrier = t.block->barriers[name];
    // `and` counts those against: its answer is that there are none.
    barrier.votes_for += kind == Vote::and_ ? !predicate : predicate;
    std::uint32_t const count = barrier.result[arrive(t, name, threads, true, true, site)];
    return kind == Vote::popc_ ? count : kind == Vote::and_ ? count == 0 : count != 0;
}

void leave_block(ThreadState& t) {
    Block& block = *t.block;
    Warp& warp = block.warps[t.warp];
    std::uint32_t const bit = 1u << t.lane;
    for (std::uint32_t i = 0; i < warp.operations_used; ++i)
        if (WarpOperation const& operation = warp.operations[i]; operation.mask & bit)
            fail(t, Fault::other, "this lane returns, and other lanes of its warp wait for it (their mask names it)",
                 operation.site);
    for (Barrier const& barrier : block.barriers)
        if (barrier.waiting && barrier.expected == 0 && !settings().allow_early_exit)
            fail(t, Fault::other,
                 "this thread returns while " + std::to_string(barrier.waiting) + " threads wait at __syncthreads",
                 barrier.first);
    warp.live &= ~bit;
    t.status = Status::done;
    --block.live;
    ++block.grid->progress;
    for (std::uint32_t name = 0; name < block.barriers.size(); ++name) {
        Barrier const& barrier = block.barriers[name];
        if (barrier.waiting && barrier.expected == 0 && barrier.arrived == block.live) release(block, name, true);
    }
}

void exit_thread(Thread& thread, Site) {
    ThreadState& t = state_of(thread);
    leave_block(t);
    t.fiber.finish();
}

} // namespace emu
