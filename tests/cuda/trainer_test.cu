// Training on the device: the CPU's losses, the same bits run after run and with or without a captured graph, and what goes in and
// out of the device.
#include <tenon/tenon.hpp>

#include "support/numbers.hpp"

#include <doctest/doctest.h>

#include <cstring>

using namespace tenon;

namespace {

using Small = Network<Input{1, 11, 10}, Conv2d{.out = 3, .kernel = 3}, ReLU{}, MaxPool2d{.kernel = 2}, Conv2d{.out = 5, .kernel = 2}, ReLU{}, Flatten{}, Dropout{.probability = 0.25f},
                      Linear{.out = 13}, Tanh{}, Linear{.out = 4}>;
constexpr index_t classes = 4;
constexpr SGD sgd{.lr = 0.05f, .momentum = 0.9f, .weight_decay = 0.01f, .nesterov = true};

/// Losses of ten steps, every third of them a short one.
template <class AnyTrainer>
std::vector<double> ten_steps(AnyTrainer& trainer) {
    std::vector<double> losses;
    for (std::uint64_t s = 0; s < 10; ++s) {
        auto const x = test::random_numbers(AnyTrainer::batch_size * AnyTrainer::features, 100 + s);
        auto const y = test::random_labels(AnyTrainer::batch_size, classes, 200 + s);
        losses.push_back(trainer.step(x.data(), y.data(), s % 3 == 2 ? (AnyTrainer::batch_size + 1) / 2 : AnyTrainer::batch_size));
    }
    return losses;
}

template <class AnyTrainer>
std::vector<float> weights(AnyTrainer const& trainer) {
    std::vector<float> all;
    Parameters const parameters = trainer.network();
    for (int i = 0; i < parameters.size(); ++i) all.insert(all.end(), parameters[i].values.begin(), parameters[i].values.end());
    return all;
}

template <index_t N>
void check_against_cpu() {
    CAPTURE(N);
    Options const options{.seed = 5, .threads = 1};
    Trainer cpu{Small{}, CrossEntropy{.label_smoothing = 0.1f}, sgd, batch<N>, Cpu{}, options};
    Trainer gpu{Small{}, CrossEntropy{.label_smoothing = 0.1f}, sgd, batch<N>, Cuda{}, options};
    CHECK(weights(cpu) == weights(gpu));
    auto const expected = ten_steps(cpu), found = ten_steps(gpu);
    for (std::size_t s = 0; s < expected.size(); ++s) CHECK(found[s] == doctest::Approx(expected[s]).epsilon(1e-5));
    CHECK(test::distance(weights(gpu), weights(cpu)) <= 1e-5);
}

bool same_bits(std::vector<float> const& a, std::vector<float> const& b) { return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0; }

template <index_t N>
void check_bits() {
    CAPTURE(N);
    Options const options{.seed = 9};
    Trainer first{Small{}, CrossEntropy{}, sgd, batch<N>, Cuda{}, options};
    Trainer again{Small{}, CrossEntropy{}, sgd, batch<N>, Cuda{}, options};
    Trainer eager{Small{}, CrossEntropy{}, sgd, batch<N>, Cuda{.graphs = false}, options};
    Trainer poisoned{Small{}, CrossEntropy{}, sgd, batch<N>, Cuda{}, Options{.seed = 9, .poison_dead_buffers = true}};
    Trainer<Small, CrossEntropy, SGD, Batch<N>, false, Cuda> spacious{Small{}, CrossEntropy{}, sgd, batch<N>, Cuda{}, options};
    auto const losses = ten_steps(first);
    CHECK(losses == ten_steps(again));
    CHECK(losses == ten_steps(eager));
    CHECK(losses == ten_steps(poisoned));
    CHECK(losses == ten_steps(spacious));
    auto const w = weights(first);
    CHECK(same_bits(w, weights(again)));
    CHECK(same_bits(w, weights(eager)));
    CHECK(same_bits(w, weights(poisoned)));
    CHECK(same_bits(w, weights(spacious)));
}

} // namespace

TEST_CASE("ten steps on the device are those of the CPU, full batches and short ones") {
    check_against_cpu<3>();
    check_against_cpu<5>();
    check_against_cpu<37>();
}

TEST_CASE("same seed, same bits: run after run, captured or launched kernel by kernel, on memory that is used again or not") {
    check_bits<5>();
    check_bits<37>(); // large enough for blocks that share a sum
}

TEST_CASE("weights that the host writes reach the device, and evaluation and prediction use them") {
    Trainer cpu{Small{}, CrossEntropy{}, sgd, batch<5>, Cpu{}, Options{.seed = 1, .threads = 1}};
    Trainer gpu{Small{}, CrossEntropy{}, sgd, batch<5>, Cuda{}, Options{.seed = 2}};
    (void)ten_steps(cpu);
    (void)ten_steps(gpu);
    Parameters const from = cpu.network(), to = gpu.network();
    for (int i = 0; i < from.size(); ++i) std::copy(from[i].values.begin(), from[i].values.end(), to[i].values.begin());
    CHECK(weights(cpu) == weights(gpu));

    constexpr index_t count = 13;
    auto const x = test::random_numbers(count * 110, 3);
    std::vector<float> expected(count * classes), found(count * classes, std::numeric_limits<float>::quiet_NaN());
    cpu.predict(x.data(), count, expected.data());
    gpu.predict(x.data(), count, found.data());
    CHECK(test::distance(found, expected) <= 1e-6);
    CHECK(weights(cpu) == weights(gpu)); // a prediction changes nothing
}

TEST_CASE("a user's stream carries the work") {
    cuda::Stream const stream = cuda::make_stream();
    Trainer own{Small{}, CrossEntropy{}, sgd, batch<3>, Cuda{}, Options{.seed = 4}};
    Trainer given{Small{}, CrossEntropy{}, sgd, batch<3>, Cuda{.stream = stream.get()}, Options{.seed = 4}};
    CHECK(ten_steps(own) == ten_steps(given));
}
