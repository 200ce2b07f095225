/// @file
/// SIMD vectors as the compiler's own vector extensions (GCC and Clang): the only file that knows how wide they are.
/// Host code only; nvcc accepts these types in host functions.
#pragma once

#include <tenon/core/config.hpp>

#include <cstring>
#include <utility>

/// Before a loop over registers with a constant trip count: unrolls it completely, so that what it indexes can live in
/// registers. nvcc warns of the pragma; there the optimiser's own judgement has to do.
#if defined(__CUDACC__)
#define TENON_UNROLL
#elif defined(__GNUC__)
#define TENON_UNROLL _Pragma("GCC unroll 64")
#else
#define TENON_UNROLL
#endif

namespace tenon::cpu {

/// Bytes in one register of the target that this translation unit is compiled for.
#if defined(__AVX512F__)
inline constexpr int vector_bytes = 64;
inline constexpr int vector_registers = 32;
#elif defined(__AVX__)
inline constexpr int vector_bytes = 32;
inline constexpr int vector_registers = 16;
#elif defined(__aarch64__)
inline constexpr int vector_bytes = 16;
inline constexpr int vector_registers = 32;
#else
inline constexpr int vector_bytes = 16;
inline constexpr int vector_registers = 16;
#endif

/// Elements of T in one register.
template <class T>
inline constexpr int native_lanes = vector_bytes / static_cast<int>(sizeof(T));

template <class T, int N>
struct VectorOf {
    typedef T type __attribute__((
        vector_size(static_cast<std::size_t>(N) * sizeof(T)))); // `using` drops the attribute under g++ 12
};

/// N elements of T. N is a power of two; arithmetic, comparison and `mask ? a : b` work element by element.
template <class T, int N>
using Vec = typename VectorOf<T, N>::type;

/// `Count` vectors that are meant to live in registers: an array whose every index is a constant after TENON_UNROLL.
template <class V, int Count>
using Registers = V[static_cast<std::size_t>(Count)];

/// The same address, of which the optimiser no longer knows where it came from. In a loop over registers it keeps g++
/// from carrying loaded vectors to the next round: the registers for that are not there.
template <class T>
TENON_ALWAYS_INLINE T const* opaque(T const* address) {
#if defined(__GNUC__)
    asm("" : "+r"(address));
#endif
    return address;
}

/// Keeps a loaded vector in a register for its several uses: g++ would rather load it anew for each of them.
template <class V>
TENON_ALWAYS_INLINE void keep([[maybe_unused]] V& v) {
#if defined(__GNUC__) && !defined(__clang__)
#if defined(__AVX512F__)
    asm("" : "+v"(v));
#elif defined(__SSE2__)
    if constexpr (sizeof(V) <= vector_bytes) asm("" : "+x"(v));
#elif defined(__aarch64__)
    asm("" : "+w"(v));
#endif
#endif
}

/// Loads N elements from any address that holds them.
template <int N, class T>
TENON_ALWAYS_INLINE Vec<T, N> load(T const* from) {
    Vec<T, N> v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

/// Stores N elements to any address that has room for them.
template <int N, class T>
TENON_ALWAYS_INLINE void store(T* to, Vec<T, N> const& v) {
    std::memcpy(to, &v, sizeof v);
}

/// Loads `count` <= N elements; the lanes beyond them are zero. Memory beyond them is not read.
template <int N, class T>
TENON_ALWAYS_INLINE Vec<T, N> load_some(T const* from, index_t count) {
    Vec<T, N> v{};
    std::memcpy(&v, from, static_cast<std::size_t>(count) * sizeof(T));
    return v;
}

/// Stores the first `count` <= N elements.
template <int N, class T>
TENON_ALWAYS_INLINE void store_some(T* to, Vec<T, N> const& v, index_t count) {
    std::memcpy(to, &v, static_cast<std::size_t>(count) * sizeof(T));
}

/// The same value in every lane.
template <int N, class T>
TENON_ALWAYS_INLINE Vec<T, N> broadcast(T value) {
    return value - Vec<T, N>{}; // not plus: -0 + 0 is +0, so that a compiler would have to add
}

/// Lane i of the result is element Index[i] of a and b laid end to end. a and b have as many lanes as there are
/// indices.
template <int... Index, class V>
TENON_ALWAYS_INLINE V shuffle(V a, V b) {
#if defined(__clang__)
    return __builtin_shufflevector(a, b, Index...);
#else
    static_assert(sizeof(a[0]) == sizeof(std::int32_t));
    return __builtin_shuffle(a, b, Vec<std::int32_t, static_cast<int>(sizeof...(Index))>{Index...});
#endif
}

/// Loads L elements and repeats them until N lanes are full: abab for L = 2, N = 4.
template <int N, int L>
TENON_ALWAYS_INLINE Vec<float, N> load_repeated(float const* from) {
    static_assert(N % L == 0);
    if constexpr (L == N) {
        return load<N>(from);
    } else if constexpr (L == 1) {
        return broadcast<N>(*from);
    } else if constexpr (L == 2) {
        std::int64_t pair;
        std::memcpy(&pair, from, sizeof pair);
        return reinterpret_cast<Vec<float, N>>(broadcast<N / 2>(pair));
    } else
#if defined(__AVX512DQ__) && defined(__GNUC__) &&                                                                      \
    !defined(__clang__) // g++ 12 finds the one instruction for it only by name
        if constexpr (N == 16 && L == 4) {
            return __builtin_ia32_broadcastf32x4_512(load<L>(from), Vec<float, N>{}, static_cast<unsigned short>(-1));
        } else if constexpr (N == 16 && L == 8) {
            return __builtin_ia32_broadcastf32x8_512_mask(load<L>(from), Vec<float, N>{},
                                                          static_cast<unsigned short>(-1));
        } else
#endif
#if defined(__AVX__) && defined(__GNUC__) && !defined(__clang__)
            if constexpr (N == 8 && L == 4) {
            return __builtin_ia32_vbroadcastf128_ps256(reinterpret_cast<Vec<float, L> const*>(from));
        } else
#endif
        {
            Registers<Vec<float, L>, N / L> copies;
            for (int i = 0; i < N / L; ++i) copies[i] = load<L>(from);
            Vec<float, N> v;
            std::memcpy(&v, copies, sizeof v);
            return v;
        }
}

namespace lanes {

// Q = N / L elements, each L times. Few elements are loaded to every part of the vector, which needs no instruction of its
// own; a small vector that becomes a large one goes through memory with g++ 12.
template <int L, int N, int... I>
TENON_ALWAYS_INLINE Vec<float, N> repeat_each(float const* from, std::integer_sequence<int, I...>) {
    constexpr int count = N / L;
    if constexpr (count == 2) {
        return shuffle<(I < L ? I : N + I)...>(broadcast<N>(from[0]), broadcast<N>(from[1]));
    } else if constexpr ((count == 4 || count == 8) && N > count) {
        Vec<float, N> const v = load_repeated<N, count>(from);
        return shuffle<(I / count * count + I / L)...>(v, v);
    } else {
        Vec<float, N> const v = load_some<N>(from, count);
        return shuffle<(I / L)...>(v, v);
    }
}

// Elements are `Chunk` neighbouring lanes here: unzip parts those with an even from those with an odd index, zip joins
// them.
template <int Chunk, class V, int... I>
TENON_ALWAYS_INLINE void unzip(V& a, V& b, std::integer_sequence<int, I...>) {
    V const even = shuffle<(I / Chunk * 2 * Chunk + I % Chunk)...>(a, b);
    b = shuffle<((I / Chunk * 2 + 1) * Chunk + I % Chunk)...>(a, b);
    a = even;
}

template <int Chunk, class V, int... I>
TENON_ALWAYS_INLINE void zip(V& a, V& b, std::integer_sequence<int, I...>) {
    constexpr int n = static_cast<int>(sizeof...(I));
    V const first = shuffle<(I / Chunk / 2 * Chunk + I / Chunk % 2 * n + I % Chunk)...>(a, b);
    b = shuffle<(n / 2 + I / Chunk / 2 * Chunk + I / Chunk % 2 * n + I % Chunk)...>(a, b);
    a = first;
}

} // namespace lanes

/// Loads N / L elements and repeats each L times: aabb for L = 2, N = 4.
template <int N, int L>
TENON_ALWAYS_INLINE Vec<float, N> load_repeating_each(float const* from) {
    static_assert(N % L == 0);
    if constexpr (L == 1) return load<N>(from);
    else if constexpr (L == N) return broadcast<N>(*from);
    else return lanes::repeat_each<L, N>(from, std::make_integer_sequence<int, N>{});
}

/// v[0 ... L) hold the elements s[0], s[1], ..., each of `Chunk` neighbouring lanes; afterwards v[l] holds s[l], s[L +
/// l], s[2 L + l], ... L and Chunk are powers of two, and L elements fill at most a vector; where they fill one, this
/// is the transpose of a square.
template <int L, int Chunk = 1, class V>
TENON_ALWAYS_INLINE void deinterleave(V* v) {
    constexpr int N = static_cast<int>(sizeof(V) / sizeof(float));
    TENON_UNROLL for (int round = 1; round < L;
                      round *= 2) { // elements with an even index to the first half, odd to the second
        Registers<V, L> sorted;
        TENON_UNROLL for (int i = 0; i < L / 2; ++i) {
            sorted[i] = v[2 * i], sorted[L / 2 + i] = v[2 * i + 1];
            lanes::unzip<Chunk>(sorted[i], sorted[L / 2 + i], std::make_integer_sequence<int, N>{});
        }
        TENON_UNROLL for (int i = 0; i < L; ++i) v[i] = sorted[i];
    }
}

/// The opposite of deinterleave: afterwards v[0 ... L) hold v[0][0], v[1][0], ..., v[L - 1][0], v[0][1], ...
template <int L, int Chunk = 1, class V>
TENON_ALWAYS_INLINE void interleave(V* v) {
    constexpr int N = static_cast<int>(sizeof(V) / sizeof(float));
    TENON_UNROLL for (int round = 1; round < L; round *= 2) {
        Registers<V, L> joined;
        TENON_UNROLL for (int i = 0; i < L / 2; ++i) {
            joined[2 * i] = v[i], joined[2 * i + 1] = v[L / 2 + i];
            lanes::zip<Chunk>(joined[2 * i], joined[2 * i + 1], std::make_integer_sequence<int, N>{});
        }
        TENON_UNROLL for (int i = 0; i < L; ++i) v[i] = joined[i];
    }
}

/// v[0 ... L) hold groups of L neighbouring lanes; returns the sum of each group, in order. L as for deinterleave; v is
/// used up. The order of summation is fixed: neighbours first, then neighbouring pairs, and so on.
template <int L, class V>
TENON_ALWAYS_INLINE V sum_groups(V* v) {
    [[maybe_unused]] constexpr int N = static_cast<int>(sizeof(V) / sizeof(float));
    if constexpr (L > 1) {
        TENON_UNROLL for (int i = 0; i < L / 2; ++i) {
            lanes::unzip<1>(v[2 * i], v[2 * i + 1], std::make_integer_sequence<int, N>{});
            v[i] = v[2 * i] + v[2 * i + 1];
        }
        return sum_groups<L / 2>(v);
    } else {
        return v[0];
    }
}

} // namespace tenon::cpu
