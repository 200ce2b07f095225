#include "shadow.hpp"
#include "memory.hpp"
#include "registry.hpp"
#include "report.hpp"
#include "sanitizer.hpp"
#include "settings.hpp"

#include <algorithm>
#include <sys/mman.h>

namespace emu {
namespace {

std::uint64_t now = 0;

using Event = ByteHistory::Event;

/// Whether what happened at the event is ordered before what `t` does next.
bool is_ordered(Event const& event, ThreadState const& t) {
    Block const& block = *t.block;
    if (event.time <= block.shadow.start || event.time < block.shadow.barrier || event.thread == t.index) return true;
    ThreadState const& other = block.threads[event.thread];
    if (other.named_sync > event.time && t.named_sync > event.time) return true;
    return other.warp == t.warp && other.warp_sync > event.time && t.warp_sync > event.time;
}

void report_race(ThreadState& t, char const* what, std::uint32_t offset, Event const& event, Site site) {
    Block const& block = *t.block;
    auto const& other = block.threads[event.thread].tid;
    fail(t, Fault::other,
         std::string("race: ") + what + " " + describe_shared(block, offset) + ", and thread (" +
             std::to_string(other[0]) + "," + std::to_string(other[1]) + "," + std::to_string(other[2]) +
             ") with no synchronisation between, at " + describe(event.site, block.grid->request.module),
         site);
}

void note_shared(ThreadState& t, std::uint32_t offset, std::uint32_t size, Access access, Site site) {
    Block& block = *t.block;
    if (access == Access::ordered) block.ordered_by_fences = true;
    bool const races = settings().report_races && !block.ordered_by_fences;
    Event const event{tick(), t.index, access == Access::atomic || access == Access::ordered, site};
    bool any_written = false;
    for (std::uint32_t at = offset; at < offset + size; ++at) {
        ByteHistory& byte = block.shadow.bytes[at];
        any_written |= byte.write.time > block.shadow.start;
        if (byte.copying)
            fail(t, Fault::other,
                 "access to shared memory that a cp.async is still on its way to (no wait for it): " +
                     describe_shared(block, at),
                 site);
        bool const both_atomic = byte.write.is_atomic && event.is_atomic;
        if (access != Access::write) {
            if (races && !both_atomic && !is_ordered(byte.write, t))
                report_race(t, "this thread reads what another wrote:", at, byte.write, site);
            if (byte.read.thread != t.index) byte.other_read = byte.read;
            byte.read = event;
        }
        if (access != Access::read) {
            for (Event const* read : {&byte.read, &byte.other_read})
                if (races && !(read->is_atomic && event.is_atomic) && !is_ordered(*read, t))
                    report_race(t, "this thread writes what another reads:", at, *read, site);
            byte.write = event;
        }
    }
    if (!any_written && access != Access::write && settings().report_unwritten)
        fail(t, Fault::other,
             "read of shared memory that no thread of the block has written: " + describe_shared(block, offset), site);
}

/// Of a byte of device memory: launch (16 bits), the block that wrote it + 1 (23 bits, whether by an atomic: 1 bit),
/// the block that read it + 1 (23 bits, likewise). Blocks whose numbers agree in the low bits may hide a race; none
/// is invented.
struct GlobalHistory {
    std::uint64_t launch : 16, writer : 23, write_atomic : 1, reader : 23, read_atomic : 1;
};
static_assert(sizeof(GlobalHistory) == 8);

GlobalHistory* global_history() {
    static GlobalHistory* const history = [] {
        void* const memory = mmap(nullptr, heap().device_range_bytes() * sizeof(GlobalHistory), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return memory == MAP_FAILED ? nullptr : static_cast<GlobalHistory*>(memory);
    }();
    return history;
}

void note_global(ThreadState& t, char const* address, std::uint32_t size, Access access, Site site) {
    Grid const& grid = *t.block->grid;
    if (!settings().report_races || grid.ordered_by_fences) return;
    if (!heap().in_device_range(address) || !global_history()) return;
    static std::uint32_t age = 0;
    if (age != grid.number >> 16) { // launch numbers start again: nothing recorded may look current
        age = grid.number >> 16;
        madvise(global_history(), heap().device_range_bytes() * sizeof(GlobalHistory), MADV_DONTNEED);
    }
    std::uint16_t const launch = static_cast<std::uint16_t>(grid.number);
    std::uint32_t const me = (t.block->number + 1) & 0x7fffff;
    for (std::uint32_t i = 0; i < size; ++i) {
        GlobalHistory& byte = global_history()[address + i - heap().device_range()];
        if (byte.launch != launch) byte = {launch, 0, 0, 0, 0};
        bool const is_atomic = access == Access::atomic;
        auto const report = [&](char const* what) {
            fail(t, Fault::other,
                 std::string("race between blocks: ") + what + " in the same launch, without an atomic", site);
        };
        if (access != Access::write) {
            // A plain read of what others change by atomics is how a compare-and-swap loop begins.
            if (byte.writer && byte.writer != me && !byte.write_atomic)
                report("this block reads global memory that another block writes");
            byte.reader = me & 0x7fffff, byte.read_atomic = is_atomic;
        }
        if (access != Access::read) {
            if (byte.reader && byte.reader != me && !(byte.read_atomic && is_atomic))
                report("this block writes global memory that another block reads");
            byte.writer = me & 0x7fffff, byte.write_atomic = is_atomic;
        }
    }
}

std::string describe_global(char const* address, std::uint32_t size) {
    std::string text =
        std::to_string(size) + " bytes at address " + std::to_string(reinterpret_cast<std::uintptr_t>(address)) + ": ";
    Allocation const* const near = heap().nearest(address);
    if (!near || address - near->begin > (1 << 20) + static_cast<std::ptrdiff_t>(near->size))
        return text + "no allocation is there (a pointer to host memory, or one that was never set?)";
    std::string const which =
        "allocation " + std::to_string(near->number) + " (" + std::to_string(near->size) + " bytes)";
    if (!near->live) return text + which + " was freed by " + near->freed_by;
    return text + "byte " + std::to_string(address - near->begin) + " of " + which + ", past its end";
}

} // namespace

std::uint64_t tick() { return ++now; }

void mark_copying(ThreadState& t, char const* target, std::uint32_t size, bool copying) {
    for (std::uint32_t i = 0; i < size; ++i)
        t.block->shadow.bytes[static_cast<std::size_t>(target - t.shared) + i].copying = copying;
}

void start_shadow([[maybe_unused]] Block& block) {
    SharedShadow& shadow = block.shadow;
    shadow.start = tick();
    shadow.barrier = shadow.start;
    Kernel const& kernel = *block.grid->request.kernel;
    auto const mark = [&](std::size_t from, std::size_t to, bool guard) {
        if (from >= to) return;
        if (guard) sanitizer::forbid(block.shared + from, to - from);
        else sanitizer::allow(block.shared + from, to - from);
#if defined(EMU_CHECKED)
        for (std::size_t at = from; at < to; ++at) shadow.bytes[at].guard = guard;
#endif
    };
#if defined(EMU_CHECKED)
    for (ByteHistory& byte : shadow.bytes) byte.copying = false; // a block may end with a copy on its way
#endif
    if (shadow.ready && !sanitizer::address_sanitizer()) return;
    shadow.ready = true;
#if defined(EMU_CHECKED)
    shadow.bytes.assign(block.shared_bytes, {});
#endif
    std::size_t const dynamic_bytes = block.grid->request.dynamic_shared;
    mark(0, block.shared_bytes - dynamic_bytes, true);
    for (std::uint32_t i = 0; i < kernel.shared_array_count; ++i)
        mark(kernel.shared_arrays[i].offset, kernel.shared_arrays[i].offset + kernel.shared_arrays[i].size, false);
}

void check_shared(Thread& thread, std::uint32_t offset, std::uint32_t size, Access access, Site site) {
    ThreadState& t = state_of(thread);
    for (std::uint32_t at = offset; at < offset + size; ++at)
        if (t.block->shadow.bytes[at].guard)
            fail(t, Fault::illegal_address,
                 std::to_string(size) + " bytes at " + describe_shared(*t.block, offset) + ": past its end", site);
    note_shared(t, offset, size, access, site);
}

void check_global(Thread& thread, std::uint64_t value, std::uint32_t size, Access access, Site site) {
    ThreadState& t = state_of(thread);
    auto* const address = reinterpret_cast<char*>(value);
    if (access == Access::ordered) t.block->grid->ordered_by_fences = true;
    static Allocation const* recent = nullptr; // allocations are never moved, only erased on the host
    static std::uint32_t recent_launch = 0;
    if (recent_launch != t.grid_number) recent = nullptr, recent_launch = t.grid_number;
    if (!recent || !recent->contains(address, size)) {
        Allocation const* const found = heap().find(address);
        recent = found && found->live && found->contains(address, size) ? found : nullptr;
    }
    if (recent) return note_global(t, address, size, access, site);
    if (is_shared(thread, value))
        return check_shared(thread, static_cast<std::uint32_t>(value - t.shared_base()), size, access, site);
    if (t.fiber.owns(address)) return;
    if (Variable const* const variable = find_variable(address, size)) {
        if (variable->is_constant && access != Access::read)
            fail(t, Fault::illegal_address, "store to __constant__ " + demangle(variable->name), site);
        return;
    }
    Grid const& grid = *t.block->grid;
    auto const* const workspace = reinterpret_cast<char const*>(grid.workspace);
    if (address >= workspace && address < workspace + sizeof grid.workspace) return;
    for (std::uint32_t i = 0; i < grid.request.kernel->parameter_count; ++i)
        if (address >= grid.request.arguments[i] &&
            address + size <= grid.request.arguments[i] + grid.request.kernel->parameters[i].size)
            return;
    for (ThreadState const& other : t.block->threads)
        if (other.fiber.owns(address))
            fail(t, Fault::illegal_address, "an address in the local memory of another thread", site);
    fail(t, Fault::illegal_address, describe_global(address, size), site);
}

bool is_shared(Thread& t, std::uint64_t address) {
    return address >= t.shared_base() && address < t.shared_base() + t.shared_bytes;
}

bool is_local(Thread& t, std::uint64_t address) {
    return state_of(t).fiber.owns(reinterpret_cast<void const*>(address));
}

bool is_global(Thread& t, std::uint64_t address) { return !is_shared(t, address) && !is_local(t, address); }

} // namespace emu
