// Epochs: every sample once, in a new order each time; steps and means are reported; schedules are followed.
#include "support/trainer_oracle.hpp"

#include <tenon/data/dataset.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/mse/mse.hpp>
#include <tenon/optim/schedule.hpp>

#include <algorithm>
#include <numeric>

using namespace tenon;

namespace {

using Net = Network<Input{2, 2}, Flatten{}, Linear{.out = 5}, Tanh{}, Linear{.out = 3}>;

/// A data set that notes which samples were asked for.
struct Recorder {
    data::Dataset<float> data;
    data::Normalize normalize{};
    std::vector<index_t> mutable asked{};

    [[nodiscard]] index_t size() const { return data.size(); }
    [[nodiscard]] Dims const& shape() const { return data.shape(); }
    [[nodiscard]] auto sample(index_t i) const {
        asked.push_back(i);
        return data.sample(i);
    }
    [[nodiscard]] auto label(index_t i) const { return data.label(i); }
};

data::Dataset<float> make_data(index_t samples) {
    std::vector<std::uint8_t> labels;
    for (std::int32_t label : test::random_labels(samples, 3, 1)) labels.push_back(static_cast<std::uint8_t>(label));
    return {Dims{2, 2}, test::random_numbers(4 * samples, 2), labels, 3};
}

auto make_trainer(Options const& options = {.seed = 3, .threads = 1}) {
    return std::make_unique<Trainer<Net, CrossEntropy, SGD, Batch<4>>>(Net{}, CrossEntropy{}, SGD{.lr = 0.05f, .momentum = 0.5f}, batch<4>, options);
}

std::vector<index_t> order_of_epoch(index_t samples, int epoch, Options const& options) {
    Recorder const recorder{make_data(samples)};
    auto trainer = make_trainer(options);
    auto ignore = [](Step const&) {};
    (void)trainer->train_epoch(recorder, epoch, ignore);
    return recorder.asked;
}

std::vector<float> weights_of(Parameters const& network) {
    std::vector<float> all;
    for (int p = 0; p < network.size(); ++p) all.insert(all.end(), network[p].values.begin(), network[p].values.end());
    return all;
}

} // namespace

TEST_CASE("an epoch visits every sample once, in an order of its own, the same in every run") {
    Options const options{.seed = 3, .threads = 1};
    std::vector<index_t> const first = order_of_epoch(23, 1, options);
    std::vector<index_t> all(23);
    std::iota(all.begin(), all.end(), 0);
    CHECK(first != all);
    for (int epoch : {1, 2, 3, 50}) {
        std::vector<index_t> order = order_of_epoch(23, epoch, options);
        CHECK(order == order_of_epoch(23, epoch, options));
        if (epoch > 1) CHECK(order != first);
        std::sort(order.begin(), order.end());
        CHECK(order == all);
    }
    CHECK(order_of_epoch(23, 1, {.seed = 4, .threads = 1}) != first);
    CHECK(order_of_epoch(23, 1, {.seed = 3, .threads = 1, .shuffle = false}) == all);
    CHECK(order_of_epoch(1, 1, options) == std::vector<index_t>{0});
}

TEST_CASE("epochs() trains one epoch at each turn and reports its steps") {
    data::Dataset<float> const samples = make_data(11);
    auto trainer = make_trainer();
    std::vector<Step> steps;
    int turns = 0;
    for (auto const& epoch : trainer->epochs(samples, 3, [&](Step const& step) { steps.push_back(step); })) {
        ++turns;
        CHECK(epoch.number == turns);
        CHECK(epoch.of == 3);
        CHECK(epoch.steps == 3);
        CHECK(epoch.samples == 11);
        CHECK(epoch.seconds >= 0);
        CHECK(trainer->steps_done() == 3 * turns);
        REQUIRE(steps.size() == static_cast<std::size_t>(3 * turns));
        double sum = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            Step const& step = steps[steps.size() - 3 + i];
            CHECK(step.epoch == turns);
            CHECK(step.number == static_cast<index_t>(i) + 1);
            CHECK(step.steps == 3);
            CHECK(step.samples == (i == 2 ? 3 : 4));
            CHECK(step.weight == static_cast<double>(step.samples));
            sum += step.loss * static_cast<double>(step.samples);
        }
        CHECK(epoch.loss == doctest::Approx(sum / 11).epsilon(1e-12));
    }
    CHECK(turns == 3);
}

