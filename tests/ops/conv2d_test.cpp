// Convolution as a layer: the options one by one, then together. Its kernels alone: conv2d_cpu_test.cpp.
#include "support/test_layer.hpp"

using namespace tenon;
using test::test_layer;

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
