// Pools on the device against the definition in double: windows of all kinds, and the places of ties and NaN.
#include "device_run.cuh"

#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/conv2d/conv2d.hpp>
#include <tenon/ops/pool2d/pool2d.hpp>

#include <cmath>

using namespace tenon;
using test::test_on_device;

TEST_CASE("max pooling on the device") {
    test_on_device<Input{2, 6, 8}, MaxPool2d{.kernel = 2}>();
    test_on_device<Input{3, 7, 9}, MaxPool2d{.kernel = 2}>();
    test_on_device<Input{2, 5, 6}, MaxPool2d{.kernel = 3, .stride = 1, .padding = 1}>();
    test_on_device<Input{1, 9, 8}, MaxPool2d{.kernel = 2, .stride = 3}>();
    test_on_device<Input{2, 7, 6}, MaxPool2d{.kernel = {1, 4}, .stride = {2, 1}, .padding = {0, 2}}>();
}

namespace {

/// What `Of` writes; which positions of windows won is read after the step too.
template <class Of>
struct WithWinners {
    static constexpr auto layout = Of::layout;
    static constexpr bool reuse = true;
    static constexpr index_t reserved = 0;
    static constexpr graph::Roots write(graph::Builder& b) {
        graph::Roots roots = Of::write(b);
        roots.outputs.push_back(index_in(b));
        return roots;
    }
    static constexpr int index_in(graph::Builder const& b) {
        int found = -1;
        for (int id = 0; id < b.size(); ++id)
            if (b[id].is(pool2d::max_index_op)) found = id;
        return found;
    }
};

/// Winners against the definition, for inputs among which many are equal. Returns the bytes that the plan has for them.
template <Input In, auto... Layers>
index_t check_winners() {
    constexpr index_t samples = 3;
    using Layer = test::LayerSource<graph::BatchLayout{samples, 1}, In, Layers...>;
    using Source = WithWinners<Layer>;
    graph::Builder const b = test::Frozen<Source>::graph();
    int const index = Source::index_in(b);
    test::Interpreter expected{b, samples};
    test::DeviceRun<Source> found{samples};
    test::LayerInputs inputs{b, Layer::nodes, samples, {}};
    for (auto& values : inputs.values)
        for (float& v : values) v = std::round(2 * v);
    inputs.give(expected);
    inputs.give(found);
    found.run();
    std::vector<double> const& winners = expected[index].data;
    CHECK(found.get(index) == std::vector<float>(winners.begin(), winners.end()));
    constexpr auto const& tables = test::DeviceRun<Source>::tables;
    for (graph::Buffer const& buffer : tables.buffers)
        if (buffer.node == index) return buffer.bytes;
    return 0;
}

/// Of `bits` for each element of three samples, in whole lines of the arena.
constexpr index_t line_bytes(index_t elements, index_t bits) { return (3 * elements * bits / 8 + 63) / 64 * 64; }

} // namespace

TEST_CASE("which position of a window won: two bits where windows have four positions, in planes of whole fours of windows") {
    CHECK(check_winners<Input{5, 6, 8}, MaxPool2d{.kernel = 2}>() == line_bytes(5 * 12, 2));
    CHECK(check_winners<Input{5, 5, 5}, MaxPool2d{.kernel = 2, .stride = 1}>() == line_bytes(5 * 16, 2));
    CHECK(check_winners<Input{7, 4, 15}, MaxPool2d{.kernel = {1, 4}, .stride = {1, 3}}>() == line_bytes(7 * 16, 2));
    CHECK(check_winners<Input{7, 7, 7}, MaxPool2d{.kernel = 2}>() == line_bytes(7 * 9, 8));
    CHECK(check_winners<Input{7, 9, 9}, MaxPool2d{.kernel = 3}>() == line_bytes(7 * 9, 8));
    CHECK(check_winners<Input{2, 9, 10}, Conv2d{.out = 7, .kernel = 3}, ReLU{}, MaxPool2d{.kernel = 2}>() == line_bytes(7 * 12, 2));
    CHECK(check_winners<Input{2, 9, 10}, Conv2d{.out = 3, .kernel = 2}, MaxPool2d{.kernel = {4, 1}}>() == line_bytes(3 * 18, 8));
    CHECK(check_winners<Input{1, 12, 8}, Conv2d{.out = 3, .kernel = 1}, MaxPool2d{.kernel = {4, 1}}, Tanh{}>() == line_bytes(3 * 24, 2));
    CHECK(check_winners<Input{2, 8, 9}, Conv2d{.out = 3, .kernel = 3, .padding = 1}, MaxPool2d{.kernel = 2, .stride = 1, .padding = 1}>() == line_bytes(3 * 90, 8));
    CHECK(check_winners<Input{2, 7, 9}, Conv2d{.out = 3, .kernel = 3, .padding = 1}, MaxPool2d{.kernel = 2, .stride = 1, .padding = 1}>() == line_bytes(3 * 80, 2));
    CHECK(check_winners<Input{2, 5, 5}, Conv2d{.out = 6, .kernel = 2, .groups = 2}, MaxPool2d{.kernel = {1, 2}}>() == line_bytes(6 * 8, 8));
    CHECK(check_winners<Input{2, 5, 5}, Conv2d{.out = 6, .kernel = 2, .groups = 2}, MaxPool2d{.kernel = 2}>() == line_bytes(6 * 4, 2));
}

TEST_CASE("max pooling on the device: a window of more than 256 taps needs a wider index") {
    test_on_device<Input{1, 19, 18}, MaxPool2d{.kernel = 17, .stride = 1}>();
}

TEST_CASE("average pooling on the device") {
    test_on_device<Input{3, 7, 9}, AvgPool2d{.kernel = 2}>();
    test_on_device<Input{2, 5, 6}, AvgPool2d{.kernel = 3, .stride = 1, .padding = 1}>();
    test_on_device<Input{1, 9, 8}, AvgPool2d{.kernel = {2, 3}, .stride = {3, 2}, .padding = {1, 0}}>();
}

TEST_CASE("max pooling on the device: the first of equals, and NaN wins") {
    using Source = test::LayerSource<graph::BatchLayout{2, 1}, Input{1, 2, 4}, MaxPool2d{.kernel = 2}>;
    constexpr test::LayerNodes nodes = Source::nodes;
    float const nan = std::numeric_limits<float>::quiet_NaN();
    test::DeviceRun<Source> run{2};
    run.set(nodes.x, std::vector<float>{1, 3, nan, 9, 3, 3, 9, 9, /* second */ 0, 0, -1, -2, 0, 0, -3, nan});
    run.set(nodes.dy, std::vector<float>{5, 7, 11, 13});
    run.run();
    auto const y = run.get(nodes.y), dx = run.get(nodes.gradient[0]);
    CHECK(y[0] == 3);
    CHECK(std::isnan(y[1]));
    CHECK(y[2] == 0);
    CHECK(std::isnan(y[3]));
    std::vector<float> const expected{0, 5, 7, 0, 0, 0, 0, 0, 11, 0, 0, 0, 0, 0, 0, 13};
    CHECK(dx == expected);
}
