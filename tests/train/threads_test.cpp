// Same seed, same bits: for any number of threads, in every run, and with other trainers at work beside it.
#include "support/same_bits.hpp"

#include <tenon/nn/network.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/dropout/dropout.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/optim/sgd.hpp>
#include <tenon/train/trainer.hpp>

#include <thread>

using namespace tenon;

namespace {

using Net = Network<Input{3, 10, 9}, Conv2d{.out = 7, .kernel = 3}, ReLU{}, MaxPool2d{.kernel = 2}, Conv2d{.out = 5, .kernel = 2, .padding = 1}, GELU{}, Flatten{},
                    Dropout{.probability = 0.3f}, Linear{.out = 33}, ReLU{}, Linear{.out = 4}>;

/// Layers so large that threads share what is one task in smaller ones.
using LargeNet = Network<Input{2, 9, 11}, Conv2d{.out = 3, .kernel = 3}, ReLU{}, Conv2d{.out = 6, .kernel = 3},
                         Flatten{}, Linear{.out = 331}, ReLU{}, Linear{.out = 4}>;

template <index_t N, class Net = Net>
std::vector<std::uint64_t> train(int threads, std::uint64_t seed = 9) {
    Trainer trainer{Net{}, CrossEntropy{}, SGD{.lr = 0.1f, .momentum = 0.9f}, batch<N>, Options{.seed = seed, .threads = threads}};
    CHECK(trainer.threads() == threads);
    return test::bits_after_steps(trainer, 6);
}

} // namespace

TEST_CASE("one, two, three and four threads compute the same bits, twice") {
    auto const of_four = train<4>(1), of_seventeen = train<17>(1);
    for (int threads : {1, 2, 4, 3}) {
        CAPTURE(threads);
        CHECK(train<4>(threads) == of_four);
        CHECK(train<17>(threads) == of_seventeen);
    }
    CHECK(train<4>(1, 10) != of_four);
}

TEST_CASE("threads compute the same bits in large layers") {
    auto const of_one = train<1, LargeNet>(1), of_four = train<4, LargeNet>(1);
    for (int threads : {2, 3, 5}) {
        CAPTURE(threads);
        CHECK(train<1, LargeNet>(threads) == of_one);
        CHECK(train<4, LargeNet>(threads) == of_four);
    }
}

TEST_CASE("two trainers in two threads do not disturb each other") {
    auto const of_four = train<4>(1), of_seventeen = train<17>(1);
    std::vector<std::uint64_t> first, second;
    std::thread one{[&] { first = train<4>(2); }};
    std::thread other{[&] { second = train<17>(2); }};
    one.join();
    other.join();
    CHECK(first == of_four);
    CHECK(second == of_seventeen);
}
