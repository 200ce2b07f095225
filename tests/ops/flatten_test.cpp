// Flatten moves nothing; its gradient has the image's shape again.
#include "support/reference_layer.hpp"
#include "support/test_layer.hpp"

#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/pool2d/pool2d.hpp>

using namespace tenon;
using test::test_layer;

TEST_CASE("flatten is PyTorch's") {
    test::Reference const r{"flatten"};
    constexpr graph::BatchLayout layout{7, 4};
    test::check_reference<layout, Input{2, 4, 5}, Flatten{}>(r, "plain", 0);
    test::check_reference<layout, Input{3, 3, 2}, Flatten{18}>(r, "one_image", 0);
    test::check_reference<layout, Input{5}, Flatten{}>(r, "flat_already", 0);
}

TEST_CASE("flatten between other layers") {
    test_layer<Input{2, 4, 4}, MaxPool2d{.kernel = 2}, Flatten{8}, Linear{.out = 5}>();
    test_layer<Input{3, 2, 2}, Tanh{}, Flatten{}, Sigmoid{}>();
    test_layer<Input{2, 5, 4}, Conv2d{.out = 3, .kernel = 2}, Flatten{}, ReLU{}, Linear{.out = 2}>();
}
