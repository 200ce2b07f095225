/// @file
/// What both translation units do: the same calls, so that the linker meets the code of every template twice.
#pragma once

/// Trains a small network for two steps and computes an expression: a number that depends on all of it.
inline double shared_use() {
    using namespace tenon;
    using Net = Network<Input{1, 6, 6}, Conv2d{.out = 3, .kernel = 3}, ReLU{}, MaxPool2d{.kernel = 2}, Flatten{}, Linear{.out = 4}>;
    Trainer trainer{Net{}, CrossEntropy{}, SGD{.lr = 0.1f, .momentum = 0.9f}, batch<2>, Options{.seed = 1, .threads = 1}};
    float images[2 * 36];
    for (int i = 0; i < 2 * 36; ++i) images[i] = static_cast<float>(i % 7);
    int const labels[2] = {1, 3};
    double const losses = trainer.step(images, labels, 2) + trainer.step(images, labels, 2);

    Tensor<float, Shape<3, 5>> x = iota<Shape<3, 5>>() * 0.5f;
    Tensor<float, Shape<3>> y = sum<1>(exp(x - max<1>(x)));
    return losses + static_cast<double>(y(1));
}

/// The same, computed in second.cpp.
double shared_use_of_second();
