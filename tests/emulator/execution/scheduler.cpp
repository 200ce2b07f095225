// Runs the blocks of a grid: some at a time, each thread until it waits, in the order that EMU_ORDER chooses.
#include "grid.hpp"
#include "memory.hpp"
#include "random.hpp"
#include "report.hpp"
#include "sanitizer.hpp"
#include "settings.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>

namespace emu {
namespace {

thread_local ThreadState* running = nullptr;
std::uint32_t launches = 0;

/// Passes in which some thread waited in a loop, and no thread left its block or a barrier. Then the block that it
/// waits for may not have started yet: one more is admitted.
constexpr int patience = 20;
/// Such passes, with nothing left to admit, after which the grid is given up.
constexpr int surrender = 200000;
/// ThreadSanitizer has room for 8128 fibers, those of finished blocks included.
constexpr std::size_t most_sanitized_fibers = 6000;

void run_thread(void* argument) {
    ThreadState& t = *static_cast<ThreadState*>(argument);
    LaunchRequest const& request = t.block->grid->request;
    request.kernel->run(t, request.arguments);
    leave_block(t);
    t.fiber.finish();
}

class Run {
public:
    explicit Run(LaunchRequest const& request) {
        grid_.request = request;
        grid_.number = ++launches;
        pending_.resize(request.grid.count());
        std::iota(pending_.begin(), pending_.end(), 0u);
        // Taken from the back.
        if (settings().order == ThreadOrder::random) shuffle_sequence(pending_);
        else if (settings().order == ThreadOrder::ascending) std::reverse(pending_.begin(), pending_.end());
        window_ = request.cooperative ? pending_.size() : settings().order == ThreadOrder::random ? 3 : 1;
    }

    Fault run() {
        int idle = 0;
        while (grid_.fault == Fault::none) {
            while (grid_.resident.size() < window_ && !pending_.empty()) admit();
            if (grid_.resident.empty()) break;
            std::uint64_t const progress_before = grid_.progress;
            Outcome const outcome = pass();
            if (grid_.fault != Fault::none) break;
            if (!outcome.any_ran) report_deadlock();
            idle = grid_.progress != progress_before || !outcome.any_spun ? 0 : idle + 1;
            if (idle > patience && !pending_.empty()) {
                ++window_;
                idle = 0;
            } else if (idle > surrender) {
                report_block(*grid_.resident.front(), "threads wait in a loop, and nothing else happens any more");
                grid_.fault = Fault::other;
            }
            retire();
        }
        finish();
        return grid_.fault;
    }

private:
    struct Outcome {
        bool any_ran = false, any_spun = false;
    };

    void admit() {
        auto block = take_block();
        start(*block, pending_.back());
        pending_.pop_back();
        grid_.resident.push_back(block.get());
        kept_.push_back(std::move(block));
    }

    std::unique_ptr<Block> take_block() {
        if (spare_.empty()) return std::make_unique<Block>();
        auto block = std::move(spare_.back());
        spare_.pop_back();
        return block;
    }

    void start(Block& block, std::uint32_t number) {
        LaunchRequest const& request = grid_.request;
        Dimensions const &g = request.grid, &b = request.block;
        auto const threads = static_cast<std::uint32_t>(b.count());
        block.grid = &grid_;
        block.number = number;
        block.live = threads;
        block.ordered_by_fences = false;
        if (block.warps.size() != (threads + 31) / 32) block.warps = std::vector<Warp>((threads + 31) / 32);
        for (Warp& warp : block.warps) warp.exists = warp.live = warp.operations_used = warp.at_barrier = 0;
        block.barriers = {};
        std::uint32_t const dynamic_offset = (request.kernel->shared_extent + 127) / 128 * 128;
        std::size_t const extent =
            request.dynamic_shared ? dynamic_offset + request.dynamic_shared : request.kernel->shared_extent;
        if (block.shared_bytes != extent || block.shared == nullptr) {
            std::free(block.shared);
            void* memory = nullptr;
            if (posix_memalign(&memory, 1024, std::max<std::size_t>(extent, 1)) != 0)
                give_up("no memory for shared memory");
            block.shared = static_cast<char*>(memory);
            block.shared_bytes = extent;
            block.shadow.ready = false;
        }
        sanitizer::allow(block.shared, extent);
        poison(block.shared, extent);
        start_shadow(block);
        if (block.threads.size() != threads) block.threads = std::vector<ThreadState>(threads);
        for (std::uint32_t i = 0; i < threads; ++i) {
            ThreadState& t = block.threads[i];
            t.tid[0] = i % b.x, t.tid[1] = i / b.x % b.y, t.tid[2] = i / (b.x * b.y);
            t.ctaid[0] = number % g.x, t.ctaid[1] = number / g.x % g.y, t.ctaid[2] = number / (g.x * g.y);
            t.ntid[0] = b.x, t.ntid[1] = b.y, t.ntid[2] = b.z;
            t.nctaid[0] = g.x, t.nctaid[1] = g.y, t.nctaid[2] = g.z;
            t.lane = i % 32, t.warp = i / 32, t.warps = (threads + 31) / 32;
            t.grid_number = grid_.number;
            t.shared = block.shared;
            t.shared_bytes = static_cast<std::uint32_t>(extent);
            t.dynamic_shared = dynamic_offset;
            t.dynamic_shared_bytes = request.dynamic_shared;
            t.grid_workspace = request.cooperative ? reinterpret_cast<std::uint64_t>(grid_.workspace) : 0;
            t.block = &block;
            t.index = i;
            t.status = Status::ready;
            t.warp_sync = t.named_sync = 0;
            t.open_copies.clear();
            t.copy_groups.clear();
            block.warps[t.warp].exists |= 1u << t.lane;
            block.warps[t.warp].live |= 1u << t.lane;
            t.fiber.start(&run_thread, &t);
        }
    }

