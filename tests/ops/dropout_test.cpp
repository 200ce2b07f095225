// Dropout: how much it drops, what it scales, that the gradient meets the same mask, that nothing repeats.
#include "support/test_layer.hpp"

#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/dropout/dropout.hpp>
#include <tenon/ops/flatten/flatten.hpp>

#include <set>

using namespace tenon;
using test::test_layer;

namespace {

/// Output and input gradient for an input and an upstream gradient of ones.
struct Masks {
    std::vector<float> y, dx;
};
template <Input In, auto... Layers>
Masks masks(index_t samples, std::uint64_t seed, std::uint32_t step, int threads = 1) {
    using Source = test::LayerSource<graph::BatchLayout{64, test::widest}, In, Layers...>;
    constexpr test::LayerNodes nodes = Source::nodes;
    test::PlannedRun<Source> run{samples, threads};
    std::vector<float> const ones(static_cast<std::size_t>(samples * In.shape().count()), 1.0f);
    run.set(nodes.x, ones);
    run.set(nodes.dy, ones);
    graph::Builder const b = test::Frozen<Source>::graph();
    for (int id = 0; id < b.size(); ++id)
        if (b[id].is(graph::random_op)) run.set_random(id, {seed, static_cast<std::uint32_t>(b[id].attribute[0]), step});
    run.run();
    return {run.get(nodes.y), run.get(nodes.gradient[0])};
}

double share_of_zeros(std::vector<float> const& values) {
    double zeros = 0;
    for (float v : values) zeros += v == 0;
    return zeros / static_cast<double>(values.size());
}

} // namespace

TEST_CASE("dropout: derivative and program, under any shape") {
    test_layer<Input{3, 2, 5}, Dropout{.probability = 0.3f}>();
    test_layer<Input{7}, Tanh{}, Dropout{.probability = 0.6f}, Linear{.out = 3}>();
    test_layer<Input{2, 4, 3}, Conv2d{.out = 2, .kernel = 2}, Flatten{}, Dropout{.probability = 0.5f}>(); // in a stage of the image's shape
}

TEST_CASE("dropout drops its share, scales the rest, and its gradient meets the same mask") {
    for (index_t const samples : {64, 50}) {
        Masks const m = masks<Input{30, 10}, Dropout{.probability = 0.2f}>(samples, 5, 0);
        for (float v : m.y) CHECK((v == 0 || v == 1.25f));
        CHECK(m.dx == m.y);
        CHECK(share_of_zeros(m.y) == doctest::Approx(0.2).epsilon(0.05));
    }
}

TEST_CASE("dropout at its ends") {
    CHECK(masks<Input{8}, Dropout{.probability = 0}>(3, 1, 0).y == std::vector<float>(24, 1.0f));
    CHECK(masks<Input{8}, Dropout{.probability = 1}>(3, 1, 0).y == std::vector<float>(24, 0.0f));
}

TEST_CASE("masks: other steps, seeds, layers, samples and elements are dropped independently") {
    using List = std::vector<float>;
    std::set<List> seen;
    auto const fresh = [&](List const& mask) { CHECK(seen.insert(mask).second); };
    List const first = masks<Input{60}, Dropout{.probability = 0.5f}>(4, 1, 0).y;
    for (std::ptrdiff_t sample = 0; sample < 4; ++sample) fresh({first.begin() + 60 * sample, first.begin() + 60 * (sample + 1)});
    for (std::uint32_t step = 1; step < 4; ++step) fresh(masks<Input{60}, Dropout{.probability = 0.5f}>(1, 1, step).y);
    for (std::uint64_t seed : {2U, 3U}) fresh(masks<Input{60}, Dropout{.probability = 0.5f}>(1, seed, 0).y);
    // Two layers in a row: a quarter stays, not a half.
    CHECK(share_of_zeros(masks<Input{30, 10}, Dropout{.probability = 0.5f}, Dropout{.probability = 0.5f}>(64, 1, 0).y) == doctest::Approx(0.75).epsilon(0.02));
}

TEST_CASE("masks depend on the sample's place in the batch, not on the batch's size or the number of threads") {
    std::vector<float> const full = masks<Input{6, 7}, Dropout{.probability = 0.5f}>(64, 9, 2).y;
    for (index_t const samples : {1, 5, 17}) {
        std::vector<float> const few = masks<Input{6, 7}, Dropout{.probability = 0.5f}>(samples, 9, 2).y;
        CHECK(few == std::vector<float>(full.begin(), full.begin() + static_cast<std::ptrdiff_t>(few.size())));
    }
    CHECK(masks<Input{6, 7}, Dropout{.probability = 0.5f}>(64, 9, 2, 3).y == full);
}
