// The CPU kernels of convolution and of the fully connected layer, each beside the peak of multiply-adds of one core,
// measured in the same program: `peak` is the fraction of it that the kernel reaches with the multiply-adds that the
// layer needs.
//
//     kernels                                       all of them
//     kernels --benchmark_filter='LeNet/.*/64'      some
//
// Times are those of the thread, not of the clock on the wall, because other programs may want the processor too; of
// the repetitions (--benchmark_repetitions=9) the fastest says most.

#include <tenon/cpu/executor.hpp>
#include <tenon/cpu/roofline.hpp>
#include <tenon/ops/conv2d/cpu.hpp>
#include <tenon/ops/linear/cpu.hpp>

#include <benchmark/benchmark.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace tenon;

namespace {

double peak_flops = 0;

/// Random floats, aligned to a cache line.
class Floats {
public:
    explicit Floats(index_t count)
        : data_{static_cast<float*>(
              std::aligned_alloc(64, (static_cast<std::size_t>(count) * sizeof(float) + 127) / 64 * 64))} {
        std::mt19937 generator{7};
        std::uniform_real_distribution<float> uniform{-1, 1};
        for (index_t i = 0; i < count; ++i) data_.get()[i] = uniform(generator);
    }
    [[nodiscard]] float* get() const { return data_.get(); }

private:
    struct Free {
        void operator()(float* p) const { std::free(p); }
    };
    std::unique_ptr<float, Free> data_;
};

void report(benchmark::State& state, double flops) {
    double const done = flops * static_cast<double>(state.iterations());
    state.counters["FLOP/s"] = benchmark::Counter(done, benchmark::Counter::kIsRate);
    state.counters["peak"] = benchmark::Counter(done / peak_flops, benchmark::Counter::kIsRate);
}

/// Multiplications and additions of one convolution of one block: those under which there is input.
template <class P>
double conv2d_flops() {
    using Map = conv2d::ForwardMap<P>;
    double rows = 0, columns = 0;
    for (index_t y = 0; y < P::out_height; ++y) rows += static_cast<double>(Map::rows.taps(y).count);
    for (index_t x = 0; x < P::out_width; ++x) columns += static_cast<double>(Map::columns.taps(x).count);
    return 2.0 * P::lanes * rows * columns * static_cast<double>(P::outputs * P::group_channels);
}

/// Rows of a tile that fits the first-level cache, as the caller would choose them.
template <class Kernel>
void conv2d_blocks(index_t rows, index_t blocks, float const* in, index_t in_block, float const* weight, float* tile,
                   float* space) {
    for (index_t b = 0; b < blocks; ++b)
        for (index_t row = 0; row < rows; row += Kernel::rows) {
            Kernel::prepare(row, in + b * in_block, space);
            for (index_t task = 0; task < Kernel::tasks; ++task)
                Kernel::run(task, row, in + b * in_block, weight, tile, space);
        }
}

template <class P>
void conv2d_forward(benchmark::State& state, index_t blocks) {
    using Kernel = conv2d::Forward<P, conv2d::forward_rows<P>(1)>;
    Floats const x{blocks * P::x_block}, weight{P::outputs * P::weights_per_output}, tile{Kernel::tile_size},
        space{Kernel::workspace};
    for (auto _ : state)
        conv2d_blocks<Kernel>(P::out_height, blocks, x.get(), P::x_block, weight.get(), tile.get(), space.get());
    report(state, conv2d_flops<P>() * static_cast<double>(blocks));
}

template <class P>
void conv2d_input_gradient(benchmark::State& state, index_t blocks) {
    using Kernel = conv2d::InputGradient<P, conv2d::input_gradient_rows<P>(1)>;
    Floats const dy{blocks * P::y_block}, weight{P::outputs * P::weights_per_output}, tile{Kernel::tile_size},
        space{Kernel::workspace};
    for (auto _ : state)
        conv2d_blocks<Kernel>(P::height, blocks, dy.get(), P::y_block, weight.get(), tile.get(), space.get());
    report(state, conv2d_flops<P>() * static_cast<double>(blocks));
}

template <class P>
void conv2d_weight_gradient(benchmark::State& state, index_t blocks) {
    using Kernel = conv2d::WeightGradient<P>;
    Floats const x{blocks * P::x_block}, dy{blocks * P::y_block}, tile{Kernel::tile_size}, space{Kernel::workspace};
    for (auto _ : state)
        for (index_t task = 0; task < Kernel::tasks; ++task)
            Kernel::run(task, x.get(), dy.get(), blocks, tile.get(), nullptr, space.get());
    report(state, conv2d_flops<P>() * static_cast<double>(blocks));
}

template <class Kernel>
void linear_batched(benchmark::State& state, index_t blocks, int lanes, index_t in_features, index_t out_features) {
    Floats const in{blocks * in_features * lanes}, weight{in_features * out_features}, tile{Kernel::tile_size(blocks)},
        space{Kernel::workspace(blocks)};
    for (auto _ : state) {
        Kernel::prepare(in.get(), blocks, space.get());
        for (index_t task = 0; task < Kernel::tasks; ++task)
            Kernel::run(task, in.get(), blocks, weight.get(), tile.get(), space.get());
    }
    report(state, 2.0 * static_cast<double>(blocks * lanes * in_features * out_features));
}

template <class P>
void linear_weight_gradient(benchmark::State& state, index_t blocks) {
    using Kernel = linear::WeightGradient<P>;
    Floats const x{blocks * P::inputs * P::lanes}, dy{blocks * P::outputs * P::lanes}, tile{Kernel::tile_size},
        space{Kernel::workspace(blocks)};
    for (auto _ : state) {
        Kernel::prepare(x.get(), blocks, space.get());
        for (index_t task = 0; task < Kernel::tasks; ++task)
            Kernel::run(task, x.get(), dy.get(), blocks, tile.get(), nullptr, space.get());
    }
    report(state, 2.0 * static_cast<double>(blocks * P::lanes * P::inputs * P::outputs));
}

template <class P>
void add_conv2d(std::string const& name, std::vector<index_t> const& batches) {
    for (index_t batch : batches) {
        index_t const blocks = batch / P::lanes;
        auto const add = [&](char const* what, auto run) {
            benchmark::RegisterBenchmark((name + "/" + what + "/" + std::to_string(batch)).c_str(), run, blocks)
                ->Unit(benchmark::kMicrosecond);
        };
        add("forward", conv2d_forward<P>);
        if (P::channels > 3) add("input_gradient", conv2d_input_gradient<P>);
        add("weight_gradient", conv2d_weight_gradient<P>);
    }
}

template <class P>
void add_linear(std::string const& name, std::vector<index_t> const& batches) {
    for (index_t batch : batches) {
        index_t const blocks = batch / P::lanes;
        auto const add = [&](char const* what, auto run) {
            benchmark::RegisterBenchmark((name + "/" + what + "/" + std::to_string(batch)).c_str(), run)
                ->Unit(benchmark::kMicrosecond);
        };
        add("forward", [=](benchmark::State& s) {
            linear_batched<linear::Forward<P>>(s, blocks, P::lanes, P::inputs, P::outputs);
        });
        add("input_gradient", [=](benchmark::State& s) {
            linear_batched<linear::InputGradient<P>>(s, blocks, P::lanes, P::outputs, P::inputs);
        });
        add("weight_gradient", [=](benchmark::State& s) { linear_weight_gradient<P>(s, blocks); });
    }
}

template <int Lanes>
void add_lenet(std::vector<index_t> const& batches) {
    add_conv2d<conv2d::Problem<Lanes, 1, 28, 28, 20, 5, 5>>("LeNet/conv1", batches);
    add_conv2d<conv2d::Problem<Lanes, 20, 12, 12, 50, 5, 5>>("LeNet/conv2", batches);
    add_linear<linear::Problem<Lanes, 800, 500>>("LeNet/fc1", batches);
    add_linear<linear::Problem<Lanes, 500, 10>>("LeNet/fc2", batches);
}

} // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    peak_flops = cpu::measure_flops(0.2);
    benchmark::AddCustomContext("peak of one core", std::to_string(peak_flops / 1e9) + " GFLOP/s");

    add_lenet<1>({1});
    add_lenet<4>({4});
    constexpr int lanes = cpu::lanes_for(64); // as a trainer chooses them
    add_lenet<lanes>({16, 64, 256});
    add_conv2d<conv2d::Problem<lanes, 64, 28, 28, 64, 3, 3, 1, 1, 1, 1>>("3x3", {16});
    add_conv2d<conv2d::Problem<lanes, 64, 28, 28, 64, 3, 3, 2, 2, 1, 1>>("3x3_stride2", {16});
    add_conv2d<conv2d::Problem<lanes, 256, 7, 7, 256, 3, 3, 1, 1, 1, 1>>("3x3_on_7x7", {16});
    add_conv2d<conv2d::Problem<lanes, 64, 14, 14, 256, 1, 1>>("1x1", {16});
    add_conv2d<conv2d::Problem<lanes, 3, 112, 112, 64, 7, 7, 2, 2, 3, 3>>("7x7_stride2", {16});
    add_conv2d<conv2d::Problem<lanes, 64, 28, 28, 64, 3, 3, 1, 1, 1, 1, 1, 1, 64>>("depthwise_3x3", {16});
    benchmark::RunSpecifiedBenchmarks();
}
