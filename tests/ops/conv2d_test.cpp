// Convolution as a layer: the options one by one, then together. Its kernels alone: conv2d_cpu_test.cpp.
#include "support/test_layer.hpp"

using namespace tenon;
using test::test_layer;

namespace {

struct Convolved {
    std::vector<float> y, dx;
};
/// One image under a convolution whose weights are all 1, from the planned program.
template <Input In, Conv2d Layer>
Convolved by_ones(std::vector<float> const& x, std::vector<float> const& dy) {
    using Source = test::LayerSource<graph::BatchLayout{4, 4}, In, Layer>;
    constexpr test::LayerNodes nodes = Source::nodes;
    graph::Builder const b = test::Frozen<Source>::graph();
    test::PlannedRun<Source> run{1};
    run.set(nodes.x, x);
    run.set(nodes.dy, dy);
    run.set(b.parameters[1].node, std::vector<float>(static_cast<std::size_t>(b.parameters[1].shape.count()), 1.0f));
    run.run();
    return {run.get(nodes.y), run.get(nodes.gradient[0])};
}

} // namespace

TEST_CASE("convolution: plain, without bias, one by one, the whole image") {
    test_layer<Input{2, 6, 7}, Conv2d{.in = 2, .out = 5, .kernel = 3}>();
    test_layer<Input{3, 5, 4}, Conv2d{.out = 2, .kernel = 2, .bias = false}>();
    test_layer<Input{5, 3, 4}, Conv2d{.out = 7, .kernel = 1}>();
    test_layer<Input{2, 4, 3}, Conv2d{.out = 3, .kernel = {4, 3}}>();
}

TEST_CASE("convolution: stride and padding") {
    test_layer<Input{2, 7, 8}, Conv2d{.out = 3, .kernel = 3, .stride = 2}>();
    test_layer<Input{1, 9, 5}, Conv2d{.out = 2, .kernel = 2, .stride = 3}>();
    test_layer<Input{2, 5, 6}, Conv2d{.out = 3, .kernel = 3, .padding = 1}>();
    test_layer<Input{2, 3, 4}, Conv2d{.out = 2, .kernel = 2, .padding = 3}>();
}

TEST_CASE("convolution: the values that must come out") {
    using List = std::vector<float>;
    List ramp(36);
    for (std::size_t i = 0; i < 36; ++i) ramp[i] = static_cast<float>(i);
    Convolved const strided = by_ones<Input{1, 6, 6}, Conv2d{.out = 1, .kernel = 3, .stride = 2, .bias = false}>(ramp, List(4, 1.0f));
    CHECK(strided.y == List{63, 81, 171, 189});
    for (std::size_t i = 0; i < 6; ++i) {
        CHECK(strided.dx[30 + i] == 0); // the last row
        CHECK(strided.dx[6 * i + 5] == 0);
    }
    CHECK(strided.dx[2 * 6 + 2] == 4);

    Convolved const grouped = by_ones<Input{4, 1, 1}, Conv2d{.out = 6, .kernel = 1, .groups = 2, .bias = false}>({1, 2, 3, 4}, {1, 2, 3, 4, 5, 6});
    CHECK(grouped.y == List{3, 3, 3, 7, 7, 7});
    CHECK(grouped.dx == List{6, 6, 15, 15});
}
