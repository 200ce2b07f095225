// Losses that are looked at late, means of them, and callbacks for every n-th step.
#include <tenon/tenon.hpp>

#include "support/numbers.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace tenon;

namespace {

/// Stands for a device: counts how often it is asked.
struct Source {
    std::vector<double> values;
    int asked = 0;

    static double read(void* self, index_t step) {
        auto& source = *static_cast<Source*>(self);
        ++source.asked;
        return source.values[static_cast<std::size_t>(step)];
    }
    [[nodiscard]] Reading at(index_t step) { return {&read, this, step}; }
};

} // namespace

TEST_CASE("a reading asks when it is looked at, and a known number never") {
    Source source{{1.5, 2.5}};
    Reading const reading = source.at(1);
    CHECK_FALSE(reading.known());
    CHECK(source.asked == 0);
    CHECK(reading.value() == 2.5);
    double const converted = source.at(0);
    CHECK(converted == 1.5);
    CHECK(source.asked == 2);
    CHECK(Reading{3.0}.known());
    CHECK(Reading{3.0} + 1 == 4);
}

TEST_CASE("a mean of losses to come asks once for each, in their order, whatever their number") {
    constexpr index_t count = 5000;
    auto const numbers = test::random_numbers(count, 1);
    Source source{std::vector<double>(numbers.begin(), numbers.end())};
    MeanLoss late, at_once;
    for (index_t i = 0; i < count; ++i) {
        double const weight = static_cast<double>(i % 7 + 1);
        late.add(source.at(i), weight);
        at_once.add(source.values[static_cast<std::size_t>(i)], weight);
        if (i == 10) CHECK(source.asked == 0);
    }
    CHECK(late.value() == at_once.value()); // the same bits
    CHECK(source.asked == count);
    CHECK(late.value() == at_once.value());
    CHECK(source.asked == count);
}

TEST_CASE("every(n) sees the mean loss of n steps, and not what an epoch has left over") {
    constexpr index_t samples = 23, features = 6;
    auto const labels = test::random_labels(samples, 3, 2);
    data::Dataset<float, std::int32_t> const data{{features}, test::random_numbers(samples * features, 1), labels, 3};
    using Net = Network<Input{features}, Linear{.out = 3}>;
    auto const losses = [&](auto&& on_step) {
        Trainer trainer{Net{}, CrossEntropy{}, SGD{.lr = 0.1f}, batch<4>, Options{.seed = 3, .threads = 1}};
        for (Epoch const& epoch : trainer.epochs(data, 2, on_step)) CHECK(epoch.steps == 6);
    };
    std::vector<double> all, seldom;
    losses([&](Step const& step) { all.push_back(step.loss); });
    losses(every(4, [&](Step const& step) {
        CHECK(step.number == 4);
        CHECK(step.samples == 16);
        CHECK(step.weight == 16);
        seldom.push_back(step.loss);
    }));
    REQUIRE(seldom.size() == 2);
    for (std::size_t e = 0; e < 2; ++e)
        CHECK(seldom[e] ==
              doctest::Approx((all[6 * e] + all[6 * e + 1] + all[6 * e + 2] + all[6 * e + 3]) / 4).epsilon(1e-12));
}
