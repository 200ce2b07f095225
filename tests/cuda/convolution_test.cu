// Convolution on the device against the definition in double: every option, alone, before a pool, and before other layers.
#include "device_run.cuh"

#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/pool2d/pool2d.hpp>

using namespace tenon;
using test::test_on_device;

TEST_CASE("convolution on the device: plain, without bias, one by one, the whole image") {
    test_on_device<Input{2, 6, 7}, Conv2d{.in = 2, .out = 5, .kernel = 3}>();
    test_on_device<Input{3, 5, 4}, Conv2d{.out = 2, .kernel = 2, .bias = false}>();
    test_on_device<Input{5, 3, 4}, Conv2d{.out = 7, .kernel = 1}>();
    test_on_device<Input{2, 4, 3}, Conv2d{.out = 3, .kernel = {4, 3}}>();
}

TEST_CASE("convolution on the device: stride, padding, dilation, groups") {
    test_on_device<Input{2, 7, 8}, Conv2d{.out = 3, .kernel = 3, .stride = 2}>();
    test_on_device<Input{1, 9, 5}, Conv2d{.out = 2, .kernel = 2, .stride = 3}>();
    test_on_device<Input{2, 5, 6}, Conv2d{.out = 3, .kernel = 3, .padding = 1}>();
    test_on_device<Input{2, 8, 9}, Conv2d{.out = 3, .kernel = {2, 3}, .dilation = {3, 2}}>();
    test_on_device<Input{4, 5, 5}, Conv2d{.out = 6, .kernel = 3, .padding = 1, .groups = 2}>();
    test_on_device<Input{6, 9, 7}, Conv2d{.out = 4, .kernel = {3, 2}, .stride = {2, 1}, .padding = {2, 1}, .dilation = {2, 3}, .groups = 2}>();
}

TEST_CASE("convolution with a pool in one kernel") {
    test_on_device<Input{2, 9, 8}, Conv2d{.out = 3, .kernel = 3}, ReLU{}, MaxPool2d{.kernel = 2}>();
    test_on_device<Input{2, 8, 9}, Conv2d{.out = 3, .kernel = 2}, MaxPool2d{.kernel = 3, .stride = 2, .padding = 1}, Tanh{}>();
    test_on_device<Input{1, 9, 8}, Conv2d{.out = 2, .kernel = 3, .padding = 1}, MaxPool2d{.kernel = 5, .stride = 1}>(); // 25 taps: row by row
    test_on_device<Input{2, 9, 10}, Conv2d{.out = 3, .kernel = 3}, ReLU{}, MaxPool2d{.kernel = 2}, Conv2d{.out = 5, .kernel = 2}>(); // winners in two bits
    // Values that the gradient needs, some of them in no window.
    test_on_device<Input{2, 9, 9}, Conv2d{.out = 3, .kernel = 3}, Tanh{}, MaxPool2d{.kernel = 2}>();
    test_on_device<Input{2, 9, 10}, Conv2d{.out = 3, .kernel = 2}, Tanh{}, MaxPool2d{.kernel = 2, .stride = 3}>();
    test_on_device<Input{2, 7, 8}, Conv2d{.out = 2, .kernel = 2, .groups = 2}, Tanh{}, MaxPool2d{.kernel = 3, .stride = 2, .padding = 1}>();
}
