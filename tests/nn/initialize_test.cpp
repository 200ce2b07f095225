// How weights begin: rules, bounds, streams.
#include "support/reference.hpp"

#include <tenon/nn/network.hpp>
#include <tenon/nn/parameters.hpp>
#include <tenon/ops/conv2d/conv2d.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/linear/linear.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace tenon;

namespace {

/// The parameters of a network in memory of their own, one after the other.
template <class Net>
class Weights {
public:
    Weights() {
        (void)Net::write(b_);
        index_t end = 0;
        for (graph::Parameter const& p : b_.parameters) {
            offset_.push_back(end * static_cast<index_t>(sizeof(float)));
            end += p.shape.count();
        }
        values.assign(static_cast<std::size_t>(end), std::nanf(""));
    }
    [[nodiscard]] Parameters parameters() {
        return {b_.parameters.data(), offset_.data(), static_cast<int>(b_.parameters.size()), reinterpret_cast<std::byte*>(values.data())};
    }
    std::vector<float> values;

private:
    graph::Builder b_;
    std::vector<index_t> offset_;
};

struct Moments {
    double mean = 0, deviation = 0, least = 0, most = 0;
};
Moments moments(std::span<float> numbers) {
    Moments m;
    for (float x : numbers) m.mean += static_cast<double>(x) / static_cast<double>(numbers.size());
    for (float x : numbers) m.deviation += (static_cast<double>(x) - m.mean) * (static_cast<double>(x) - m.mean) / static_cast<double>(numbers.size());
    m.deviation = std::sqrt(m.deviation);
    m.least = static_cast<double>(*std::min_element(numbers.begin(), numbers.end()));
    m.most = static_cast<double>(*std::max_element(numbers.begin(), numbers.end()));
    return m;
}

/// The weight of Linear 200 -> 50 by a rule.
template <Init Rule>
Moments weight_by() {
    Weights<Network<Input{200}, Linear{.out = 50, .weight_init = Rule, .bias_init = init::constant(0)}>> weights;
    weights.parameters().initialize(3);
    for (float x : weights.parameters().at("0.bias").values) CHECK(x == 0);
    return moments(weights.parameters()[0].values);
}

using Grouped = Network<Input{4, 6, 6}, Conv2d{.out = 6, .kernel = {3, 2}, .groups = 2}, Flatten{}, Linear{.out = 5}>;

} // namespace

// Fan-in of a grouped convolution: channels of a group times taps.
static_assert(init::standard.scale(25, 1) == 0.2f);
static_assert(init::standard.scale(0, 0) == 1);
static_assert(init::constant(3).scale(7, 9) == 3 && init::uniform(0.5f).scale(7, 9) == 0.5f && init::normal(2).scale(7, 9) == 2);
static_assert(detail::square_root(2) > 1.41421356237309 && detail::square_root(2) < 1.41421356237310);
static_assert(detail::square_root(0) == 0 && detail::square_root(1e-12) < 1.0000001e-6 && detail::square_root(1e12) == 1e6);

TEST_CASE("the default is PyTorch's: uniform within 1 / sqrt(fan_in), weights and biases") {
    Weights<Grouped> weights;
    Parameters const p = weights.parameters();
    p.initialize(1);
    REQUIRE(p.size() == 4);
    double const bounds[] = {1 / std::sqrt(12.0), 1 / std::sqrt(12.0), 1 / std::sqrt(120.0), 1 / std::sqrt(120.0)};
    for (int i = 0; i < 4; ++i) {
        CAPTURE(i);
        Moments const m = moments(p[i].values);
        CHECK(m.least >= -bounds[i] * (1 + 1e-6));
        CHECK(m.most < bounds[i]);
        if (p[i].values.size() > 50) CHECK(m.most - m.least > 1.8 * bounds[i]); // and all of it
    }
}

TEST_CASE("rules of He, Xavier and others") {
    double const he = std::sqrt(2.0 / 200), xavier = std::sqrt(2.0 / 250), of_uniform = std::sqrt(3.0);
    auto const normal = [](Moments const& m, double deviation) {
        CHECK(m.deviation == doctest::Approx(deviation).epsilon(0.03));
        CHECK(std::fabs(m.mean) < 0.05 * deviation);
        CHECK(m.most > 3 * deviation); // tails
        CHECK(m.most < 6 * deviation);
    };
    auto const uniform = [](Moments const& m, double bound) {
        CHECK(m.most < bound * (1 + 1e-6));
        CHECK(m.least >= -bound * (1 + 1e-6));
        CHECK(m.most > 0.99 * bound);
        CHECK(m.least < -0.99 * bound);
        CHECK(m.deviation == doctest::Approx(bound / std::sqrt(3.0)).epsilon(0.03));
    };
    normal(weight_by<init::he_normal>(), he);
    normal(weight_by<init::xavier_normal>(), xavier);
    normal(weight_by<init::normal(0.25f)>(), 0.25);
    uniform(weight_by<init::he_uniform>(), he * of_uniform);
    uniform(weight_by<init::xavier_uniform>(), xavier * of_uniform);
    uniform(weight_by<init::uniform(0.125f)>(), 0.125);
    uniform(weight_by<init::standard>(), 1 / std::sqrt(200.0));
    Moments const constant = weight_by<init::constant(-2)>();
    CHECK(constant.least == -2);
    CHECK(constant.most == -2);
}

TEST_CASE("each parameter has a stream of its own, keyed by the seed") {
    using Twins = Network<Input{8}, Linear{.out = 8}, Linear{.out = 8}>;
    auto const start = [](std::uint64_t seed) {
        Weights<Twins> weights;
        weights.parameters().initialize(seed);
        return weights.values;
    };
    std::vector<float> const first = start(5);
    CHECK(start(5) == first);
    CHECK(start(6) != first);
    CHECK(start(5 + (std::uint64_t{1} << 32)) != first); // all 64 bits count
    CHECK(std::vector<float>(first.begin(), first.begin() + 64) != std::vector<float>(first.begin() + 72, first.begin() + 136));
}

TEST_CASE("the first numbers are those of the reference trainings") {
    // LeNet's first layer: 20 x 1 x 5 x 5, the stream that PyTorch's run was given.
    using FirstLayer = Network<Input{1, 28, 28}, Conv2d{.out = 20, .kernel = 5}>;
    test::Reference const r{"lenet"};
    Weights<FirstLayer> weights;
    weights.parameters().initialize(static_cast<std::uint64_t>(r.tensor("start.seed").integers[0]));
    for (int p = 0; p < 2; ++p) {
        auto const expected = r.tensor("start.parameter" + std::to_string(p)).as<float>();
        for (std::size_t i = 0; i < expected.size(); ++i) CHECK(weights.parameters()[p].values[i] == expected[i]);
    }
}

TEST_CASE("parameters are found by name; a wrong name is answered with the right ones") {
    Weights<Grouped> weights;
    Parameters const p = weights.parameters();
    CHECK(p.at("0.weight").shape == Dims{6, 2, 3, 2});
    CHECK(p.at("2.bias").values.size() == 5);
    CHECK(p.at("0.bias").name == "0.bias");
    CHECK_THROWS_WITH_AS((void)p.at("1.weight"), "network: no parameter is called '1.weight'; there are: 0.weight, 0.bias, 2.weight, 2.bias", Error);
}
