/// @file
/// The network of the main example.
#pragma once

#include <tenon/nn/network.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/conv2d/conv2d.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/linear/linear.hpp>
#include <tenon/ops/pool2d/pool2d.hpp>

namespace tenon::test {

// clang-format off
using LeNet = Network<Input{1, 28, 28},
    Conv2d{.in = 1, .out = 20, .kernel = 5},  ReLU{}, MaxPool2d{.kernel = 2},
    Conv2d{.in = 20, .out = 50, .kernel = 5}, ReLU{}, MaxPool2d{.kernel = 2},
    Flatten{50 * 4 * 4},
    Linear{.in = 50 * 4 * 4, .out = 500}, ReLU{},
    Linear{.in = 500, .out = 10}>;
// clang-format on

} // namespace tenon::test
