// LeNet on the device: the CPU's losses, the same bits in every run, captured or not, and as few kernels as its step is planned to be.
#include <tenon/tenon.hpp>

#include "support/numbers.hpp"

#include <doctest/doctest.h>

#include <cstring>

using namespace tenon;

namespace {

using LeNet = Network<Input{1, 28, 28}, Named<"conv1", Conv2d{.in = 1, .out = 20, .kernel = 5}>, ReLU{}, MaxPool2d{.kernel = 2}, Named<"conv2", Conv2d{.in = 20, .out = 50, .kernel = 5}>, ReLU{},
                      MaxPool2d{.kernel = 2}, Flatten{50 * 4 * 4}, Named<"fc1", Linear{.in = 50 * 4 * 4, .out = 500}>, ReLU{}, Named<"fc2", Linear{.in = 500, .out = 10}>>;

/// Bytes of the plan that hold which position of each pooling window won.
template <class AnyTrainer>
constexpr index_t bytes_of_winners() {
    index_t bytes = 0;
    for (graph::Buffer const& buffer : AnyTrainer::plan.buffers)
        if (buffer.node >= 0 && AnyTrainer::plan.nodes[static_cast<std::size_t>(buffer.node)].is(pool2d::max_index_op)) bytes += buffer.bytes;
    return bytes;
}

bool same_bits(std::span<float const> a, std::span<float const> b) { return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0; }

/// Elements of the largest value of one sample that a step computes and stores.
template <class AnyTrainer>
constexpr index_t most_of_a_sample() {
    index_t most = 0;
    for (graph::Buffer const& buffer : AnyTrainer::plan.buffers) {
        if (buffer.node < 0) continue; // the table's end
        graph::Node const& node = AnyTrainer::plan.nodes[static_cast<std::size_t>(buffer.node)];
        if (node.batched && node.op->kind != graph::Kind::source) most = (std::max)(most, node.shape.count());
    }
    return most;
}

template <index_t N>
void check_ten_steps() {
    CAPTURE(N);
    constexpr SGD sgd{.lr = 0.01f, .momentum = 0.9f};
    Trainer cpu{LeNet{}, CrossEntropy{}, sgd, batch<N>, Cpu{}, Options{.seed = 3, .threads = 1}};
    using GpuTrainer = Trainer<LeNet, CrossEntropy, SGD, Batch<N>, true, Cuda>;
    GpuTrainer gpu{LeNet{}, CrossEntropy{}, sgd, batch<N>, Cuda{}, Options{.seed = 3}};
    GpuTrainer again{LeNet{}, CrossEntropy{}, sgd, batch<N>, Cuda{}, Options{.seed = 3}};
    GpuTrainer plain{LeNet{}, CrossEntropy{}, sgd, batch<N>, Cuda{.graphs = false}, Options{.seed = 3}};
    static_assert(most_of_a_sample<GpuTrainer>() == 20 * 12 * 12); // what a convolution makes before its pool is stored nowhere
    static_assert(bytes_of_winners<GpuTrainer>() == N * (20 * 12 * 12) * 2 / 8 + (N * (50 * 4 * 4) * 2 / 8 + 63) / 64 * 64);
    for (std::uint64_t s = 0; s < 10; ++s) {
        auto const x = test::random_numbers(N * 784, 10 + s);
        auto const y = test::random_labels(N, 10, 30 + s);
        index_t const samples = s % 4 == 3 ? N / 2 : N;
        double const loss = gpu.step(x.data(), y.data(), samples);
        CHECK(loss == doctest::Approx(cpu.step(x.data(), y.data(), samples)).epsilon(1e-5));
        CHECK(again.step(x.data(), y.data(), samples).value() == loss); // the same bits
        CHECK(plain.step(x.data(), y.data(), samples).value() == loss);
    }
    Parameters const expected = cpu.network(), found = gpu.network(), repeated = again.network(), launched = plain.network();
    for (int p = 0; p < expected.size(); ++p) {
        CHECK(test::distance(found[p].values, expected[p].values) <= 1e-5);
        CHECK(same_bits(repeated[p].values, found[p].values));
        CHECK(same_bits(launched[p].values, found[p].values));
    }
    CHECK(gpu.machine().captured_kernels(gpu.program()) <= 8);
}

} // namespace

TEST_CASE("ten steps of LeNet at batch 4") { check_ten_steps<4>(); }
TEST_CASE("ten steps of LeNet at batch 32") { check_ten_steps<32>(); }
