/// @file
/// Stochastic gradient descent with momentum.
#pragma once

#include <tenon/nn/loss.hpp>

namespace tenon {

/// torch.optim.SGD (https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html), every option a run-time number:
///     g = gradient + weight_decay * p
///     v = momentum * v + (1 - dampening) * g      (the first step: v = g)
///     p = p - lr * (nesterov ? g + momentum * v : v)
/// written as two assignments into the graph, so that they become the epilogue of the stage that makes the gradient.
struct SGD {
    float lr = 0.01f;
    float momentum = 0;
    float dampening = 0;
    float weight_decay = 0;
    bool nesterov = false;

    static constexpr char const* name = "SGD";

    /// Numbers set before each step, in the order in which the graph knows them.
    enum Number : int { learning_rate, shrinkage, persistence, intake, direct, through, number_count };
    static constexpr int numbers = number_count;

    static constexpr void write(graph::Builder& b, int parameter, graph::Value gradient) {
        auto const number = [&](int n) { return graph::Value{&b, b.number(graph::first_optimizer_number + n)}; };
        graph::Value const p{&b, b.parameters[static_cast<std::size_t>(parameter)].node};
        graph::Value const v{&b, b.state(parameter)};
        graph::Value const g = gradient + number(shrinkage) * p;
        graph::Value const next = number(persistence) * v + number(intake) * g;
        assign(v, next);
        assign(p, p - number(learning_rate) * (number(direct) * g + number(through) * next));
    }

    /// The numbers for step `step` (0 is the first), with the learning rate multiplied by `schedule`.
    void fill_numbers(index_t step, float schedule, float* to) const {
        to[learning_rate] = lr * schedule;
        to[shrinkage] = weight_decay;
        to[persistence] = momentum;
        to[intake] = step == 0 || momentum == 0 ? 1 : 1 - dampening;
        to[direct] = nesterov ? 1.0f : 0.0f;
        to[through] = nesterov ? momentum : 1.0f;
    }
};

} // namespace tenon
