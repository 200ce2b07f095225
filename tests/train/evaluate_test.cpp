// Evaluation: loss, accuracy, confusion; rows with NaN, labels that do not count; weights stay as they are.
#include "support/trainer_oracle.hpp"

#include <tenon/data/dataset.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/dropout/dropout.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/mse/mse.hpp>

#include <limits>

using namespace tenon;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Its output is its input: scores by hand.
struct Same {
    constexpr auto operator()(auto x) const { return x + 0.0f; }
};
using Scores = Network<Input{5}, Linear{.out = 5, .bias = false, .weight_init = init::constant(0)}>;

/// A trainer whose network hands the scores through.
auto by_hand(CrossEntropy const& loss = {}) {
    auto trainer = std::make_unique<Trainer<Scores, CrossEntropy, SGD, Batch<3>>>(Scores{}, loss, SGD{}, batch<3>, Options{.threads = 1});
    for (std::size_t i = 0; i < 5; ++i) trainer->network()[0].values[6 * i] = 1;
    return trainer;
}

data::Dataset<float, std::int16_t> rows(std::vector<float> const& scores, std::vector<std::int16_t> const& labels, index_t classes = 5) {
    return {Dims{5}, scores, labels, classes};
}

index_t argmax_of(std::vector<float> const& scores) { return argmax(scores.data(), static_cast<index_t>(scores.size())); }

} // namespace

TEST_CASE("argmax is the first of the largest; a NaN is larger than all") {
    CHECK(argmax_of({2, 3, 0, 3, 3}) == 1);
    CHECK(argmax_of({-infinity, -infinity}) == 0);
    CHECK(argmax_of({1, not_a_number, 5, not_a_number}) == 1);
    CHECK(argmax_of({not_a_number, 7}) == 0);
    CHECK(argmax_of({4}) == 0);
    float const strided[] = {1, 9, 2, 9, 3, 0};
    CHECK(argmax(strided, 3, 2) == 2);
}

TEST_CASE("accuracy and confusion by hand, over batches the last of which is short") {
    auto trainer = by_hand();
    auto const data = rows({2, 3, 0, 3, 3, /**/ 9, 0, 0, 0, 0, /**/ 0, 0, 0, 0, 9, /**/ 0, 0, 9, 0, 0, /**/ 0, 0, 9, 0, 0, /**/ 0, 0, 0, 9, 0, /**/ 0, 9, 0, 0, 0},
                           {1, 0, 3, 2, 2, 4, 0});
    Evaluation const e = trainer->evaluate(data);
    CHECK(e.samples == 7);
    CHECK(e.counted == 7);
    CHECK(e.correct == 4);
    CHECK(e.accuracy() == doctest::Approx(4.0 / 7));
    REQUIRE(e.confusion.classes() == 5);
    index_t sum = 0;
    for (index_t truth = 0; truth < 5; ++truth)
        for (index_t predicted = 0; predicted < 5; ++predicted) sum += e.confusion(truth, predicted);
    CHECK(sum == 7);
    CHECK(e.confusion(1, 1) == 1);
    CHECK(e.confusion(0, 0) == 1);
    CHECK(e.confusion(3, 4) == 1);
    CHECK(e.confusion(2, 2) == 2);
    CHECK(e.confusion(4, 3) == 1);
    CHECK(e.confusion(0, 1) == 1);
    double loss = 0;
    for (double others : {std::exp(-1.0) + 3 * 1 - 1 + std::exp(-3.0)}) loss += std::log(1 + others); // row 0: 3 three times, 2, 0
    loss += 3 * std::log(1 + 4 * std::exp(-9.0)) + 3 * (9 + std::log(1 + 4 * std::exp(-9.0)));
    CHECK(e.loss == doctest::Approx(loss / 7).epsilon(1e-6));
}

TEST_CASE("a row with a NaN is never correct, and stands in no cell of the confusion") {
    auto trainer = by_hand();
    std::vector<float> scores(15, 1);
    scores[5] = scores[12] = not_a_number;
    scores[0] = 2;
    Evaluation const e = trainer->evaluate(rows(scores, {0, 0, 2}));
    CHECK(e.counted == 3);
    CHECK(e.correct == 1);
    CHECK(e.confusion(0, 0) == 1);
    CHECK(e.confusion(2, 2) == 0);
    CHECK(std::isnan(e.loss)); // not hidden either
}

