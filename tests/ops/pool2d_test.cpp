// Max and average pooling as layers: windows of all kinds, and the places of ties, NaN and infinities.
#include "support/reference_layer.hpp"
#include "support/test_layer.hpp"

#include <tenon/ops/pool2d/pool2d.hpp>

#include <limits>

using namespace tenon;
using test::test_layer;

namespace {

constexpr graph::BatchLayout layout{7, 4};
constexpr float infinity = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Output and input gradient of one image under a pool, from the planned program.
struct Pooled {
    std::vector<float> y, dx;
};
template <Input In, MaxPool2d Pool>
Pooled pool_one(std::vector<float> const& x, std::vector<float> const& dy) {
    using Source = test::LayerSource<layout, In, Pool>;
    constexpr test::LayerNodes nodes = Source::nodes;
    test::PlannedRun<Source> run{1};
    run.set(nodes.x, x);
    run.set(nodes.dy, dy);
    run.run();
    return {run.get(nodes.y), run.get(nodes.gradient[0])};
}

} // namespace

TEST_CASE("max pooling: kernel, stride and padding of all kinds") {
    test_layer<Input{2, 6, 8}, MaxPool2d{.kernel = 2}>();
    test_layer<Input{3, 7, 9}, MaxPool2d{.kernel = 2}>();
    test_layer<Input{1, 10, 7}, MaxPool2d{.kernel = 3, .stride = 2}>();
    test_layer<Input{2, 5, 6}, MaxPool2d{.kernel = 3, .stride = 1, .padding = 1}>();
    test_layer<Input{1, 9, 8}, MaxPool2d{.kernel = 2, .stride = 3}>();
    test_layer<Input{2, 7, 6}, MaxPool2d{.kernel = {1, 4}, .stride = {2, 1}, .padding = {0, 2}}>();
}

TEST_CASE("max pooling: a window of more than 256 taps needs a wider index") {
    test_layer<Input{1, 19, 18}, MaxPool2d{.kernel = 17, .stride = 1}>();
}

TEST_CASE("average pooling: padding counts as zeros") {
    test_layer<Input{2, 6, 8}, AvgPool2d{.kernel = 2}>();
    test_layer<Input{3, 7, 9}, AvgPool2d{.kernel = 2}>();
    test_layer<Input{2, 5, 6}, AvgPool2d{.kernel = 3, .stride = 1, .padding = 1}>();
    test_layer<Input{1, 9, 8}, AvgPool2d{.kernel = {2, 3}, .stride = {3, 2}, .padding = {1, 0}}>();
}

TEST_CASE("max pooling is PyTorch's") {
    test::Reference const r{"max_pool2d"};
    test::check_reference<layout, Input{2, 8, 6}, MaxPool2d{.kernel = 2}>(r, "plain", 0);
    test::check_reference<layout, Input{3, 7, 9}, MaxPool2d{.kernel = 2}>(r, "cut_edges", 0);
    test::check_reference<layout, Input{3, 10, 11}, MaxPool2d{.kernel = 3}>(r, "kernel3", 0);
    test::check_reference<layout, Input{2, 9, 7}, MaxPool2d{.kernel = 3, .stride = 2}>(r, "overlapping", 0);
    test::check_reference<layout, Input{2, 6, 5}, MaxPool2d{.kernel = 3, .stride = 1}>(r, "stride1", 0);
    test::check_reference<layout, Input{1, 9, 8}, MaxPool2d{.kernel = 2, .stride = 3}>(r, "stride_over_kernel", 0);
    test::check_reference<layout, Input{2, 7, 6}, MaxPool2d{.kernel = 3, .stride = 2, .padding = 1}>(r, "padded", 0);
    test::check_reference<layout, Input{2, 5, 5}, MaxPool2d{.kernel = 2, .stride = 2, .padding = 1}>(r, "padded_negative", 0);
    test::check_reference<layout, Input{2, 7, 5}, MaxPool2d{.kernel = 5, .stride = 3, .padding = 2}>(r, "wide_padding", 0);
}

