// What it costs to hand work to the threads and to take it back, beside one core's peak and memory's bandwidth (which
// depend on nothing of tenon).

#include <tenon/cpu/roofline.hpp>
#include <tenon/cpu/threads.hpp>

#include <benchmark/benchmark.h>

#include <atomic>

using namespace tenon;

namespace {

/// Fork and join of tasks that do nothing: threads stay on the processor in between.
void fork_and_join(benchmark::State& state) {
    cpu::ThreadPool pool{static_cast<int>(state.range(0))};
    for (auto _ : state) pool.run(pool.size(), [](index_t, int) noexcept { benchmark::ClobberMemory(); });
}
BENCHMARK(fork_and_join)->Arg(1)->DenseRange(2, 2 * cpu::ThreadPool::default_threads(), 1)->UseRealTime();

/// The same after a pause in which the threads fell asleep.
void wake_fork_and_join(benchmark::State& state) {
    cpu::ThreadPool pool{static_cast<int>(state.range(0))};
    for (auto _ : state) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
        auto const start = std::chrono::steady_clock::now();
        pool.run(pool.size(), [](index_t, int) noexcept { benchmark::ClobberMemory(); });
        state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
}
BENCHMARK(wake_fork_and_join)->Arg(2)->UseManualTime();

void roofline(benchmark::State& state) {
    cpu::Roofline line{};
    for (auto _ : state) line = cpu::measure_roofline();
    state.counters["FLOP/s"] = line.flops;
    state.counters["copy, bytes/s"] = line.copy_bandwidth;
}
BENCHMARK(roofline)->Unit(benchmark::kMillisecond)->Iterations(3);

} // namespace

BENCHMARK_MAIN();