TEST_CASE("no epochs, no samples") {
    data::Dataset<float> const samples = make_data(5), none = samples.first(0);
    auto trainer = make_trainer();
    int turns = 0;
    for (auto const& epoch : trainer->epochs(samples, 0)) turns += epoch.number;
    CHECK(turns == 0);
    auto count = [&](Step const&) { ++turns; };
    Epoch const epoch = trainer->train_epoch(none, 1, count);
    CHECK(epoch.steps == 0);
    CHECK(epoch.loss == 0);
    CHECK(turns == 0);
    CHECK(trainer->evaluate(none).samples == 0);
    CHECK(trainer->evaluate(none).accuracy() == 0);
}

TEST_CASE("an epoch in order is its batches, one step after the other") {
    data::Dataset<float> samples = make_data(10);
    samples.normalize = {2, -0.5f};
    auto trainer = make_trainer({.seed = 3, .threads = 1, .shuffle = false}), by_hand = make_trainer();
    auto ignore = [](Step const&) {};
    (void)trainer->train_epoch(samples, 1, ignore);
    for (index_t begin = 0; begin < 10; begin += 4) {
        index_t const count = (std::min)(index_t{4}, 10 - begin);
        std::vector<float> inputs;
        std::vector<std::int32_t> labels;
        for (index_t i = begin; i < begin + count; ++i) {
            for (float value : samples.sample(i)) inputs.push_back(value * 2 + -0.5f);
            labels.push_back(samples.label(i));
        }
        (void)by_hand->step(inputs.data(), labels.data(), count);
    }
    CHECK(test::distance(weights_of(trainer->network()), weights_of(by_hand->network())) <= 1e-6);
}

TEST_CASE("bytes are normalised as they are packed") {
    std::vector<std::uint8_t> bytes{0, 51, 102, 255, 1, 2, 3, 4};
    data::Dataset<std::uint8_t> samples{Dims{2, 2}, bytes, {1, 2}, 3, data::Normalize::from(0.5f, 0.5f)};
    auto trainer = make_trainer();
    std::vector<float> inputs;
    for (std::uint8_t byte : bytes) inputs.push_back((static_cast<float>(byte) / 255 - 0.5f) / 0.5f);
    std::vector<std::int32_t> const labels{1, 2};
    test::TrainerOracle<Net, CrossEntropy, SGD> const oracle{trainer->network(), CrossEntropy{}, SGD{}, 3};
    CHECK(trainer->evaluate(samples).loss == doctest::Approx(oracle.evaluate(inputs, labels, 2)).epsilon(1e-6));
}

TEST_CASE("a schedule multiplies the rate of each step") {
    auto const inputs = test::random_numbers(16, 1);
    auto const labels = test::random_labels(4, 3, 2);
    auto trainer = make_trainer();
    std::vector<index_t> asked;
    trainer->set_schedule([&](index_t step) {
        asked.push_back(step);
        return step == 1 ? 0.0f : 1.0f / static_cast<float>(step + 1);
    });
    test::TrainerOracle<Net, CrossEntropy, SGD> oracle{trainer->network(), CrossEntropy{}, trainer->optimizer(), 3};
    for (index_t step = 0; step < 4; ++step) {
        std::vector<float> const before = weights_of(trainer->network());
        (void)trainer->step(inputs.data(), labels.data(), 4);
        (void)oracle.step(inputs, labels, 4, step == 1 ? 0.0f : 1.0f / static_cast<float>(step + 1));
        CHECK((weights_of(trainer->network()) == before) == (step == 1));
        for (int p = 0; p < 4; ++p) CHECK(test::distance(trainer->network()[p].values, oracle.parameter(p)) <= 2e-6);
    }
    CHECK(asked == std::vector<index_t>{0, 1, 2, 3});
}

TEST_CASE("the optimiser's numbers may change between steps") {
    auto const inputs = test::random_numbers(16, 1);
    auto const labels = test::random_labels(4, 3, 2);
    auto trainer = make_trainer();
    std::vector<float> const before = weights_of(trainer->network());
    trainer->optimizer().lr = 0;
    (void)trainer->step(inputs.data(), labels.data(), 4);
    CHECK(weights_of(trainer->network()) == before);
    trainer->optimizer().lr = 0.1f;
    (void)trainer->step(inputs.data(), labels.data(), 4);
    CHECK(weights_of(trainer->network()) != before);
}

TEST_CASE("a mean of batches is weighted by their sizes") {
    MeanLoss mean;
    CHECK(mean.value() == 0);
    mean.add(2, 2);
    mean.add(4, 2);
    mean.add(1, 1);
    CHECK(mean.value() == doctest::Approx(2.6).epsilon(1e-15));
}
