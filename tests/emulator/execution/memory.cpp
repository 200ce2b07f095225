#include "memory.hpp"
#include "device/bits.hpp"
#include "report.hpp"
#include "sanitizer.hpp"

#include <cstring>
#include <sys/mman.h>

namespace emu {
namespace {

constexpr std::size_t alignment = 256;
/// Between allocations: what an index past the end runs into.
constexpr std::size_t gap = 256;
/// Freed memory that is kept out of use, so that a use after free meets NaN and not another tensor.
constexpr std::size_t most_quarantined = std::size_t{256} << 20;
constexpr std::size_t most_quarantined_blocks = 1024;

std::size_t footprint(std::size_t size) { return (size + alignment - 1) / alignment * alignment + gap; }

int arena_of(MemoryKind kind) { return kind == MemoryKind::device ? 0 : 1; }

} // namespace

Heap::Heap() {
    for (Arena& arena : arenas_) reserve(arena);
#if defined(EMU_CHECKED)
    mprotect(arenas_[0].begin, arenas_[0].size, PROT_NONE);
#endif
}

void Heap::reserve(Arena& arena) {
    for (std::size_t size = std::size_t{64} << 30; size >= std::size_t{1} << 30; size /= 2) {
        void* const memory =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) continue;
        arena.begin = static_cast<char*>(memory);
        arena.size = size;
        arena.free[arena.begin + alignment] = size - alignment; // no allocation begins where the range does
        return;
    }
    give_up("cannot reserve addresses for device memory");
}

char* Heap::take(Arena& arena, std::size_t bytes) {
    for (auto it = arena.free.begin(); it != arena.free.end(); ++it) {
        auto const [begin, size] = *it;
        if (size < bytes) continue;
        arena.free.erase(it);
        if (size > bytes) arena.free[begin + bytes] = size - bytes;
        return begin;
    }
    return nullptr;
}

void Heap::give_back(Arena& arena, char* begin, std::size_t bytes) {
    if (bytes >= std::size_t{1} << 20)
        madvise(reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(begin) + 4095) & ~std::uintptr_t{4095}),
                bytes - 8192, MADV_DONTNEED);
    auto const next = arena.free.lower_bound(begin);
    if (next != arena.free.end() && begin + bytes == next->first) {
        bytes += next->second;
        arena.free.erase(next);
    }
    auto const after = arena.free.lower_bound(begin);
    if (after != arena.free.begin()) {
        auto const before = std::prev(after);
        if (before->first + before->second == begin) {
            before->second += bytes;
            return;
        }
    }
    arena.free[begin] = bytes;
}

Allocation* Heap::allocate(std::size_t size, MemoryKind kind, int device, void* pool) {
    DeviceMemoryAccess access;
    Arena& arena = arenas_[arena_of(kind)];
    char* begin = take(arena, footprint(size));
    while (begin == nullptr && !quarantine_.empty()) {
        trim_quarantine();
        begin = take(arena, footprint(size));
    }
    if (begin == nullptr) return nullptr;
    sanitizer::allow(begin, size);
    poison(begin, size);
    sanitizer::forbid(begin + size, footprint(size) - size);
    Allocation& allocation = allocations_[begin];
    allocation = {begin, size, kind, device, pool, true, "", ++count_};
    return &allocation;
}

Allocation* Heap::adopt(void* memory, std::size_t size) {
    Allocation& allocation = allocations_[static_cast<char*>(memory)];
    allocation = {static_cast<char*>(memory), size, MemoryKind::registered, 0, nullptr, true, "", ++count_};
    return &allocation;
}

void Heap::forget(Allocation& allocation) { allocations_.erase(allocation.begin); }

void Heap::release(Allocation& allocation, char const* by) {
    DeviceMemoryAccess access;
    poison(allocation.begin, allocation.size);
    sanitizer::forbid(allocation.begin, allocation.size);
    allocation.live = false;
    allocation.freed_by = by;
    quarantine_.push_back(allocation.begin);
    quarantined_ += allocation.size;
    while (quarantined_ > most_quarantined || quarantine_.size() > most_quarantined_blocks) trim_quarantine();
}

void Heap::trim_quarantine() {
    auto const it = allocations_.find(quarantine_.front());
    quarantine_.pop_front();
    Allocation const oldest = it->second;
    quarantined_ -= oldest.size;
    allocations_.erase(it);
    give_back(arenas_[arena_of(oldest.kind)], oldest.begin, footprint(oldest.size));
}

Allocation* Heap::find(void const* address) {
    auto it = allocations_.upper_bound(static_cast<char*>(const_cast<void*>(address)));
    if (it == allocations_.begin()) return nullptr;
    --it;
    return it->second.contains(address) && (it->second.size || address == it->second.begin) ? &it->second : nullptr;
}

Allocation const* Heap::nearest(void const* address) const {
    auto it = allocations_.upper_bound(static_cast<char*>(const_cast<void*>(address)));
    return it == allocations_.begin() ? nullptr : &std::prev(it)->second;
}

std::size_t Heap::used(int device) const {
    std::size_t sum = 0;
    for (auto const& [begin, a] : allocations_)
        if (a.live && a.device == device && (a.kind == MemoryKind::device || a.kind == MemoryKind::managed))
            sum += a.size;
    return sum;
}

std::size_t Heap::used_by(void const* pool) const {
    std::size_t sum = 0;
    for (auto const& [begin, a] : allocations_)
        if (a.live && a.pool == pool) sum += a.size;
    return sum;
}

bool Heap::in_device_range(void const* address) const {
    return address >= arenas_[0].begin && address < arenas_[0].begin + arenas_[0].size;
}

void Heap::open() {
#if defined(EMU_CHECKED)
    if (opened_++ == 0) mprotect(arenas_[0].begin, arenas_[0].size, PROT_READ | PROT_WRITE);
#else
    ++opened_;
#endif
}

void Heap::close() {
#if defined(EMU_CHECKED)
    if (--opened_ == 0) mprotect(arenas_[0].begin, arenas_[0].size, PROT_NONE);
#else
    --opened_;
#endif
}

Heap& heap() {
    static Heap* const instance = new Heap; // never destroyed: static objects of the program may still free memory
    return *instance;
}

} // namespace emu
