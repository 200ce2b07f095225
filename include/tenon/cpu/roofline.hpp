/// @file
/// What one core of this machine can do, measured: the two lines of a roofline plot (Williams, Waterman and Patterson
/// 2009, https://doi.org/10.1145/1498765.1498785). Timings are the best of many short ones, because other programs can
/// only slow them down.
#pragma once

#include <tenon/cpu/vector.hpp>

#include <chrono>
#include <cstdlib>
#include <memory>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tenon::cpu {

/// The limits of one thread.
struct Roofline {
    double flops;          ///< floating-point operations in a second, float, a fused multiply-add counted as two
    double copy_bandwidth; ///< bytes in a second, those read plus those written, of a copy too large for the caches
};

/// Seconds of the fastest of repeated calls of f within `budget` seconds; at least three calls.
template <class F>
double best_seconds(double budget, F const& f) {
    using Clock = std::chrono::steady_clock;
    double best = 0, total = 0;
    for (int call = 0; call < 3 || total < budget; ++call) {
        auto const start = Clock::now();
        f();
        double const seconds = std::chrono::duration<double>(Clock::now() - start).count();
        total += seconds;
        if (call == 0 || seconds < best) best = seconds;
    }
    return best;
}

namespace roofline {

/// Independent chains of multiply-adds: enough of them to hide the latency of any current core (2 units x 5 cycles).
inline constexpr int chains = vector_registers > 16 ? 16 : 12;
inline constexpr int trips = 20'000;

/// Runs every chain `trips` times and returns the sum, so that no compiler can leave the work out.
TENON_NEVER_INLINE inline float multiply_add_chains(float const* seeds) {
    using V = Vec<float, native_lanes<float>>;
    V const scale = broadcast<native_lanes<float>>(seeds[0]), shift = broadcast<native_lanes<float>>(seeds[1]);
    V chain[chains];
    for (int i = 0; i < chains; ++i) chain[i] = broadcast<native_lanes<float>>(seeds[2 + i]);
    for (int t = 0; t < trips; ++t)
        for (int i = 0; i < chains; ++i) chain[i] = chain[i] * scale + shift;
    V sum{};
    for (int i = 0; i < chains; ++i) sum += chain[i];
    return sum[0];
}

} // namespace roofline

/// Peak of one thread in FLOP/s, from multiply-adds on full vectors in registers.
inline double measure_flops(double budget_seconds = 0.05) {
    float seeds[roofline::chains + 2] = {0.999F, 0.001F};
    for (int i = 0; i < roofline::chains; ++i) seeds[2 + i] = static_cast<float>(i + 1);
    float volatile sink = 0;
    double const seconds = best_seconds(budget_seconds, [&] { sink = roofline::multiply_add_chains(seeds); });
    return 2.0 * roofline::chains * native_lanes<float> * roofline::trips / seconds;
}

/// Bytes read and written in a second by one thread that copies 32 MiB to 32 MiB.
inline double measure_copy_bandwidth(double budget_seconds = 0.05) {
    constexpr std::size_t bytes = std::size_t{32} << 20, page = std::size_t{2} << 20;
    struct Free {
        void operator()(void* p) const { std::free(p); }
    };
    std::unique_ptr<void, Free> const memory{std::aligned_alloc(page, 2 * bytes)};
    if (memory == nullptr) return 0;
#if defined(__linux__)
    madvise(memory.get(), 2 * bytes,
            MADV_HUGEPAGE); // a hint: without it the first touch takes longer than the measurement
#endif
    char* const from = static_cast<char*>(memory.get());
    char* const to = from + bytes;
    std::memset(from, 1, bytes);
    std::memset(to, 2, bytes);
    char volatile sink = 0;
    double const seconds = best_seconds(budget_seconds, [&] {
        std::memcpy(to, from, bytes);
        sink = to[bytes / 2];
    });
    return 2.0 * bytes / seconds;
}

/// Both limits, in about a fifth of a second. Run it while the machine is otherwise idle.
inline Roofline measure_roofline() { return {measure_flops(), measure_copy_bandwidth()}; }

} // namespace tenon::cpu
