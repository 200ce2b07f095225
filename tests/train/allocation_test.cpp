// After construction a step allocates nothing. This program counts every allocation through operator new, on all threads.
#include "support/numbers.hpp"

#include <tenon/data/dataset.hpp>
#include <tenon/nn/network.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/dropout/dropout.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/optim/schedule.hpp>
#include <tenon/optim/sgd.hpp>
#include <tenon/train/trainer.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>

// The sanitizers bring an operator new of their own; clang++ links it in such a way that there can be no other.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define OPERATOR_NEW_IS_TAKEN
#endif
#endif

#if !defined(OPERATOR_NEW_IS_TAKEN)

// Counts what the program allocates, on any thread. Not inlined: g++ warns of free() on what new gave if it sees both.
namespace {
std::atomic<long> allocations{0};
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
    ++allocations;
    if (void* const memory = std::malloc(bytes)) return memory;
    throw std::bad_alloc{};
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
    ++allocations;
    auto const step = static_cast<std::size_t>(alignment);
    if (void* const memory = std::aligned_alloc(step, (bytes + step - 1) / step * step)) return memory;
    throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

using namespace tenon;

namespace {

using Net = Network<Input{2, 9, 9}, Conv2d{.out = 6, .kernel = 3}, ReLU{}, MaxPool2d{.kernel = 2}, Conv2d{.out = 3, .kernel = 2}, AvgPool2d{.kernel = 2}, Flatten{},
                    Dropout{.probability = 0.5f}, Linear{.out = 3}>;

} // namespace

TEST_CASE("the counter counts") {
    long const before = allocations;
    ::operator delete(::operator new(8)); // called by name: a new-expression may be optimised away
    CHECK(allocations > before);
}

TEST_CASE("a step allocates nothing") {
    for (int const threads : {1, 2}) {
        CAPTURE(threads);
        Trainer trainer{Net{}, CrossEntropy{.weights = {1, 2, 3}}, SGD{.lr = 0.1f, .momentum = 0.9f}, batch<5>, Options{.seed = 1, .threads = threads}};
        trainer.set_schedule(schedule::WarmUp{2, schedule::Cosine{10}});
        auto const inputs = test::random_numbers(5 * trainer.features, 1);
        auto const labels = test::random_labels(5, 3, 2);
        std::vector<float> predicted(15);
        (void)trainer.step(inputs.data(), labels.data(), 5);
        long const before = allocations;
        for (index_t const samples : {5, 5, 3, 1, 5}) {
            (void)trainer.step(inputs.data(), labels.data(), samples);
            trainer.predict(inputs.data(), samples, predicted.data());
        }
        CHECK(allocations == before);
    }
}

TEST_CASE("an epoch allocates nothing") {
    data::Dataset<float> const samples{Dims{2, 9, 9}, test::random_numbers(13 * 162, 1), std::vector<std::uint8_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0}, 3};
    Trainer trainer{Net{}, CrossEntropy{}, SGD{.lr = 0.1f}, batch<5>, Options{.seed = 1, .threads = 2}};
    double sum = 0;
    auto count = [&](Step const& step) { sum += step.loss; };
    (void)trainer.train_epoch(samples, 1, count);
    long const before = allocations;
    (void)trainer.train_epoch(samples, 2, count);
    CHECK(allocations == before);
}

#endif
