// The fully connected layer. Its kernels alone: linear_cpu_test.cpp.
#include "support/reference_layer.hpp"
#include "support/test_layer.hpp"

using namespace tenon;
using test::test_layer;

TEST_CASE("linear: odd sizes, one input, one output, without bias") {
    test_layer<Input{13}, Linear{.in = 13, .out = 7}>();
    test_layer<Input{1}, Linear{.out = 5}>();
    test_layer<Input{19}, Linear{.out = 1}>();
    test_layer<Input{33}, Linear{.out = 35, .bias = false}>();
    test_layer<Input{3}, Linear{.out = 67}>();
}

TEST_CASE("linear is PyTorch's: small integers, so every value must be equal") {
    test::Reference const r{"linear"};
    constexpr graph::BatchLayout layout{7, 4};
    test::check_reference<layout, Input{37}, Linear{.out = 11}>(r, "plain", 0);
    test::check_reference<layout, Input{13}, Linear{.out = 7}>(r, "one_image", 0);
    test::check_reference<layout, Input{19}, Linear{.out = 6, .bias = false}>(r, "no_bias", 0);
    test::check_reference<layout, Input{23}, Linear{.out = 1}>(r, "one_output", 0);
    test::check_reference<layout, Input{1}, Linear{.out = 9}>(r, "one_input", 0);
    test::check_reference<layout, Input{5}, Linear{.out = 67}>(r, "tall", 0);
}
