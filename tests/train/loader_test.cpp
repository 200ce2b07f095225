// Training from a loader: its order, its batches, its source's normalisation.
#include "support/numbers.hpp"

#include <tenon/data/loader.hpp>
#include <tenon/nn/network.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/optim/sgd.hpp>
#include <tenon/train/trainer.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <string>

using namespace tenon;

namespace {

using Net = Network<Input{2, 3}, Flatten{}, Linear{.out = 5}, Tanh{}, Linear{.out = 3}>;

data::Dataset<std::uint8_t> make_data(index_t samples) {
    std::vector<std::uint8_t> bytes, labels;
    for (std::int32_t byte : test::random_labels(6 * samples, 256, 1)) bytes.push_back(static_cast<std::uint8_t>(byte));
    for (std::int32_t label : test::random_labels(samples, 3, 2)) labels.push_back(static_cast<std::uint8_t>(label));
    return {Dims{2, 3}, bytes, labels, 256, data::Normalize::from(0.5f, 0.25f)};
}

auto make_trainer() {
    return std::make_unique<Trainer<Net, CrossEntropy, SGD, Batch<4>>>(Net{}, CrossEntropy{}, SGD{.lr = 0.1f, .momentum = 0.5f}, batch<4>, Options{.seed = 6, .threads = 1});
}

std::vector<float> weights_of(Parameters const& network) {
    std::vector<float> all;
    for (int p = 0; p < network.size(); ++p) all.insert(all.end(), network[p].values.begin(), network[p].values.end());
    return all;
}

} // namespace

TEST_CASE("a loader with the trainer's seed and batch trains as its data set does, with and without a thread of its own") {
    data::Dataset<std::uint8_t> const samples = make_data(11);
    auto direct = make_trainer();
    for (auto const& epoch : direct->epochs(samples, 3)) CHECK(epoch.samples == 11);
    for (data::Prefetch const prefetch : {data::Prefetch::on, data::Prefetch::off}) {
        data::Loader loader{samples, {.batch = 4, .seed = 6, .prefetch = prefetch}};
        auto trainer = make_trainer();
        std::vector<index_t> sizes;
        for (auto const& epoch : trainer->epochs(loader, 3, [&](Step const& step) { sizes.push_back(step.samples); })) {
            CHECK(epoch.steps == 3);
            CHECK(epoch.samples == 11);
        }
        CHECK(sizes == std::vector<index_t>{4, 4, 3, 4, 4, 3, 4, 4, 3});
        CHECK(weights_of(trainer->network()) == weights_of(direct->network()));
    }
}

TEST_CASE("a loader decides on the batches, as long as they fit") {
    data::Dataset<std::uint8_t> const samples = make_data(11);
    data::Loader small{samples, {.batch = 3, .drop_last = true}}, large{samples, {.batch = 5}};
    auto trainer = make_trainer();
    std::vector<index_t> sizes;
    auto note = [&](Step const& step) { sizes.push_back(step.samples); };
    CHECK(trainer->train_epoch(small, 1, note).samples == 9);
    CHECK(sizes == std::vector<index_t>{3, 3, 3});
    CHECK_THROWS_WITH_AS((void)trainer->train_epoch(large, 1, note), "Trainer: a step of 5 samples; this trainer takes 1 to 4", Error);
}

TEST_CASE("a label that is no class is named by its sample's number in the source") {
    data::Dataset<std::uint8_t> samples = make_data(11);
    std::vector<std::uint8_t> bytes(samples.samples().begin(), samples.samples().end()), labels(11, 0);
    labels[5] = 77;
    data::Loader loader{data::Dataset<std::uint8_t>{Dims{2, 3}, bytes, labels, 256}, {.batch = 4, .seed = 3}};
    auto trainer = make_trainer();
    auto ignore = [](Step const&) {};
    std::string message;
    try {
        (void)trainer->train_epoch(loader, 1, ignore);
    } catch (Error const& error) {
        message = error.what();
    }
    CAPTURE(message);
    CHECK(message.find("sample 5 has label 77") != std::string::npos);
}