    Outcome pass() {
        Outcome outcome;
        auto const turn = [&](ThreadState& t) {
            if (t.status != Status::ready || grid_.fault != Fault::none) return;
            outcome.any_ran = true;
            t.spun = false;
            running = &t;
            t.fiber.resume();
            running = nullptr;
            outcome.any_spun |= t.spun;
        };
        if (settings().order == ThreadOrder::random) {
            std::vector<ThreadState*> all;
            for (Block* block : grid_.resident)
                for (ThreadState& t : block->threads) all.push_back(&t);
            shuffle_sequence(all);
            for (ThreadState* t : all) turn(*t);
        } else if (settings().order == ThreadOrder::descending) {
            for (Block* block : grid_.resident)
                for (std::size_t i = block->threads.size(); i-- > 0;) turn(block->threads[i]);
        } else {
            for (Block* block : grid_.resident)
                for (ThreadState& t : block->threads) turn(t);
        }
        return outcome;
    }

    /// Finished blocks make room. ThreadSanitizer must not take one block for ordered before the next because their
    /// shared memory or their fibers are reused, so there blocks are kept until the grid's end, or until it has no
    /// room for more.
    void retire() {
        std::erase_if(grid_.resident, [](Block const* block) { return block->live == 0; });
        if (sanitizer::thread_sanitizer()) {
            if (grid_.resident.empty() && kept_.size() * grid_.request.block.count() > most_sanitized_fibers)
                forget_kept();
            return;
        }
        for (std::size_t i = 0; i < kept_.size();) {
            if (kept_[i]->live == 0) {
                check_guards(*kept_[i]);
                spare_.push_back(std::move(kept_[i]));
                kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
            } else {
                ++i;
            }
        }
    }

    /// A store past the end of a shared array has changed the guard behind it.
    void check_guards(Block const& block) {
        Kernel const& kernel = *grid_.request.kernel;
        for (std::uint32_t i = 0; i < kernel.shared_array_count; ++i) {
            SharedArray const& array = kernel.shared_arrays[i];
            std::uint32_t const end = array.offset + array.size;
            std::uint32_t const next =
                i + 1 < kernel.shared_array_count ? kernel.shared_arrays[i + 1].offset : kernel.shared_extent;
            if (sanitizer::address_sanitizer()) continue;
            for (std::uint32_t at = end; at < next; ++at) {
                if (static_cast<unsigned char>(block.shared[at]) == 0xff) continue;
                report_block(block, "a store " + std::to_string(at - end) + " bytes past the end of the shared array " +
                                        demangle(array.name));
                grid_.fault = Fault::illegal_address;
                return;
            }
        }
    }

    void forget_kept() {
        for (auto& block : kept_) {
            for (ThreadState& t : block->threads) t.fiber.publish(this);
        }
        sanitizer::acquire(this);
        for (auto& block : kept_) free_block(*block);
        kept_.clear();
    }

    static void free_block(Block& block) {
        for (ThreadState& t : block.threads) t.fiber.release();
        sanitizer::allow(block.shared, block.shared_bytes);
        std::free(block.shared);
        block.shared = nullptr;
    }

    void report_deadlock() {
        std::map<std::string, int> places;
        for (Block const* block : grid_.resident)
            for (ThreadState const& t : block->threads)
                if (t.status != Status::done)
                    ++places[std::string(t.waiting_for) + " at " + describe(t.waiting, grid_.request.module)];
        std::string message = "deadlock:";
        for (auto const& [place, count] : places)
            message += "\n  " + std::to_string(count) + " threads wait in " + place;
        report_block(*grid_.resident.front(), message);
        grid_.fault = Fault::other;
    }

    void finish() {
        forget_kept();
        for (auto& block : spare_) free_block(*block);
    }

    Grid grid_;
    std::vector<std::uint32_t> pending_;
    std::size_t window_ = 1;
    std::vector<std::unique_ptr<Block>> kept_, spare_;
};

} // namespace

ThreadState* current_thread() { return running; }

void wait(ThreadState& t, Status status, char const* what, Site site) {
    t.status = status;
    t.waiting_for = what;
    t.waiting = site;
    t.fiber.suspend();
}

void spin(Thread& thread) {
    ThreadState& t = state_of(thread);
    t.spun = true;
    t.fiber.suspend();
}

void maybe_yield(Thread& thread) {
    if (settings().order == ThreadOrder::random && (random_number() & 1)) state_of(thread).fiber.suspend();
}

void fence(Thread& thread, bool) {
    Grid& grid = *state_of(thread).block->grid;
    grid.ordered_by_fences = state_of(thread).block->ordered_by_fences = true;
    // ThreadSanitizer does not know fences. All fences of a grid are put in one order: it may miss a race, never
    // invent one.
    sanitizer::release(&grid);
    sanitizer::acquire(&grid);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    maybe_yield(thread);
}

std::uint64_t clock_ticks() {
    static std::uint64_t ticks = 0;
    return ticks += 100;
}

Fault run_grid(LaunchRequest const& request) {
    if (request.grid.count() == 0 || request.block.count() == 0) return Fault::none;
    CrashReports reports;
    return Run(request).run();
}

} // namespace emu
