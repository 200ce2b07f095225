// Convolution against PyTorch, forward and backward: small integers, so every value must be equal.
#include "support/reference_layer.hpp"

using namespace tenon;

namespace {

template <Input In, Conv2d Layer>
void check(test::Reference const& reference, std::string const& name) {
    test::check_reference<graph::BatchLayout{7, 4}, In, Layer>(reference, name, 0);
}

} // namespace

TEST_CASE("convolution is PyTorch's") {
    test::Reference const r{"conv2d"};
    check<Input{2, 7, 9}, Conv2d{.out = 5, .kernel = 3}>(r, "plain");
    check<Input{6, 5, 4}, Conv2d{.out = 3, .kernel = 1}>(r, "one_by_one");
    check<Input{3, 6, 7}, Conv2d{.out = 4, .kernel = 2}>(r, "even_kernel");
    check<Input{2, 4, 4}, Conv2d{.out = 3, .kernel = 4}>(r, "whole_image");
    check<Input{3, 11, 8}, Conv2d{.out = 4, .kernel = 3, .stride = 2}>(r, "strided");
    check<Input{2, 9, 10}, Conv2d{.out = 3, .kernel = 2, .stride = 3}>(r, "stride_over_kernel");
    check<Input{3, 6, 7}, Conv2d{.out = 5, .kernel = 5, .padding = 2}>(r, "padded");
    check<Input{1, 4, 3}, Conv2d{.out = 2, .kernel = 2, .padding = 3}>(r, "padding_over_kernel");
    check<Input{2, 10, 9}, Conv2d{.out = 3, .kernel = 3, .dilation = 2}>(r, "dilated");
    check<Input{6, 5, 7}, Conv2d{.out = 9, .kernel = 3, .groups = 3}>(r, "grouped");
    check<Input{5, 6, 5}, Conv2d{.out = 5, .kernel = 3, .padding = 1, .groups = 5}>(r, "depthwise");
    check<Input{3, 5, 6}, Conv2d{.out = 6, .kernel = 3, .padding = 1, .groups = 3}>(r, "channel_multiplier");
    check<Input{3, 5, 5}, Conv2d{.out = 2, .kernel = 2, .bias = false}>(r, "no_bias");
    check<Input{4, 11, 9}, Conv2d{.out = 6, .kernel = 3, .stride = 2, .padding = 2, .dilation = 2, .groups = 2}>(r, "everything");
    check<Input{1, 10, 10}, Conv2d{.out = 20, .kernel = 5}>(r, "like_lenet");
    check<Input{2, 9, 8}, Conv2d{.out = 3, .kernel = {2, 3}, .stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}}>(r, "rectangular");
}
