// What a trainer refuses, and what it says then; a loss that is not finite stops the step before it does harm.
#include "support/numbers.hpp"

#include <tenon/data/dataset.hpp>
#include <tenon/nn/network.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/mse/mse.hpp>
#include <tenon/optim/sgd.hpp>
#include <tenon/train/trainer.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>

using namespace tenon;

namespace {

using Net = Network<Input{1, 5, 5}, Conv2d{.out = 2, .kernel = 3}, ReLU{}, Flatten{}, Named<"head", Linear{.out = 3}>>;
constexpr float infinity = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();

/// The message of the Error that f raises; empty if it raises none.
template <class F>
std::string message_of(F const& f) {
    try {
        f();
    } catch (Error const& error) {
        return error.what();
    }
    return {};
}

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

struct Setup {
    Trainer<Net, CrossEntropy, SGD, Batch<4>> trainer;
    std::vector<float> inputs = test::random_numbers(4 * 25, 1);
    std::vector<std::int32_t> labels{0, 1, 2, 1};

    explicit Setup(Options const& options = {.seed = 1, .threads = 1}, SGD const& sgd = {.lr = 0.1f})
        : trainer{Net{}, CrossEntropy{}, sgd, batch<4>, options} {}

    double step(index_t samples = 4) { return trainer.step(inputs.data(), labels.data(), samples); }
    [[nodiscard]] std::vector<float> weights() const {
        std::vector<float> all;
        for (int p = 0; p < trainer.network().size(); ++p) all.insert(all.end(), trainer.network()[p].values.begin(), trainer.network()[p].values.end());
        return all;
    }
};

data::Dataset<float> labelled(std::vector<std::uint8_t> labels, Dims const& shape = {1, 5, 5}) {
    return {shape, test::random_numbers(static_cast<index_t>(labels.size()) * shape.count(), 4), labels, 256};
}

} // namespace

TEST_CASE("a label that is no class: the step names sample, label and range, and changes nothing") {
    for (std::int32_t const label : {3, -1, 255}) {
        Setup s;
        (void)s.step();
        std::vector<float> const before = s.weights();
        s.labels[2] = label;
        std::string const message = message_of([&] { (void)s.step(); });
        CAPTURE(message);
        CHECK(contains(message, "sample 2 "));
        CHECK(contains(message, "label " + std::to_string(label)));
        CHECK(contains(message, "[0,3)"));
        CHECK(s.weights() == before);
        CHECK(s.trainer.steps_done() == 1);
        s.labels[2] = 0;
        CHECK(std::isfinite(s.step())); // goes on as if nothing had been
    }
}

TEST_CASE("a label that is no class: an epoch names the sample by its number in the data set, whatever the order") {
    std::vector<std::uint8_t> labels(11, 1);
    labels[7] = 9;
    data::Dataset<float> const data = labelled(labels);
    for (bool const shuffle : {true, false}) {
        Setup s{{.seed = 1, .threads = 1, .shuffle = shuffle}};
        auto ignore = [](Step const&) {};
        std::string const trained = message_of([&] { (void)s.trainer.train_epoch(data, 1, ignore); });
        CAPTURE(trained);
        CHECK(contains(trained, "sample 7 "));
        CHECK(contains(trained, "label 9"));
        std::string const evaluated = message_of([&] { (void)s.trainer.evaluate(data); });
        CAPTURE(evaluated);
        CHECK(contains(evaluated, "sample 7 "));
    }
}

TEST_CASE("a batch of no or too many samples") {
    Setup s;
    for (index_t const samples : {0, 5, -1}) {
        std::string const message = message_of([&] { (void)s.step(samples); });
        CAPTURE(message);
        CHECK(contains(message, std::to_string(samples) + " samples"));
        CHECK(contains(message, "1 to 4"));
    }
}

TEST_CASE("samples of another size than the network takes") {
    Setup s;
    data::Dataset<float> const data = labelled({0, 1}, {2, 5, 5});
    auto ignore = [](Step const&) {};
    for (std::string const& message : {message_of([&] { (void)s.trainer.train_epoch(data, 1, ignore); }), message_of([&] { (void)s.trainer.evaluate(data); })}) {
        CAPTURE(message);
        CHECK(contains(message, "50"));
        CHECK(contains(message, "25"));
    }
}

TEST_CASE("a data set has one label for each sample: not enough for a loss that compares more numbers") {
    Trainer trainer{Net{}, MSE{}, SGD{}, batch<4>, Options{.threads = 1}};
    data::Dataset<float> const data = labelled({0, 1});
    auto ignore = [](Step const&) {};
    CHECK(contains(message_of([&] { (void)trainer.train_epoch(data, 1, ignore); }), "MSE"));
    CHECK(contains(message_of([&] { (void)trainer.evaluate(data); }), "MSE"));
}

TEST_CASE("options of the loss are checked at the latest when they are used") {
    Trainer trainer{Net{}, CrossEntropy{.weights = {1, 2}}, SGD{}, batch<4>, Options{.threads = 1}};
    Setup s;
    CHECK(contains(message_of([&] { (void)trainer.step(s.inputs.data(), s.labels.data(), 4); }), "2 class weights for 3 classes"));
}

TEST_CASE("NaN in the input stops the step: it names step and input, and the weights stay") {
    Setup s;
    (void)s.step();
    (void)s.step();
    std::vector<float> const before = s.weights();
    for (float const wrong : {not_a_number, infinity}) {
        s.inputs[60] = wrong;
        std::string const message = message_of([&] { (void)s.step(); });
        CAPTURE(message);
        CHECK(contains(message, "step 3"));
        CHECK(contains(message, "input"));
        CHECK(s.weights() == before);
        CHECK(s.trainer.steps_done() == 2);
    }
}

TEST_CASE("a weight that is not finite is named with its layer") {
    Setup s;
    s.trainer.network().at("head.bias").values[1] = not_a_number;
    std::string const message = message_of([&] { (void)s.step(); });
    CAPTURE(message);
    CHECK(contains(message, "step 1"));
    CHECK(contains(message, "head.bias"));
    CHECK(contains(message, "3 (Linear)"));
}

TEST_CASE("values that overflow are traced to the first layer that made them") {
    Setup s;
    for (float& w : s.trainer.network().at("0.weight").values) w = 3e38f;
    std::string const message = message_of([&] { (void)s.step(); });
    CAPTURE(message);
    CHECK(contains(message, "step 1"));
    CHECK(contains(message, "0 (Conv2d)"));

    Setup t;
    for (float& w : t.trainer.network().at("head.weight").values) w = 3e38f;
    CHECK(contains(message_of([&] { (void)t.step(); }), "3 (Linear)"));
}

TEST_CASE("a learning rate that explodes stops with a message, not with NaN in every weight") {
    Setup s{{.seed = 1, .threads = 1}, {.lr = 1e30f}};
    std::string message;
    std::vector<float> before;
    for (int step = 0; step < 20 && message.empty(); ++step) {
        before = s.weights();
        message = message_of([&] { (void)s.step(); });
    }
    CAPTURE(message);
    CHECK(contains(message, "step "));
    CHECK(contains(message, "learning rate"));
    CHECK(test::distance(s.weights(), before) == 0);
}

TEST_CASE("the guard can be switched off: then a NaN spreads, and is not hidden") {
    Setup s{{.seed = 1, .threads = 1, .stop_at_non_finite = false}};
    s.inputs[0] = not_a_number;
    CHECK(std::isnan(s.step()));
    CHECK(std::isnan(s.step()));
    CHECK(s.trainer.steps_done() == 2);
    CHECK(std::isnan(s.weights()[0]));
}
