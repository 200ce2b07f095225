// Whole networks against the oracle: branches, repetition, odd geometry, both losses, every option of the optimiser.
#include "support/trainer_oracle.hpp"

#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/dropout/dropout.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/mse/mse.hpp>

using namespace tenon;
using test::check_trainer;

namespace {

using Residuals = Network<Input{3, 7, 5}, Conv2d{.out = 4, .kernel = 3, .padding = 1}, ReLU{},
                          Repeat<2, Residual<Conv2d{.out = 4, .kernel = 3, .padding = 1}, SiLU{}, Conv2d{.out = 4, .kernel = 1}>, ReLU{}>,
                          AvgPool2d{.kernel = 2}, Flatten{}, Linear{.out = 5}>;

using OddGeometry = Network<Input{4, 13, 11}, Conv2d{.out = 6, .kernel = {3, 2}, .stride = {2, 1}, .padding = {2, 1}, .dilation = {1, 2}, .groups = 2},
                            MaxPool2d{.kernel = 3, .stride = 2, .padding = 1}, GELU{}, Conv2d{.out = 3, .kernel = 2, .groups = 3, .bias = false}, Tanh{},
                            AvgPool2d{.kernel = {2, 1}, .stride = 1}, Flatten{}, Linear{.out = 4, .bias = false}>;

using Rows = Network<Input{13}, Linear{.out = 17}, GELU{GELU::Form::tanh}, Dropout{.probability = 0.4f}, Residual<Linear{.out = 17}, LeakyReLU{}>, Linear{.out = 3}>;

} // namespace

TEST_CASE("a residual network") {
    check_trainer<Residuals, 4>(CrossEntropy{}, SGD{.lr = 0.1f, .momentum = 0.9f}, {4, 4, 3});
    check_trainer<Residuals, 16>(MSE{}, SGD{.lr = 0.2f, .momentum = 0.5f, .nesterov = true}, {16, 9, 16});
}

TEST_CASE("strides, padding, dilation, groups, overlapping pools, no biases") {
    check_trainer<OddGeometry, 3>(CrossEntropy{.label_smoothing = 0.1f}, SGD{.lr = 0.1f, .weight_decay = 0.1f}, {3, 2, 3});
    check_trainer<OddGeometry, 8>(MSE{}, SGD{.lr = 0.1f, .momentum = 0.9f, .dampening = 0.5f, .weight_decay = 0.01f}, {8, 5});
}

TEST_CASE("rows with dropout; every option of the optimiser") {
    CrossEntropy const weighted{.label_smoothing = 0.2f, .ignore_index = 1, .weights = {1, 2, 0.5f}};
    check_trainer<Rows, 7>(weighted, SGD{.lr = 0.1f, .momentum = 0.8f, .dampening = 0.3f, .weight_decay = 0.05f}, {7, 7, 4, 7});
    check_trainer<Rows, 16>(MSE{}, SGD{.lr = 0.1f, .momentum = 0.8f, .weight_decay = 0.05f, .nesterov = true}, {16, 16, 11});
}

TEST_CASE("the smallest network of all") { check_trainer<Network<Input{1}, Linear{.out = 1}>, 1>(MSE{}, SGD{.lr = 0.1f}, {1, 1, 1}); }
