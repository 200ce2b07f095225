// Epochs on the device: samples kept there or sent on the way, one step or several a launch, give the CPU's losses in the CPU's order;
// the host waits only where it reads; a loss that is not finite halts training before it changes anything.
#include <tenon/tenon.hpp>

#include "counts.hpp"
#include "support/numbers.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

using namespace tenon;

namespace {

constexpr index_t classes = 4, samples = 53, batch_size = 5, steps = 11; // the last batch has 3 samples
constexpr SGD sgd{.lr = 0.05f, .momentum = 0.9f};
using Wide = Network<Input{1, 4, 3}, Flatten{}, Dropout{.probability = 0.25f}, Linear{.out = 7}, Tanh{},
                     Linear{.out = classes}>; // read four bytes at a time
using Odd = Network<Input{5}, Linear{.out = 6}, Tanh{}, Linear{.out = classes}>;

using GpuTrainer = decltype(Trainer{Wide{}, CrossEntropy{}, sgd, batch<batch_size>, Cuda{}, Options{}});

template <class T = std::uint8_t>
data::Dataset<T> some_data(Dims shape, std::uint64_t seed) {
    auto const numbers = test::random_numbers(samples * shape.count(), seed, 0, 256);
    auto const labels = test::random_labels(samples, classes, seed + 1);
    return {shape, std::vector<T>(numbers.begin(), numbers.end()),
            std::vector<std::uint8_t>(labels.begin(), labels.end()), classes, data::Normalize::from(0.4f, 0.3f)};
}

template <class AnyTrainer>
std::vector<float> weights(AnyTrainer const& trainer) {
    std::vector<float> all;
    Parameters const parameters = trainer.network();
    for (int i = 0; i < parameters.size(); ++i)
        all.insert(all.end(), parameters[i].values.begin(), parameters[i].values.end());
    return all;
}

bool same_bits(std::vector<float> const& a, std::vector<float> const& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Losses of the epochs' steps, and at the end those of the epochs.
template <class AnyTrainer, class Data>
std::vector<double> losses_of(AnyTrainer& trainer, Data& data, int epochs) {
    std::vector<double> losses, means;
    std::vector<Reading> readings; // looked at when the epoch is over
    for (Epoch const& epoch : trainer.epochs(data, epochs, [&](Step const& step) { readings.push_back(step.loss); })) {
        CHECK(epoch.steps == steps);
        CHECK(epoch.samples == samples);
        means.push_back(epoch.loss);
    }
    for (Reading const& reading : readings) losses.push_back(reading);
    losses.insert(losses.end(), means.begin(), means.end());
    return losses;
}

template <class Net, class Data>
void check_against_cpu(Data& data) {
    Options const options{.seed = 5, .threads = 1};
    CrossEntropy const loss{.weights = {1, 2, 0.5f, 1}};
    Trainer cpu{Net{}, loss, sgd, batch<batch_size>, Cpu{}, options};
    Trainer gpu{Net{}, loss, sgd, batch<batch_size>, Cuda{}, options};
    auto const expected = losses_of(cpu, data, 2), found = losses_of(gpu, data, 2);
    REQUIRE(found.size() == expected.size());
    for (std::size_t s = 0; s < expected.size(); ++s) CHECK(found[s] == doctest::Approx(expected[s]).epsilon(1e-5));
    CHECK(test::distance(weights(gpu), weights(cpu)) <= 1e-5);
}

/// Weights after two epochs without a look at single steps, and the epochs' losses.
std::pair<std::vector<float>, std::vector<double>> two_epochs(Cuda const& where,
                                                              data::Dataset<std::uint8_t> const& data) {
    GpuTrainer trainer{Wide{}, CrossEntropy{}, sgd, batch<batch_size>, where, Options{.seed = 8}};
    std::vector<double> means;
    for (Epoch const& epoch : trainer.epochs(data, 2)) means.push_back(epoch.loss);
    return {weights(trainer), means};
}

} // namespace

TEST_CASE("bytes on the device, gathered there: the CPU's losses in the CPU's order") {
    auto const wide = some_data({1, 4, 3}, 1), odd = some_data({5}, 2);
    check_against_cpu<Wide>(wide);
    check_against_cpu<Odd>(odd);
    auto const chosen = wide.select([] {
        std::vector<index_t> numbers;
        for (index_t i = 0; i < samples; ++i) numbers.push_back((i * 7) % samples);
        return numbers;
    }());
    check_against_cpu<Wide>(chosen); // a part whose samples do not lie side by side
}

TEST_CASE("samples of other types, and a loader's batches") {
    auto const floats = some_data<float>({5}, 3);
    check_against_cpu<Odd>(floats);
    auto const shorts = some_data<std::int16_t>({5}, 4); // become floats on their way
    check_against_cpu<Odd>(shorts);
    data::Loader loader{some_data({5}, 5), {.batch = batch_size, .seed = 3}};
    check_against_cpu<Odd>(loader);
}

TEST_CASE("same bits: kept on the device or sent, one step a launch or several, graphs or not") {
    auto const data = some_data({1, 4, 3}, 6);
    auto const expected = two_epochs(Cuda{}, data);
    for (Cuda const& where :
         {Cuda{.steps_per_launch = 1}, Cuda{.steps_per_launch = 3}, Cuda{.steps_per_launch = 100},
          Cuda{.graphs = false}, Cuda{.resident_data = false}, Cuda{.steps_per_launch = 2, .resident_data = false}}) {
        auto const found = two_epochs(where, data);
        CHECK(same_bits(found.first, expected.first));
        CHECK(found.second == expected.second);
    }
    GpuTrainer watched{Wide{}, CrossEntropy{}, sgd, batch<batch_size>, Cuda{}, Options{.seed = 8}};
    (void)losses_of(watched, data, 2);
    CHECK(same_bits(weights(watched), expected.first));
}

TEST_CASE("what a callback does in the middle of an epoch counts as on the CPU") {
    auto const data = some_data({1, 4, 3}, 7);
    auto const run = [&](auto where) {
        Trainer trainer{Wide{}, CrossEntropy{}, sgd, batch<batch_size>, where, Options{.seed = 2, .threads = 1}};
        auto const x = test::random_numbers(batch_size * 12, 9);
        auto const y = test::random_labels(batch_size, classes, 10);
        std::vector<float> scores(static_cast<std::size_t>(batch_size * classes));
        auto const meddle = [&](Step const& step) {
            if (step.number == 3) trainer.optimizer().lr = 0.01f;
            if (step.number == 5)
                (void)trainer.step(x.data(), y.data(), batch_size); // takes the place of a batch that is there already
            if (step.number == 7) trainer.predict(x.data(), batch_size, scores.data());
            if (step.number == 8) trainer.network()[0].values[0] = 0.125f;
        };
        for (Epoch const& epoch : trainer.epochs(data, 1, meddle)) (void)epoch;
        return weights(trainer);
    };
    CHECK(test::distance(run(Cuda{}), run(Cpu{})) <= 1e-5);
}

TEST_CASE("a step whose updates could run beside its loss: the CPU's weights, and no update at a loss that is not finite") {
    using Line = Network<Input{5}, Linear{.out = 1}>;
    auto const regression = [](float first_value) {
        auto values = test::random_numbers(samples * 5, 30);
        values[0] = first_value;
        auto const labels = test::random_labels(samples, classes, 31);
        return data::Dataset<float>{{5}, values, std::vector<std::uint8_t>(labels.begin(), labels.end()), classes};
    };
    auto const data = regression(0.5f), bad = regression(std::numeric_limits<float>::infinity());
    Options const options{.seed = 2, .threads = 1, .shuffle = false};
    Trainer cpu{Line{}, MSE{}, sgd, batch<batch_size>, Cpu{}, options};
    Trainer gpu{Line{}, MSE{}, sgd, batch<batch_size>, Cuda{.steps_per_launch = 3}, options};
    CHECK(losses_of(gpu, data, 2).size() == losses_of(cpu, data, 2).size());
    CHECK(test::distance(weights(gpu), weights(cpu)) <= 1e-5);
    auto const before = weights(gpu);
    auto const train_on_bad = [&] {
        for (Epoch const& epoch : gpu.epochs(bad, 1)) (void)epoch;
    };
    CHECK_THROWS_WITH_AS(train_on_bad(), doctest::Contains("the loss is"), Error);
    CHECK(same_bits(weights(gpu), before));
}

TEST_CASE("no samples are no steps") {
    auto const none = some_data({5}, 2).first(0);
    for (bool const resident : {true, false}) {
        Trainer trainer{Odd{}, CrossEntropy{}, sgd, batch<batch_size>, Cuda{.resident_data = resident}, Options{}};
        auto const before = weights(trainer);
        for (Epoch const& epoch : trainer.epochs(none, 2)) {
            CHECK(epoch.steps == 0);
            CHECK(epoch.loss == 0);
        }
        CHECK(trainer.evaluate(none).samples == 0);
        CHECK(same_bits(weights(trainer), before));
    }
}

TEST_CASE("a loader that has fewer batches than it said: those it has are trained on") {
    data::Loader loader{some_data({5}, 5), {.batch = batch_size, .seed = 3}};
    struct EndsEarly {
        decltype(loader)& all;
        int left = 0;
        using value_type = std::uint8_t;
        auto const& source() const { return all.source(); }
        void begin_epoch(std::uint32_t epoch) {
            all.begin_epoch(epoch);
            left = 7;
        }
        index_t batches() const { return all.batches(); }
        auto next() -> decltype(all.next()) { return left-- > 0 ? all.next() : nullptr; }
    } few{loader};
    Options const options{.seed = 5, .threads = 1};
    Trainer cpu{Odd{}, CrossEntropy{}, sgd, batch<batch_size>, Cpu{}, options};
    Trainer gpu{Odd{}, CrossEntropy{}, sgd, batch<batch_size>, Cuda{.steps_per_launch = 5}, options};
    for (Epoch const& epoch : cpu.epochs(few, 1)) CHECK(epoch.steps == 7);
    for (Epoch const& epoch : gpu.epochs(few, 1)) CHECK(epoch.steps == 7);
    CHECK(test::distance(weights(gpu), weights(cpu)) <= 1e-5);
}

TEST_CASE("every n-th step, with the mean loss of n steps") {
    auto const data = some_data({1, 4, 3}, 8);
    auto const run = [&](auto where) {
        Trainer trainer{Wide{}, CrossEntropy{}, sgd, batch<batch_size>, where, Options{.seed = 2, .threads = 1}};
        std::vector<double> seen;
        for (Epoch const& epoch : trainer.epochs(data, 2, every(4, [&](Step const& step) {
                                                     CHECK(step.samples == 4 * batch_size);
                                                     seen.push_back(static_cast<double>(step.number));
                                                     seen.push_back(step.loss);
                                                 })))
            (void)epoch;
        return seen;
    };
    auto const expected = run(Cpu{}), found = run(Cuda{.steps_per_launch = 2});
    REQUIRE(expected.size() == 8);
    REQUIRE(found.size() == 8);
    for (std::size_t i = 0; i < 8; ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

TEST_CASE("a step is one launch and no wait; several are one launch") {
    if (!test::Counts::available()) return;
    auto const data = some_data({1, 4, 3}, 9);
    auto const x = test::random_numbers(batch_size * 12, 9);
    auto const y = test::random_labels(batch_size, classes, 10);
    GpuTrainer trainer{Wide{}, CrossEntropy{}, sgd, batch<batch_size>, Cuda{.steps_per_launch = 5}, Options{.seed = 8}};
    int const kernels = trainer.machine().captured_kernels(trainer.program());
    (void)trainer.step(x.data(), y.data(), batch_size); // sends the initial weights
    trainer.machine().wait();
    {
        test::Counts const counts;
        Reading loss;
        for (int i = 0; i < 10; ++i) loss = trainer.step(x.data(), y.data(), batch_size);
        CHECK(counts.graph_launches() == 10);
        CHECK(counts.waits() == 0);
        CHECK(loss.value() > 0);
        CHECK(counts.waits() == 1);
        CHECK(counts.kernels() == 10 * kernels);
        CHECK(counts.copies() == 10 + 2);
    }
    for (Epoch const& epoch : trainer.epochs(data, 1)) (void)epoch; // sends the data, captures its launches
    for (Epoch const& epoch : trainer.epochs(data, 1)) (void)epoch; // the other buffer's
    {
        trainer.set_schedule(
            [](index_t step) { return 1 / (1 + 0.01f * static_cast<float>(step)); }); // is told, not captured
        test::Counts const counts;
        for (Epoch const& epoch : trainer.epochs(data, 1)) (void)epoch;
        CHECK(counts.graph_launches() == 3);            // 5 + 5 + 1
        CHECK(counts.kernels() == steps * kernels + 1); // and the first batch is gathered alone
        CHECK(counts.graphs_made() == 0);
        CHECK(counts.allocations() == 0);
        CHECK(counts.copies() == 3 + 2); // what steps are told; how training went, and the losses
        CHECK(counts.waits() == 1);
    }
    GpuTrainer sent{Wide{},
                    CrossEntropy{},
                    sgd,
                    batch<batch_size>,
                    Cuda{.steps_per_launch = 5, .resident_data = false},
                    Options{.seed = 8}};
    for (int i = 0; i < 2; ++i)
        for (Epoch const& epoch : sent.epochs(data, 1)) (void)epoch;
    {
        test::Counts const counts;
        for (Epoch const& epoch : sent.epochs(data, 1)) (void)epoch;
        CHECK(counts.graph_launches() == 3);
        CHECK(counts.kernels() == steps * kernels + 3);
        CHECK(counts.allocations() == 0);
        CHECK(counts.copies() == 3 + 3 + 2);
        CHECK(counts.waits() == 1);
    }
}

TEST_CASE("a loss that is not finite halts training before anything changes, and training can go on") {
    constexpr index_t bad_step = 6;
    auto values = test::random_numbers(samples * 5, 20);
    auto const labels = test::random_labels(samples, classes, 21);
    auto const clean =
        data::Dataset<float>{{5}, values, std::vector<std::uint8_t>(labels.begin(), labels.end()), classes};
    values[static_cast<std::size_t>((bad_step - 1) * batch_size * 5 + 7)] = std::numeric_limits<float>::quiet_NaN();
    auto const bad =
        data::Dataset<float>{{5}, values, std::vector<std::uint8_t>(labels.begin(), labels.end()), classes};
    Options const options{.seed = 4, .shuffle = false};
    for (Cuda const& where :
         {Cuda{}, Cuda{.steps_per_launch = 2}, Cuda{.resident_data = false}, Cuda{.graphs = false}}) {
        Trainer trainer{Odd{}, CrossEntropy{}, sgd, batch<batch_size>, where, options};
        std::string what;
        try {
            for (Epoch const& epoch : trainer.epochs(bad, 1)) (void)epoch;
        } catch (Error const& error) {
            what = error.what();
        }
        CAPTURE(what);
        CHECK(what.find("step 6") != std::string::npos);
        CHECK(what.find("as they were before this step") != std::string::npos);
        CHECK(trainer.steps_done() == bad_step - 1);

        Trainer expected{Odd{}, CrossEntropy{}, sgd, batch<batch_size>, Cuda{}, options};
        auto const first = clean.first((bad_step - 1) * batch_size);
        for (Epoch const& epoch : expected.epochs(first, 1)) (void)epoch;
        CHECK(same_bits(weights(trainer), weights(expected)));
        for (Epoch const& epoch : trainer.epochs(clean, 1)) CHECK(std::isfinite(epoch.loss));
        for (Epoch const& epoch : expected.epochs(clean, 1)) (void)epoch;
        CHECK(same_bits(weights(trainer), weights(expected)));
    }
    Trainer single{Odd{}, CrossEntropy{}, sgd, batch<batch_size>, Cuda{}, options};
    auto const before = weights(single);
    std::vector<float> x(batch_size * 5, std::numeric_limits<float>::quiet_NaN());
    std::vector<std::int32_t> const y(batch_size, 1);
    (void)single.step(x.data(), y.data(), batch_size); // nobody looks
    x.assign(x.size(), 0.5f);
    (void)single.step(x.data(), y.data(), batch_size); // not taken
    CHECK_THROWS_WITH_AS((void)weights(single), doctest::Contains("step 1: the loss is nan"), Error);
    CHECK(same_bits(weights(single), before));
    CHECK(single.steps_done() == 0);

    // Nobody looks until the losses of the steps behind it have overwritten its own.
    std::vector<float> const bad_x(batch_size * 5, std::numeric_limits<float>::quiet_NaN());
    (void)single.step(x.data(), y.data(), batch_size);
    auto const good = weights(single);
    (void)single.step(bad_x.data(), y.data(), batch_size);
    for (index_t step = 0; step < cuda::loss_log_size + 10; ++step) (void)single.step(x.data(), y.data(), batch_size);
    CHECK_THROWS_WITH_AS((void)weights(single), doctest::Contains("step 2: the loss is nan"), Error);
    CHECK(same_bits(weights(single), good));
    CHECK(single.steps_done() == 1);
    CHECK(std::isfinite(static_cast<double>(single.step(x.data(), y.data(), batch_size)))); // and training goes on

    Trainer unguarded{Odd{},  CrossEntropy{},
                      sgd,    batch<batch_size>,
                      Cuda{}, Options{.seed = 4, .shuffle = false, .stop_at_non_finite = false}};
    for (Epoch const& epoch : unguarded.epochs(bad, 1)) CHECK(std::isnan(epoch.loss));
    CHECK(unguarded.steps_done() == steps);
}

TEST_CASE("labels that are no classes are refused before the epoch") {
    auto const labels = test::random_labels(samples, 6, 21);
    auto const data = data::Dataset<float>{
        {5}, test::random_numbers(samples * 5, 20), std::vector<std::uint8_t>(labels.begin(), labels.end()), 6};
    for (bool const resident : {true, false}) {
        Trainer trainer{Odd{}, CrossEntropy{}, sgd, batch<batch_size>, Cuda{.resident_data = resident}, Options{}};
        auto const run = [&] {
            for (Epoch const& epoch : trainer.epochs(data, 1)) (void)epoch;
        };
        CHECK_THROWS_WITH_AS(run(), doctest::Contains("outside [0,4)"), Error);
        auto const good = some_data({5}, 2);
        for (Epoch const& epoch : trainer.epochs(good, 1)) CHECK(std::isfinite(epoch.loss)); // and training goes on
    }
}
