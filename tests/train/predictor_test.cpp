// Inference alone: a predictor computes what the trainer predicts, in batches of its own.
#include "support/numbers.hpp"

#include <tenon/nn/network.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/dropout/dropout.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/optim/sgd.hpp>
#include <tenon/train/predictor.hpp>
#include <tenon/train/trainer.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace tenon;

namespace {

using Net = Network<Input{1, 8, 7}, Conv2d{.out = 3, .kernel = 3}, ReLU{}, MaxPool2d{.kernel = 2}, Flatten{}, Dropout{.probability = 0.5f}, Linear{.out = 4}>;

template <class Predicting>
std::vector<float> predict(Predicting& predicting, std::vector<float> const& inputs, index_t samples) {
    std::vector<float> found(static_cast<std::size_t>(samples * Net::output.count()), std::numeric_limits<float>::quiet_NaN());
    predicting.predict(inputs.data(), samples, found.data());
    return found;
}

std::string message_of(auto const& f) {
    try {
        f();
    } catch (Error const& error) {
        return error.what();
    }
    return {};
}

} // namespace

TEST_CASE("a predictor with a trainer's weights predicts what the trainer does, in other batches") {
    Trainer trainer{Net{}, CrossEntropy{}, SGD{.lr = 0.1f}, batch<4>, Options{.seed = 2, .threads = 1}};
    auto const inputs = test::random_numbers(11 * 56, 1);
    auto const labels = test::random_labels(4, 4, 2);
    for (int step = 0; step < 3; ++step) (void)trainer.step(inputs.data(), labels.data(), 4);
    auto const expected = predict(trainer, inputs, 11);

    auto const check = [&](auto&& predictor) {
        predictor.copy_parameters(trainer.network());
        for (index_t const samples : {1, 4, 11}) {
            std::vector<float> const some(expected.begin(), expected.begin() + 4 * static_cast<std::ptrdiff_t>(samples));
            CHECK(test::distance(predict(predictor, inputs, samples), some) <= 2e-6);
        }
    };
    check(Predictor{Net{}, batch<1>, Options{.threads = 1}});
    check(Predictor{Net{}, batch<3>, Options{.threads = 2, .poison_dead_buffers = true}});
    check(Predictor{Net{}, batch<16>, Options{.threads = 1}});
}

TEST_CASE("a predictor begins with the weights that a trainer of its seed begins with") {
    Trainer const trainer{Net{}, CrossEntropy{}, SGD{}, batch<2>, Options{.seed = 5, .threads = 1}};
    Predictor const predictor{Net{}, batch<2>, Options{.seed = 5, .threads = 1}};
    for (int p = 0; p < trainer.network().size(); ++p)
        CHECK(test::distance(predictor.network()[p].values, trainer.network()[p].values) == 0);
}

TEST_CASE("a predictor's memory holds no gradients and no optimiser") {
    using Training = Trainer<Net, CrossEntropy, SGD, Batch<4>>;
    using Predicting = Predictor<Net, Batch<4>>;
    static_assert(Predicting::memory.parameters == Training::memory.parameters);
    static_assert(Predicting::memory.optimizer_state == 0);
    static_assert(Predicting::memory.activations < Training::memory.activations);
    CHECK(Predicting::memory.total < Training::memory.total);
}

TEST_CASE("weights of another network are refused, and none of them is taken") {
    using Wider = Network<Input{1, 8, 7}, Conv2d{.out = 3, .kernel = 3}, Flatten{}, Linear{.out = 4}>;
    using Deeper = Network<Input{1, 8, 7}, Conv2d{.out = 3, .kernel = 3}, ReLU{}, MaxPool2d{.kernel = 2}, Flatten{}, Linear{.out = 4}, Linear{.out = 4}>;
    Predictor predictor{Net{}, batch<1>, Options{.seed = 1, .threads = 1}}, untouched{Net{}, batch<1>, Options{.seed = 1, .threads = 1}};
    Predictor wider{Wider{}, batch<1>, Options{.seed = 9, .threads = 1}};
    Predictor deeper{Deeper{}, batch<1>, Options{.seed = 9, .threads = 1}};
    CHECK(!message_of([&] { predictor.copy_parameters(wider.network()); }).empty());
    CHECK(!message_of([&] { predictor.copy_parameters(deeper.network()); }).empty());
    for (int p = 0; p < predictor.network().size(); ++p)
        CHECK(test::distance(predictor.network()[p].values, untouched.network()[p].values) == 0);
}