TEST_CASE("labels that are ignored count nowhere") {
    auto trainer = by_hand({.ignore_index = 4});
    Evaluation const e = trainer->evaluate(rows({9, 0, 0, 0, 0, /**/ 0, 0, 0, 0, 9, /**/ 0, 9, 0, 0, 0, /**/ 0, 0, 0, 0, 9}, {0, 4, 0, 4}));
    CHECK(e.samples == 4);
    CHECK(e.counted == 2);
    CHECK(e.correct == 1);
    CHECK(e.accuracy() == 0.5);
    CHECK(e.loss == doctest::Approx(4.5 + std::log(1 + 4 * std::exp(-9.0))).epsilon(1e-6));
    CHECK(e.confusion(0, 0) == 1);
    CHECK(e.confusion(0, 1) == 1);
    CHECK(e.confusion(4, 4) == 0);
}

TEST_CASE("the loss is the mean over all rows, class weights included, however they fall into batches") {
    CrossEntropy const weighted{.weights = {1, 2, 3, 4, 5}};
    auto const scores = test::random_numbers(8 * 5, 3, -2, 2);
    std::vector<std::int16_t> const labels{4, 0, 1, 1, 3, 0, 2, 4};
    auto trainer = by_hand(weighted);
    test::TrainerOracle<Scores, CrossEntropy, SGD> const oracle{trainer->network(), weighted, SGD{}, 0};
    CHECK(trainer->evaluate(rows(scores, labels)).loss == doctest::Approx(oracle.evaluate(scores, labels, 8)).epsilon(1e-6));
}

TEST_CASE("evaluation and prediction change neither weights nor state, nor what training does next, and switch dropout off") {
    using Net = Network<Input{5}, Linear{.out = 7}, Dropout{.probability = 0.5f}, ReLU{}, Dropout{.probability = 0.2f}, Linear{.out = 5}>;
    CrossEntropy const weighted{.label_smoothing = 0.1f, .weights = {1, 2, 3, 4, 5}};
    auto const inputs = test::random_numbers(15, 5);
    auto const labels = test::random_labels(3, 5, 6);
    auto const train = [&](bool look) {
        Trainer trainer{Net{}, weighted, SGD{.lr = 0.1f, .momentum = 0.9f}, batch<3>, Options{.seed = 8, .threads = 1}};
        test::TrainerOracle<Net, CrossEntropy, SGD> oracle{trainer.network(), weighted, trainer.optimizer(), 8};
        std::vector<double> losses;
        for (int step = 0; step < 4; ++step) {
            if (look) {
                std::vector<float> predicted(15);
                trainer.predict(inputs.data(), 3, predicted.data());
                CHECK(test::distance(predicted, oracle.predict(inputs, 3)) <= 4e-6);
                Evaluation const e = trainer.evaluate(rows(inputs, {static_cast<std::int16_t>(labels[0]), static_cast<std::int16_t>(labels[1]), static_cast<std::int16_t>(labels[2])}));
                CHECK(e.loss == doctest::Approx(oracle.evaluate(inputs, labels, 3)).epsilon(4e-6));
            }
            losses.push_back(trainer.step(inputs.data(), labels.data(), 3));
            CHECK(losses.back() == doctest::Approx(oracle.step(inputs, labels, 3)).epsilon(4e-6));
        }
        return losses;
    };
    CHECK(train(true) == train(false));
}

TEST_CASE("predictions of more samples than a batch holds, and of fewer") {
    using Net = Network<Input{5}, Linear{.out = 4}, Tanh{}, Linear{.out = 2}>;
    Trainer trainer{Net{}, MSE{}, SGD{}, batch<4>, Options{.threads = 1}};
    test::TrainerOracle<Net, MSE, SGD> const oracle{trainer.network(), MSE{}, SGD{}, 0};
    for (index_t const samples : {1, 3, 4, 5, 11}) {
        CAPTURE(samples);
        auto const inputs = test::random_numbers(5 * samples, 9);
        std::vector<float> predicted(static_cast<std::size_t>(2 * samples + 1), 77);
        trainer.predict(inputs.data(), samples, predicted.data());
        CHECK(predicted.back() == 77); // nothing is written behind the end
        predicted.pop_back();
        CHECK(test::distance(predicted, oracle.predict(inputs, samples)) <= 2e-6);
    }
    trainer.predict(nullptr, 0, nullptr);
}
