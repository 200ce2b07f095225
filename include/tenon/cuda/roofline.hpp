/// @file
/// What a GPU can do, measured: the two lines of a roofline plot (Williams, Waterman and Patterson 2009,
/// https://doi.org/10.1145/1498765.1498785). Amounts of work are doubled until they take long enough to be timed.
#pragma once

#include <tenon/cuda/block.hpp>
#include <tenon/cuda/device.hpp>
#include <tenon/cuda/launch.hpp>

#include <algorithm>

namespace tenon::cuda {

/// The limits of one GPU.
struct Roofline {
    double flops = 0;          ///< float operations in a second outside the tensor cores, a fused multiply-add counted as two
    double copy_bandwidth = 0; ///< bytes in a second, those read plus those written, of a copy too large for the caches
};

namespace roofline {

inline constexpr int threads = 256, blocks_per_multiprocessor = 8, chains = 16;

/// Independent chains of multiply-adds, enough of them to hide their latency.
template <int>
__global__ void __launch_bounds__(threads) multiply_add(float* results, int trips) {
    float chain[chains];
    for (int i = 0; i < chains; ++i) chain[i] = static_cast<float>(threadIdx.x + static_cast<unsigned>(i));
    float const scale = results[0], shift = results[1];
#pragma unroll 1
    for (int t = 0; t < trips; ++t) {
#pragma unroll
        for (int i = 0; i < chains; ++i) chain[i] = chain[i] * scale + shift;
    }
    float sum = 0;
    for (int i = 0; i < chains; ++i) sum += chain[i];
    if (sum == 0.5f) results[2] = sum; // never so, which no compiler knows
}

/// Each thread copies 16 bytes at a time.
template <int>
__global__ void __launch_bounds__(threads) copy(float4 const* from, float4* to, index_t count) {
    index_t const i = static_cast<index_t>(blockIdx.x) * threads + static_cast<index_t>(threadIdx.x);
    if (i < count) to[i] = from[i];
}

/// Seconds of the fastest of `calls` calls of `work`, which sends something to the stream.
template <class Work>
double best_seconds(int calls, cudaStream_t stream, Work const& work) {
    Event const begin = make_timer(), end = make_timer();
    double best = 0;
    for (int call = 0; call < calls; ++call) {
        record(begin, stream);
        work();
        record(end, stream);
        wait(end, "measuring the device");
        double const seconds = seconds_between(begin, end);
        if (call == 0 || seconds < best) best = seconds;
    }
    return best;
}

} // namespace roofline

/// FLOP/s of multiply-adds in registers on the current device.
[[nodiscard]] inline double measure_flops(int multiprocessors, cudaStream_t stream) {
    constexpr double long_enough = 2e-3;
    DeviceMemory const results = device_memory(3 * index_t{sizeof(float)});
    fill_device(results.get(), 0, 3 * index_t{sizeof(float)}, stream);
    index_t const blocks = multiprocessors * index_t{roofline::blocks_per_multiprocessor};
    for (int trips = 16;; trips *= 2) {
        double const seconds = roofline::best_seconds(3, stream, [&] {
            launch("multiply-adds", &roofline::multiply_add<0>, {blocks, roofline::threads, stream}, static_cast<float*>(results.get()), trips);
        });
        if (seconds >= long_enough || trips >= 1 << 20)
            return 2.0 * roofline::chains * roofline::threads * static_cast<double>(blocks) * trips / (std::max)(seconds, 1e-9);
    }
}

/// Bytes read and written in a second by a copy within the current device's memory.
[[nodiscard]] inline double measure_copy_bandwidth(cudaStream_t stream) {
    constexpr double long_enough = 4e-4;
    index_t const most = (std::max)(index_t{1} << 20, (std::min)(index_t{256} << 20, memory_info().free / 4));
    DeviceMemory const from = device_memory(most), to = device_memory(most);
    fill_device(from.get(), 1, most, stream);
    for (index_t bytes = index_t{1} << 20;; bytes *= 2) {
        index_t const count = bytes / index_t{sizeof(float4)};
        double const seconds = roofline::best_seconds(5, stream, [&] {
            launch("copy", &roofline::copy<0>, {(count + roofline::threads - 1) / roofline::threads, roofline::threads, stream},
                   static_cast<float4 const*>(from.get()), static_cast<float4*>(to.get()), count);
        });
        if (seconds >= long_enough || 2 * bytes > most) return 2.0 * static_cast<double>(bytes) / (std::max)(seconds, 1e-9);
    }
}

/// Both limits of the current device, in some hundredths of a second.
[[nodiscard]] inline Roofline measure_roofline(int multiprocessors, cudaStream_t stream) {
    return {measure_flops(multiprocessors, stream), measure_copy_bandwidth(stream)};
}

} // namespace tenon::cuda
