/// @file
/// Vectors that memory holds only the first elements of: loads and stores that touch nothing beyond them.
#pragma once

#include <tenon/cpu/vector.hpp>

namespace tenon::cpu {

/// Whether the target has an instruction for it: AVX-512 moves under a mask of elements of 4 or 8 bytes.
template <class T, int N>
inline constexpr bool has_masked_moves =
#if defined(__AVX512VL__)
    (sizeof(T) == 4 || sizeof(T) == 8) && (N * sizeof(T) == 64 || N * sizeof(T) == 32 || N * sizeof(T) == 16);
#elif defined(__AVX512F__)
    (sizeof(T) == 4 || sizeof(T) == 8) && N * sizeof(T) == 64;
#else
    false;
#endif

/// Reads the first `Valid` of N elements into `v`; the others become zero. (By reference: N elements of T may be more
/// than a register holds, and compilers warn where such vectors are returned.)
template <int Valid, int N, class T>
TENON_ALWAYS_INLINE void load_first(T const* from, Vec<T, N>& v) {
#if defined(__AVX512F__)
    // Through memory, the elements would take the long way: stored one by one, loaded together before the stores are
    // done.
    if constexpr (Valid != N && has_masked_moves<T, N>) {
        unsigned short const mask = (1u << Valid) - 1u;
        auto const& elements = *reinterpret_cast<T const(*)[static_cast<std::size_t>(Valid)]>(from);
        if constexpr (sizeof(T) == 4)
            asm("vmovups {%1, %0%{%2%}%{z%}|%0%{%2%}%{z%}, %1}" : "=v"(v) : "m"(elements), "Yk"(mask));
        else asm("vmovupd {%1, %0%{%2%}%{z%}|%0%{%2%}%{z%}, %1}" : "=v"(v) : "m"(elements), "Yk"(mask));
        return;
    }
#endif
    if constexpr (Valid != N) v = Vec<T, N>{};
    std::memcpy(&v, from, static_cast<std::size_t>(Valid) * sizeof(T));
}

/// Writes the first `Valid` of N elements.
template <int Valid, int N, class T>
TENON_ALWAYS_INLINE void store_first(T* to, Vec<T, N> const& v) {
#if defined(__AVX512F__)
    if constexpr (Valid != N && has_masked_moves<T, N>) {
        unsigned short const mask = (1u << Valid) - 1u;
        auto& elements = *reinterpret_cast<T(*)[static_cast<std::size_t>(Valid)]>(to);
        if constexpr (sizeof(T) == 4) asm("vmovups {%1, %0%{%2%}|%0%{%2%}, %1}" : "=m"(elements) : "v"(v), "Yk"(mask));
        else asm("vmovupd {%1, %0%{%2%}|%0%{%2%}, %1}" : "=m"(elements) : "v"(v), "Yk"(mask));
        return;
    }
#endif
    std::memcpy(to, &v, static_cast<std::size_t>(Valid) * sizeof(T));
}

/// Writes a whole vector to an address that is a multiple of its size, past the caches where the target can.
template <class V>
TENON_ALWAYS_INLINE void store_past_caches(void* to, V const& v) {
#if defined(__SSE2__)
    if constexpr (sizeof(V) == vector_bytes) {
        auto& elements = *reinterpret_cast<char(*)[sizeof(V)]>(to);
#if defined(__AVX512F__)
        asm("vmovntps {%1, %0|%0, %1}" : "=m"(elements) : "v"(v));
#elif defined(__AVX__)
        asm("vmovntps {%1, %0|%0, %1}" : "=m"(elements) : "x"(v));
#else
        asm("movntps {%1, %0|%0, %1}" : "=m"(elements) : "x"(v));
#endif
        return;
    }
#endif
    std::memcpy(to, &v, sizeof v);
}

/// Orders store_past_caches before all later stores, so that other threads see them in that order.
TENON_ALWAYS_INLINE void order_stores() {
#if defined(__SSE2__)
    asm volatile("sfence" ::: "memory");
#endif
}

} // namespace tenon::cpu
