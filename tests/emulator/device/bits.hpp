/// @file
/// Bits read as another type, and loads and stores.
#pragma once

#include "thread.hpp"

#include <cstring>
#include <type_traits>

namespace emu {

/// The bits of `from` as a To: cut off or filled with zeros where the sizes differ.
template <class To, class From>
[[gnu::always_inline]] inline To bits(From from) {
    To to{};
    std::memcpy(&to, &from, sizeof(To) < sizeof(From) ? sizeof(To) : sizeof(From));
    return to;
}

/// Registers and memory that nothing was written to hold NaN in every float format.
[[gnu::always_inline]] inline void poison(void* memory, std::size_t bytes) { std::memset(memory, 0xff, bytes); }

/// The address of `size` bytes at `offset` of this block's shared memory.
[[gnu::always_inline]] inline char* shared(Thread& t, std::uint32_t offset, std::uint32_t size,
                                           [[maybe_unused]] Access access, Site site) {
    if (__builtin_expect(std::uint64_t{offset} + size > t.shared_bytes, 0)) bad_shared_address(t, offset, size, site);
    if (__builtin_expect((offset & (size - 1)) != 0, 0)) bad_alignment(t, offset, size, site);
#if defined(EMU_CHECKED)
    check_shared(t, offset, size, access, site);
#endif
    return t.shared + offset;
}

/// A generic or global address. Which memory it is in is only looked up in the checked build.
[[gnu::always_inline]] inline char* global(Thread& t, std::uint64_t address, std::uint32_t size,
                                           [[maybe_unused]] Access access, Site site) {
    if (__builtin_expect((address & (size - 1)) != 0, 0)) bad_alignment(t, address, size, site);
#if defined(EMU_CHECKED)
    check_global(t, address, size, access, site);
#endif
    return reinterpret_cast<char*>(address);
}

[[gnu::always_inline]] inline char* local(Thread& t, std::uint64_t address, std::uint32_t size, Access, Site site) {
    if (__builtin_expect((address & (size - 1)) != 0, 0)) bad_alignment(t, address, size, site);
    return reinterpret_cast<char*>(address);
}

// Plain accesses, so that the sanitizers see them in translated code. Compiled with -fno-strict-aliasing.

template <class T>
[[gnu::always_inline]] inline T load(char const* from) {
    return *reinterpret_cast<T const*>(from);
}

template <class T>
[[gnu::always_inline]] inline void store(char* to, T value) {
    *reinterpret_cast<T*>(to) = value;
}

/// An integer as large as T: what the compiler's atomic operations take.
template <class T>
using Word = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                   std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

template <class T, int Order>
[[gnu::always_inline]] inline T load_ordered(char const* from) {
    if constexpr (sizeof(T) > 8) return load<T>(from);
    else return bits<T>(__atomic_load_n(reinterpret_cast<Word<T> const*>(from), Order));
}

template <class T, int Order>
[[gnu::always_inline]] inline void store_ordered(char* to, T value) {
    if constexpr (sizeof(T) > 8) store<T>(to, value);
    else __atomic_store_n(reinterpret_cast<Word<T>*>(to), bits<Word<T>>(value), Order);
}

template <class T>
inline T load_relaxed(char const* from) {
    return load_ordered<T, __ATOMIC_RELAXED>(from);
}
template <class T>
inline T load_acquire(char const* from) {
    return load_ordered<T, __ATOMIC_ACQUIRE>(from);
}
template <class T>
inline void store_relaxed(char* to, T value) {
    store_ordered<T, __ATOMIC_RELAXED>(to, value);
}
template <class T>
inline void store_release(char* to, T value) {
    store_ordered<T, __ATOMIC_RELEASE>(to, value);
}

} // namespace emu
