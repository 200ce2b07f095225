// cp.async. A copy is carried out as late as the program allows: at the wait for its group. Until then its target
// holds NaN.
#include "grid.hpp"
#include "report.hpp"
#include "sanitizer.hpp"

namespace emu {

void copy_async(Thread& thread, char* target, std::uint64_t source, std::uint32_t size, std::uint32_t read, Site site) {
    ThreadState& t = state_of(thread);
    if (read > size) fail(t, Fault::other, "cp.async reads more bytes than it writes", site);
    if (read && source % size) bad_alignment(t, source, size, site);
#if defined(EMU_CHECKED)
    if (read) check_global(t, source, read, Access::read, site);
    mark_copying(t, target, size, true);
#endif
    sanitizer::writes(target, size);
    sanitizer::reads(reinterpret_cast<void const*>(source), read);
    poison(target, size);
    t.open_copies.push_back({target, source, size, read});
}

void commit_copies(Thread& thread) {
    ThreadState& t = state_of(thread);
    t.copy_groups.push_back(std::move(t.open_copies));
    t.open_copies.clear();
}

void wait_for_copies(Thread& thread, std::uint32_t pending_groups) {
    ThreadState& t = state_of(thread);
    for (; t.copy_groups.size() > pending_groups; t.copy_groups.pop_front()) {
        for (PendingCopy const& copy : t.copy_groups.front()) {
            sanitizer::reads(reinterpret_cast<void const*>(copy.source), copy.read);
            sanitizer::writes(copy.target, copy.size);
            std::memcpy(copy.target, reinterpret_cast<void const*>(copy.source), copy.read);
            std::memset(copy.target + copy.read, 0, copy.size - copy.read);
#if defined(EMU_CHECKED)
            mark_copying(t, copy.target, copy.size, false);
#endif
        }
    }
}

} // namespace emu
