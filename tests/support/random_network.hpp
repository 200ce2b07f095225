/// @file
/// Networks drawn at random, written into a graph at run time.
#pragma once

#include <tenon/graph/compile.hpp>
#include <tenon/nn/layers.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/conv2d/conv2d.hpp>
#include <tenon/ops/cross_entropy/cross_entropy.hpp>
#include <tenon/ops/dropout/dropout.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/linear/linear.hpp>
#include <tenon/ops/mse/mse.hpp>
#include <tenon/ops/pool2d/pool2d.hpp>
#include <tenon/optim/sgd.hpp>

#include <array>
#include <random>

namespace tenon::test {

/// Draws layers that fit what arrives, and a loss, and writes the training step.
class RandomNetwork {
public:
    explicit RandomNetwork(std::uint64_t seed) : draw_{seed} {}

    /// The step's graph; outputs are the nodes to read after it.
    graph::Roots write(graph::Builder& b) {
        Dims const shape = one_in(3) ? Dims{number(1, 6)} : Dims{number(1, 3), number(4, 8), number(4, 8)};
        graph::Value x{&b, b.source(graph::input_op, shape, true, 0)};
        int const layers = number(1, 9);
        for (int i = 0; i < layers; ++i) x = layer(b, x, i, 0);
        if (x.shape().rank != 1) x = detail::write_layer(b, Flatten{}, layers, x);
        x = detail::write_layer(b, Linear{.out = number(1, 4), .bias = !one_in(4)}, layers + 1, x);
        b.layer = layers + 2;
        graph::LossNodes const loss = one_in(2) ? CrossEntropy::write(b, x) : MSE::write(b, x);
        update(b, graph::differentiate(b, x, loss.gradient));
        graph::Roots roots{x.id, loss.loss, {loss.loss}};
        if (one_in(2)) roots.outputs.push_back(x.id);
        return roots;
    }

private:
    std::mt19937_64 draw_;
    int shared_weight_ = -1; ///< of a square layer, used again where it fits

    int number(int least, int most) { return least + static_cast<int>(draw_() % static_cast<std::uint64_t>(most - least + 1)); }
    bool one_in(int n) { return draw_() % static_cast<std::uint64_t>(n) == 0; }

    graph::Value layer(graph::Builder& b, graph::Value x, int place, int depth) {
        auto const write = [&](auto const& what) { return detail::write_layer(b, what, place, x); };
        bool const image = x.shape().rank == 3;
        bool const wide = image && x.shape()[1] >= 4 && x.shape()[2] >= 4;
        switch (number(0, 12)) {
        case 0: return write(ReLU{});
        case 1: return write(Tanh{});
        case 2: return write(GELU{});
        case 3: return write(SiLU{});
        case 4: return write(Dropout{.probability = 0.25f});
        case 5: return depth < 2 ? residual(b, x, place, depth) : x;
        case 6: return image && !wide ? write(Flatten{}) : x;
        case 7: return wide ? write(MaxPool2d{.kernel = number(1, 3), .stride = number(1, 2), .padding = 0}) : write(Sigmoid{});
        case 8: return wide ? write(AvgPool2d{.kernel = 2, .stride = number(1, 2), .padding = number(0, 1)}) : write(LeakyReLU{});
        default: break;
        }
        if (!image) return one_in(3) ? shared(b, x) : write(Linear{.out = number(1, 6), .bias = !one_in(4)});
        int const groups = x.shape()[0] % 2 == 0 && one_in(3) ? 2 : 1;
        Conv2d const conv{.out = groups * number(1, 2), .kernel = {number(1, 3), number(1, 3)}, .stride = number(1, 2), .padding = {number(1, 2), 1}, .groups = groups, .bias = !one_in(4)};
        x = write(conv);
        return wide && one_in(3) ? detail::write_layer(b, MaxPool2d{.kernel = 2, .stride = number(1, 2)}, place, one_in(2) ? relu(x) : x) : x;
    }

    graph::Value residual(graph::Builder& b, graph::Value x, int place, int depth) {
        graph::Value y = x;
        for (int i = number(0, 3); i > 0; --i) {
            graph::Value const next = layer(b, y, place, depth + 1);
            if (next.shape() == x.shape()) y = next;
        }
        if (x.shape().rank == 3 && one_in(2)) y = detail::write_layer(b, Conv2d{.out = static_cast<int>(x.shape()[0]), .kernel = 3, .padding = 1}, place, y);
        return x + y;
    }

    /// A layer whose weight another one has too.
    graph::Value shared(graph::Builder& b, graph::Value x) {
        Dims const square{x.shape()[0], x.shape()[0]};
        if (shared_weight_ < 0 || b.shape(shared_weight_) != square) shared_weight_ = b.parameter("shared", square, graph::Distribution::uniform, 1);
        return linear::append(linear::forward_op, x, {&b, shared_weight_}, Dims{x.shape()}, true);
    }

    /// SGD, now and then after the gradient was clipped by its norm.
    void update(graph::Builder& b, std::vector<int> const& gradients) {
        for (std::size_t p = 0; p < gradients.size(); ++p) {
            if (gradients[p] < 0) continue;
            b.update = static_cast<int>(p);
            graph::Value g{&b, gradients[p]};
            if (one_in(5)) g = g / max(sqrt(sum_to(g * g, {}, false)), 1.0f);
            SGD::write(b, b.update, g);
        }
        b.update = -1;
    }
};

} // namespace tenon::test
