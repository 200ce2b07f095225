// LeNet on the device: the CPU's losses, and as few kernels as its step is planned to be.
#include <tenon/tenon.hpp>

#include "support/numbers.hpp"

#include <doctest/doctest.h>

using namespace tenon;

namespace {

using LeNet = Network<Input{1, 28, 28}, Named<"conv1", Conv2d{.in = 1, .out = 20, .kernel = 5}>, ReLU{}, MaxPool2d{.kernel = 2}, Named<"conv2", Conv2d{.in = 20, .out = 50, .kernel = 5}>, ReLU{},
                      MaxPool2d{.kernel = 2}, Flatten{50 * 4 * 4}, Named<"fc1", Linear{.in = 50 * 4 * 4, .out = 500}>, ReLU{}, Named<"fc2", Linear{.in = 500, .out = 10}>>;

template <index_t N>
void check_ten_steps() {
    CAPTURE(N);
    constexpr SGD sgd{.lr = 0.01f, .momentum = 0.9f};
    Trainer cpu{LeNet{}, CrossEntropy{}, sgd, batch<N>, Cpu{}, Options{.seed = 3, .threads = 1}};
    Trainer gpu{LeNet{}, CrossEntropy{}, sgd, batch<N>, Cuda{}, Options{.seed = 3}};
    for (std::uint64_t s = 0; s < 10; ++s) {
        auto const x = test::random_numbers(N * 784, 10 + s);
        auto const y = test::random_labels(N, 10, 30 + s);
        index_t const samples = s % 4 == 3 ? N / 2 : N;
        CHECK(gpu.step(x.data(), y.data(), samples) == doctest::Approx(cpu.step(x.data(), y.data(), samples)).epsilon(1e-5));
    }
    Parameters const expected = cpu.network(), found = gpu.network();
    for (int p = 0; p < expected.size(); ++p) CHECK(test::distance(found[p].values, expected[p].values) <= 1e-5);
    CHECK(gpu.machine().captured_kernels(gpu.program()) <= 8);
}

} // namespace

TEST_CASE("ten steps of LeNet at batch 4") { check_ten_steps<4>(); }
TEST_CASE("ten steps of LeNet at batch 32") { check_ten_steps<32>(); }