TEST_CASE("max pooling is PyTorch's where elements tie, and where they are NaN or infinite") {
    test::Reference const r{"max_pool2d"};
    test::check_reference<layout, Input{2, 8, 8}, MaxPool2d{.kernel = 2}>(r, "ties", 0);
    test::check_reference<layout, Input{2, 7, 7}, MaxPool2d{.kernel = 3, .stride = 2, .padding = 1}>(r, "ties_overlapping", 0);
    test::check_reference<layout, Input{1, 4, 6}, MaxPool2d{.kernel = 2}>(r, "all_equal", 0);
    test::check_reference<layout, Input{2, 6, 8}, MaxPool2d{.kernel = 2}>(r, "one_nan", 0);
    test::check_reference<layout, Input{2, 6, 8}, MaxPool2d{.kernel = 3, .stride = 2, .padding = 1}>(r, "one_nan_overlapping", 0);
    test::check_reference<layout, Input{2, 6, 6}, MaxPool2d{.kernel = 2}>(r, "infinite", 0);
    test::check_reference<layout, Input{2, 6, 6}, MaxPool2d{.kernel = 3, .stride = 2, .padding = 1}>(r, "infinite_padded", 0);
    test::check_reference<layout, Input{1, 4, 6}, MaxPool2d{.kernel = 2}>(r, "many_nans", 0);
}

TEST_CASE("average pooling is PyTorch's") {
    test::Reference const r{"avg_pool2d"};
    double const rounding = 3e-7;
    test::check_reference<layout, Input{2, 8, 6}, AvgPool2d{.kernel = 2}>(r, "plain", rounding);
    test::check_reference<layout, Input{3, 7, 9}, AvgPool2d{.kernel = 2}>(r, "cut_edges", rounding);
    test::check_reference<layout, Input{3, 10, 11}, AvgPool2d{.kernel = 3}>(r, "kernel3", rounding);
    test::check_reference<layout, Input{2, 9, 7}, AvgPool2d{.kernel = 3, .stride = 2}>(r, "overlapping", rounding);
    test::check_reference<layout, Input{2, 6, 5}, AvgPool2d{.kernel = 3, .stride = 1}>(r, "stride1", rounding);
    test::check_reference<layout, Input{1, 9, 8}, AvgPool2d{.kernel = 2, .stride = 3}>(r, "stride_over_kernel", rounding);
    test::check_reference<layout, Input{2, 7, 6}, AvgPool2d{.kernel = 3, .stride = 2, .padding = 1}>(r, "padded", rounding);
    test::check_reference<layout, Input{2, 7, 5}, AvgPool2d{.kernel = 5, .stride = 3, .padding = 2}>(r, "wide_padding", rounding);
    test::check_reference<layout, Input{3, 5, 5}, AvgPool2d{.kernel = 5}>(r, "whole_image", rounding);
}

TEST_CASE("max pooling: the values that must come out") {
    using List = std::vector<float>;
    auto const window = [](List const& x) { return pool_one<Input{1, 2, 2}, MaxPool2d{.kernel = 2}>(x, {1}); };

    Pooled const lowest = window({-infinity, -infinity, -infinity, -infinity});
    CHECK(lowest.y == List{-infinity});
    CHECK(lowest.dx == List{1, 0, 0, 0});

    Pooled const with_nan = window({1, not_a_number, 5, 6});
    CHECK(with_nan.y.size() == 1);
    CHECK(with_nan.y[0] != with_nan.y[0]);
    CHECK(with_nan.dx == List{0, 1, 0, 0});

    CHECK(window({7, 7, 7, 7}).dx == List{1, 0, 0, 0});

    // Each element has a window of its own, with padding around it, which is larger in value and never wins.
    Pooled const padded = pool_one<Input{1, 2, 2}, MaxPool2d{.kernel = 2, .stride = 2, .padding = 1}>({-1, -2, -3, -4}, {1, 2, 3, 4});
    CHECK(padded.y == List{-1, -2, -3, -4});
    CHECK(padded.dx == List{1, 2, 3, 4});

    List image(25);
    for (std::size_t i = 0; i < 25; ++i) image[i] = -static_cast<float>(i);
    image[6] = 100; // row 1, column 1: in four windows of 3 x 3
    Pooled const overlapping = pool_one<Input{1, 5, 5}, MaxPool2d{.kernel = 3, .stride = 1}>(image, List(9, 1.0f));
    CHECK(overlapping.dx[6] == 4);
}
