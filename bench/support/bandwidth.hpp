/// @file
/// What memory allows: the plainest loops that read or copy floats, in the variants that are fastest on one machine or
/// another.
#pragma once

#include <tenon/cpu/vector.hpp>

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bench {

using tenon::index_t;
inline constexpr int lanes = tenon::cpu::native_lanes<float>;
using Vector = tenon::cpu::Vec<float, lanes>;

// Counts are multiples of 8 vectors, addresses are aligned to vectors.

inline void copy_by_memcpy(float const* from, float* to, index_t count) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

/// Four vectors a round.
inline void copy_by_vectors(float const* from, float* to, index_t count) {
    for (index_t i = 0; i < count; i += 4 * lanes)
        TENON_UNROLL for (int v = 0; v < 4; ++v)
            tenon::cpu::store<lanes>(to + i + v * lanes, tenon::cpu::load<lanes>(from + i + v * lanes));
}

#if defined(__x86_64__)
inline constexpr bool has_streaming_stores = true;

inline void stream(float* to, Vector const& v) {
#if defined(__AVX512F__)
    _mm512_stream_ps(to, reinterpret_cast<__m512>(v));
#elif defined(__AVX__)
    _mm256_stream_ps(to, reinterpret_cast<__m256>(v));
#else
    _mm_stream_ps(to, reinterpret_cast<__m128>(v));
#endif
}

/// Four vectors a round, past the caches.
inline void copy_by_streaming(float const* from, float* to, index_t count) {
    for (index_t i = 0; i < count; i += 4 * lanes)
        TENON_UNROLL for (int v = 0; v < 4; ++v)
            stream(to + i + v * lanes, tenon::cpu::load<lanes>(from + i + v * lanes));
    _mm_sfence();
}
#else
inline constexpr bool has_streaming_stores = false;
inline void copy_by_streaming(float const* from, float* to, index_t count) { copy_by_memcpy(from, to, count); }
#endif

/// Reads `Streams` stretches side by side and adds them up; the sum keeps the loop alive.
template <int Streams>
float read(float const* from, index_t count) {
    index_t const stretch = count / Streams;
    Vector sum[8] = {};
    for (index_t i = 0; i < stretch; i += 8 / Streams * lanes)
        TENON_UNROLL for (int a = 0; a < 8; ++a) sum[a] +=
            tenon::cpu::load<lanes>(from + a % Streams * stretch + i + a / Streams * lanes);
    Vector total{};
    for (Vector const& v : sum) total += v;
    return total[0];
}

} // namespace bench
