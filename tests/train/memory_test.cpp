// The plan's two oracles: without reuse, and with NaN written over what is dead, a trainer computes the same bits.
#include <tenon/nn/network.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/dropout/dropout.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/mse/mse.hpp>
#include <tenon/optim/sgd.hpp>
#include <tenon/train/trainer.hpp>

#include "support/numbers.hpp"
#include "support/same_bits.hpp"

using namespace tenon;

namespace {

using Net = Network<Input{2, 8, 7}, Conv2d{.out = 3, .kernel = 3, .padding = 1}, ReLU{}, MaxPool2d{.kernel = 2},
                    Repeat<2, Residual<Conv2d{.out = 3, .kernel = 3, .padding = 1}, GELU{}>>, Dropout{.probability = 0.2f}, Flatten{}, Linear{.out = 6}, Tanh{}, Linear{.out = 4}>;

template <class Loss, index_t N>
void check() {
    auto const bits = []<bool Reuse>(std::bool_constant<Reuse>, bool poison) {
        Options const options{.seed = 4, .threads = 2, .poison_dead_buffers = poison};
        Trainer<Net, Loss, SGD, Batch<N>, Reuse> trainer{Net{}, Loss{}, SGD{.lr = 0.1f, .momentum = 0.9f}, batch<N>, options};
        return test::bits_after_steps(trainer, 5);
    };
    auto const expected = bits(std::true_type{}, false);
    CHECK(bits(std::false_type{}, false) == expected);
    CHECK(bits(std::true_type{}, true) == expected);
    CHECK(bits(std::false_type{}, true) == expected);
}

} // namespace

TEST_CASE("memory that is used again, or destroyed when dead, changes no bit") {
    check<CrossEntropy, 4>();
    check<MSE, 17>();
}

TEST_CASE("a trainer's arena is planned: known to the compiler, shared with inference") {
    using Four = Trainer<Net, CrossEntropy, SGD, Batch<4>>;
    using FourApart = Trainer<Net, CrossEntropy, SGD, Batch<4>, false>;
    using Sixteen = Trainer<Net, CrossEntropy, SGD, Batch<16>>;
    static_assert(Four::memory.parameters == 4 * Net::parameters);
    static_assert(Four::memory.optimizer_state == 4 * Net::parameters);
    static_assert(Four::memory.total < FourApart::memory.total);
    static_assert(Four::memory.total < Sixteen::memory.total);
    static_assert(Sixteen::memory.activations <= 5 * Four::memory.activations);
    CHECK(Four::memory.kept <= Four::memory.total);
}
