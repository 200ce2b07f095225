/// @file
/// The memory of the emulated devices, and the pinned and managed memory of the host: every allocation is known by
/// address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace emu {

enum class MemoryKind { device, pinned, managed, registered };

struct Allocation {
    char* begin = nullptr;
    std::size_t size = 0;
    MemoryKind kind = MemoryKind::device;
    int device = 0;
    void* pool = nullptr; ///< of a stream-ordered allocation
    bool live = true;
    char const* freed_by = ""; ///< once it is not
    std::uint64_t number = 0;  ///< counts allocations

    bool contains(void const* address, std::size_t bytes = 1) const {
        auto const from = reinterpret_cast<std::uintptr_t>(address), first = reinterpret_cast<std::uintptr_t>(begin);
        return from >= first && from - first <= size && bytes <= size - (from - first);
    }
};

/// Two reserved ranges of addresses, one for devices, one for the host. Allocations are 256-byte aligned, at least
/// 256 bytes apart, filled with NaN when they are made and again when they are freed; a freed one is not used again
/// at once.
class Heap {
public:
    Heap();

    Allocation* allocate(std::size_t size, MemoryKind kind, int device, void* pool = nullptr);
    void release(Allocation& allocation, char const* by);
    /// cudaHostRegister: memory that the heap does not own.
    Allocation* adopt(void* memory, std::size_t size);
    void forget(Allocation& allocation);

    /// The allocation that holds the address, freed ones that are still kept included.
    Allocation* find(void const* address);
    /// The allocation that the address lies in or shortly behind: for messages.
    Allocation const* nearest(void const* address) const;

    std::size_t used(int device) const;
    std::size_t used_by(void const* pool) const;

    bool in_device_range(void const* address) const;
    char const* device_range() const { return arenas_[0].begin; }
    std::size_t device_range_bytes() const { return arenas_[0].size; }

    /// The checked build: device memory cannot be touched except between these two. They nest.
    void open();
    void close();

private:
    struct Arena {
        char* begin = nullptr;
        std::size_t size = 0;
        std::map<char*, std::size_t> free;
    };
    void reserve(Arena&);
    char* take(Arena&, std::size_t bytes);
    void give_back(Arena&, char* begin, std::size_t bytes);
    void trim_quarantine();

    Arena arenas_[2];
    std::map<char*, Allocation> allocations_;
    std::deque<char*> quarantine_;
    std::size_t quarantined_ = 0;
    std::uint64_t count_ = 0;
    int opened_ = 0;
};

Heap& heap();

/// While it lives, device memory can be touched.
class DeviceMemoryAccess {
public:
    DeviceMemoryAccess() { heap().open(); }
    ~DeviceMemoryAccess() { heap().close(); }
    DeviceMemoryAccess(DeviceMemoryAccess const&) = delete;
    DeviceMemoryAccess& operator=(DeviceMemoryAccess const&) = delete;
};

} // namespace emu
