// Expressions over tensors beside what one core of the machine allows: memory's bandwidth for elementwise work and
// reductions, the peak of multiply-adds, and OpenBLAS where the build found it, for the matrix product. limits.py makes
// a table of it.

#include <tenon/cpu/roofline.hpp>
#include <tenon/tenon.hpp>

#include "support/bandwidth.hpp"
#include "support/beside.hpp"

#if defined(TENON_BENCH_OPENBLAS)
extern "C" {
void sgemm_(char const* transpose_a, char const* transpose_b, int const* m, int const* n, int const* k,
            float const* alpha, float const* a, int const* lda, float const* b, int const* ldb, float const* beta,
            float* c, int const* ldc);
void openblas_set_num_threads(int);
char* openblas_get_corename(void);
}
#endif

using namespace tenon;

namespace {

/// 64 MiB, more than the caches hold: as one line and as rows.
constexpr index_t rows = 16'384, columns = 1'024, count = rows * columns;
constexpr double bytes = 4.0 * count;
using Rows = Tensor<float, Shape<rows, columns>>;

template <class T>
void fill_with_noise(T& tensor, std::uint32_t number) {
    RandomSource const source{1, random_stream(RandomPurpose::user, number), 0};
    for (index_t i = 0; i < tensor.size(); ++i)
        tensor.data()[i] = 2 * uniform(source, static_cast<std::uint64_t>(i)) - 1;
}

/// What a benchmark of this file works on: 128 MiB that are touched once.
Rows& input() {
    static Rows x = [] {
        Rows noise{uninitialized};
        fill_with_noise(noise, 0);
        return noise;
    }();
    return x;
}
Rows& output() {
    static Rows y;
    return y;
}

bench::Limit copying() {
    float const* const from = input().data();
    float* const to = output().data();
    bench::Limit limit{"copy",
                       {{"memcpy", [=] { bench::copy_by_memcpy(from, to, count); }, 2 * bytes},
                        {"vectors", [=] { bench::copy_by_vectors(from, to, count); }, 2 * bytes}}};
    if (bench::has_streaming_stores)
        limit.ways.push_back({"streaming stores", [=] { bench::copy_by_streaming(from, to, count); }, 2 * bytes});
    return limit;
}
bench::Limit reading() {
    float const* const from = input().data();
    return {"read",
            {{"one stream", [=] { benchmark::DoNotOptimize(bench::read<1>(from, count)); }, bytes},
             {"four streams", [=] { benchmark::DoNotOptimize(bench::read<4>(from, count)); }, bytes}}};
}

void chain_of_6(benchmark::State& state) {
    Rows const& x = input();
    Rows& y = output();
    bench::measure_beside(state, "bytes/s", 2 * bytes, {copying()},
                          [&] { y = relu((x * 1.25f + 0.5f) * x - 0.25f) * 0.75f; });
}

void softmax_rows(benchmark::State& state) {
    Rows const& x = input();
    Rows& y = output();
    bench::measure_beside(state, "bytes/s", 2 * bytes, {copying(), reading()}, [&] { y = softmax<1>(x); });
}

/// What a loss needs of a softmax: it reads and writes next to nothing.
void logsumexp_rows(benchmark::State& state) {
    Rows const& x = input();
    Tensor<float, Shape<rows>> y;
    bench::measure_beside(state, "bytes/s", bytes, {reading()}, [&] { y = logsumexp<1>(x); });
}

void sum_of_all(benchmark::State& state) {
    Rows const& x = input();
    Tensor<float, Shape<>> s;
    bench::measure_beside(state, "bytes/s", bytes, {reading()}, [&] { s = sum(x); });
}

/// Mean and variance of each row.
void row_statistics(benchmark::State& state) {
    Rows const& x = input();
    Tensor<float, Shape<rows>> average, variance;
    bench::measure_beside(state, "bytes/s", bytes, {reading()}, [&] {
        update(average = mean<1>(x), variance = mean<1>((x - mean<1>(x)) * (x - mean<1>(x))));
    });
}

/// (x - mean) / sqrt(variance + eps) of each row.
void normalise_rows(benchmark::State& state) {
    Rows const& x = input();
    Rows& y = output();
    bench::measure_beside(state, "bytes/s", 2 * bytes, {copying()},
                          [&] { y = (x - mean<1>(x)) / sqrt(mean<1>((x - mean<1>(x)) * (x - mean<1>(x))) + 1e-5f); });
}

/// The peak, by the chains of multiply-adds that measure it.
bench::Limit multiplying() {
    return {"peak",
            {{"multiply-adds",
              [] {
                  float seeds[cpu::roofline::chains + 2] = {0.999f, 0.001f};
                  for (int i = 0; i < cpu::roofline::chains; ++i) seeds[2 + i] = static_cast<float>(i + 1);
                  benchmark::DoNotOptimize(cpu::roofline::multiply_add_chains(seeds));
              },
              2.0 * cpu::roofline::chains * cpu::native_lanes<float> * cpu::roofline::trips}}};
}

template <int N>
void square_product(benchmark::State& state) {
    Tensor<float, Shape<N, N>> a{uninitialized}, b{uninitialized}, c;
    fill_with_noise(a, 1);
    fill_with_noise(b, 2);
    constexpr double flops = 2.0 * N * N * N;
    std::vector<bench::Limit> limits{multiplying()};
#if defined(TENON_BENCH_OPENBLAS)
    openblas_set_num_threads(1);
    auto const blas = [&] { // Fortran stores columns: the transposed product of the transposed matrices
        constexpr int n = N;
        constexpr float one = 1, zero = 0;
        sgemm_("N", "N", &n, &n, &n, &one, b.data(), &n, a.data(), &n, &zero, c.data(), &n);
    };
    limits.push_back({"openblas", {{std::string{"kernels for "} + openblas_get_corename(), blas, flops}}});
#endif
    bench::measure_beside(state, "FLOP/s", flops, limits, [&] { c = matmul(a, b); });
}

} // namespace

BENCHMARK(chain_of_6)->UseManualTime();
BENCHMARK(softmax_rows)->UseManualTime();
BENCHMARK(logsumexp_rows)->UseManualTime();
BENCHMARK(sum_of_all)->UseManualTime();
BENCHMARK(row_statistics)->UseManualTime();
BENCHMARK(normalise_rows)->UseManualTime();
BENCHMARK_TEMPLATE(square_product, 512)->UseManualTime();
BENCHMARK_TEMPLATE(square_product, 2048)->UseManualTime();

BENCHMARK_MAIN();
