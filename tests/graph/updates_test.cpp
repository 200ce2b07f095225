// Updates in place: a parameter changes when everything that reads it is done, however the graph is written.
#include "support/check_graph.hpp"

#include <tenon/optim/sgd.hpp>

using namespace tenon;
using graph::Value;

namespace {

constexpr graph::BatchLayout layout{7, 4};

Value constexpr parameter(graph::Builder& b, char const* name, Dims const& shape) {
    return {&b, b.parameter(name, shape, graph::Distribution::uniform, 1)};
}
Value constexpr input(graph::Builder& b, Dims const& shape) { return {&b, b.source(graph::input_op, shape, true, 0)}; }

/// SGD on all parameters, for the gradient of the sum of y * dy.
constexpr void train(graph::Builder& b, Value y) {
    Value const dy{&b, b.source(graph::label_op, Dims{y.shape()}, true, 0)};
    std::vector<int> const gradients = graph::differentiate(b, y, dy);
    for (std::size_t p = 0; p < gradients.size(); ++p) {
        b.update = static_cast<int>(p);
        SGD::write(b, b.update, {&b, gradients[p]});
    }
    b.update = -1;
}

/// One weight in two layers.
struct TiedWeights : test::HandWritten<layout> {
    static constexpr graph::Roots write(graph::Builder& b) {
        Value const w = parameter(b, "w", {5, 5});
        Value const hidden = tanh(linear::append(linear::forward_op, input(b, {5}), w, {5}, true));
        Value const y = linear::append(linear::forward_op, hidden, w, {5}, true);
        train(b, y);
        return {y.id, -1, {y.id}};
    }
};

/// One weight in a layer and in a pointwise product, forward and backward.
struct WeightAsFactor : test::HandWritten<layout> {
    static constexpr graph::Roots write(graph::Builder& b) {
        Value const scale = parameter(b, "scale", {5});
        Value const w = parameter(b, "w", {5, 5});
        Value const y = scale * tanh(linear::append(linear::forward_op, scale * input(b, {5}), w, {5}, true)) + scale;
        train(b, y);
        return {y.id, -1, {y.id}};
    }
};

/// Two parameters whose gradients are one node.
struct SameGradient : test::HandWritten<layout> {
    static constexpr graph::Roots write(graph::Builder& b) {
        Value const one = parameter(b, "one", {5}), other = parameter(b, "other", {5});
        Value const y = input(b, {5}) + one + other;
        train(b, y);
        return {y.id, -1, {y.id}};
    }
};

/// A value of the old weight that is asked for only after the update was written.
struct ReadAfterUpdate : test::HandWritten<layout> {
    static constexpr graph::Roots write(graph::Builder& b) {
        Value const w = parameter(b, "w", {5, 5});
        Value const x = input(b, {5});
        Value const y = linear::append(linear::forward_op, x, w, {5}, true);
        train(b, y);
        Value const late = linear::append(linear::forward_op, y, w, {5}, true);
        Value const squared = w * w;
        return {late.id, -1, {y.id, late.id, squared.id}};
    }
};

/// The update needs the whole gradient first: its norm.
struct ClippedUpdate : test::HandWritten<layout> {
    static constexpr graph::Roots write(graph::Builder& b) {
        Value const w = parameter(b, "w", {3, 5});
        Value const y = linear::append(linear::forward_op, input(b, {5}), w, {3}, true);
        Value const dy{&b, b.source(graph::label_op, {3}, true, 0)};
        Value const g{&b, graph::differentiate(b, y, dy)[0]};
        Value const norm = sqrt(sum_to(g * g, {}, false));
        b.update = 0;
        assign(w, w - 0.5f * g / max(norm, 1.0f));
        b.update = -1;
        return {y.id, -1, {y.id, norm.id}};
    }
};

/// Two parameters that exchange their values, and a state that follows one of them.
struct Exchange : test::HandWritten<layout> {
    static constexpr graph::Roots write(graph::Builder& b) {
        Value const one = parameter(b, "one", {5}), other = parameter(b, "other", {5});
        Value const follower{&b, b.state(0)};
        b.update = 0;
        Value const next_one = other * 1.5f;
        assign(one, next_one);
        assign(follower, follower + one);
        b.update = 1;
        assign(other, one * 0.5f);
        b.update = -1;
        return {next_one.id, -1, {}};
    }
};

/// The first layer's update, which comes last, looks at the second layer's weight, which was ready before.
struct LooksAtAnother : test::HandWritten<layout> {
    static constexpr graph::Roots write(graph::Builder& b) {
        Value const first = parameter(b, "first", {5, 5}), second = parameter(b, "second", {5, 5});
        Value const hidden = tanh(linear::append(linear::forward_op, input(b, {5}), first, {5}, true));
        Value const y = linear::append(linear::forward_op, hidden, second, {5}, true);
        Value const dy{&b, b.source(graph::label_op, {5}, true, 0)}, rate{&b, b.number(0)};
        std::vector<int> const gradients = graph::differentiate(b, y, dy);
        b.update = 1;
        assign(second, second - Value{&b, gradients[1]});
        b.update = 0;
        assign(first, rate * second + Value{&b, gradients[0]});
        b.update = -1;
        return {y.id, -1, {y.id}};
    }
};

/// A parameter that becomes a number, another parameter's value, a gradient as it is.
struct Copies : test::HandWritten<layout> {
    static constexpr graph::Roots write(graph::Builder& b) {
        Value const one = parameter(b, "one", {5}), other = parameter(b, "other", {5}), w = parameter(b, "w", {3, 5});
        Value const number{&b, b.number(0)}, x = input(b, {5});
        Value const y = linear::append(linear::forward_op, x + other, w, {3}, true);
        Value const dy{&b, b.source(graph::label_op, {3}, true, 0)};
        assign(w, {&b, graph::differentiate(b, y, dy)[2]});
        assign(one, other);
        assign(other, broadcast_to(number, {5}, false));
        return {y.id, -1, {y.id}};
    }
};

} // namespace

TEST_CASE("a weight that two layers share is updated once, from the sum of its gradients, when both are done") {
    test::check_graph<TiedWeights>(3);
    test::check_graph<TiedWeights>(7);
    test::check_graph<WeightAsFactor>(5);
}

TEST_CASE("two parameters may have the same gradient") { test::check_graph<SameGradient>(6); }

TEST_CASE("what reads a weight sees it as it was before the step, even where that was written after the update") {
    test::check_graph<ReadAfterUpdate>(4);
}

TEST_CASE("an update that needs the whole gradient first waits for it") { test::check_graph<ClippedUpdate>(7); }

TEST_CASE("updates that read each other's parameters") {
    test::check_graph<Exchange>(1);
    test::check_graph<LooksAtAnother>(6);
}

TEST_CASE("updates that are copies") { test::check_graph<Copies>(6); }
