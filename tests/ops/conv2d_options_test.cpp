// Convolution as a layer: dilation, groups, and everything together.
#include "support/test_layer.hpp"

using namespace tenon;
using test::test_layer;

TEST_CASE("convolution: dilation") {
    test_layer<Input{2, 8, 7}, Conv2d{.out = 3, .kernel = 3, .dilation = 2}>();
    test_layer<Input{1, 7, 9}, Conv2d{.out = 2, .kernel = {2, 3}, .padding = {1, 0}, .dilation = {3, 2}}>();
}

TEST_CASE("convolution: groups, depthwise, a channel multiplier") {
    test_layer<Input{6, 4, 5}, Conv2d{.out = 9, .kernel = 3, .groups = 3}>();
    test_layer<Input{5, 5, 4}, Conv2d{.out = 5, .kernel = 3, .padding = 1, .groups = 5}>();
    test_layer<Input{3, 4, 4}, Conv2d{.out = 6, .kernel = 2, .groups = 3, .bias = false}>();
}

TEST_CASE("convolution: all options at once") {
    test_layer<Input{4, 11, 8}, Conv2d{.out = 6, .kernel = {3, 2}, .stride = {2, 1}, .padding = {2, 1}, .dilation = {2, 3}, .groups = 2}>();
}
