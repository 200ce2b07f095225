/// @file
/// The sanitizers' interface for programs with their own threads. The runtime itself is never instrumented; it finds a
/// sanitizer through weak symbols, which are null where the program was built without.
#pragma once

#include <cstddef>

extern "C" {
#define EMU_WEAK __attribute__((weak))
EMU_WEAK void* __tsan_create_fiber(unsigned flags);
EMU_WEAK void __tsan_destroy_fiber(void* fiber);
EMU_WEAK void* __tsan_get_current_fiber();
EMU_WEAK void __tsan_switch_to_fiber(void* fiber, unsigned flags);
EMU_WEAK void __tsan_acquire(void* address);
EMU_WEAK void __tsan_release(void* address);
EMU_WEAK void __tsan_read_range(void* address, unsigned long size);
EMU_WEAK void __tsan_write_range(void* address, unsigned long size);
EMU_WEAK void __sanitizer_start_switch_fiber(void** fake_stack, void const* bottom, size_t size);
EMU_WEAK void __sanitizer_finish_switch_fiber(void* fake_stack, void const** bottom, size_t* size);
EMU_WEAK void __asan_poison_memory_region(void const volatile* address, size_t size);
EMU_WEAK void __asan_unpoison_memory_region(void const volatile* address, size_t size);
#undef EMU_WEAK
}

namespace emu::sanitizer {

inline bool thread_sanitizer() { return __tsan_create_fiber != nullptr; }
inline bool address_sanitizer() { return __asan_poison_memory_region != nullptr; }

/// What happened before `release` on an object happens before what follows `acquire` on it.
inline void release(void* object) {
    if (__tsan_release) __tsan_release(object);
}
inline void acquire(void* object) {
    if (__tsan_acquire) __tsan_acquire(object);
}
inline void reads(void const* address, std::size_t size) {
    if (__tsan_read_range) __tsan_read_range(const_cast<void*>(address), size);
}
inline void writes(void* address, std::size_t size) {
    if (__tsan_write_range) __tsan_write_range(address, size);
}
/// Accesses to the range are errors until it is allowed again.
inline void forbid(void const* address, std::size_t size) {
    if (__asan_poison_memory_region) __asan_poison_memory_region(address, size);
}
inline void allow(void const* address, std::size_t size) {
    if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(address, size);
}

} // namespace emu::sanitizer
