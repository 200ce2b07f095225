// Pointwise values: every elementary function and its derivative, broadcasting, what is simplified away.
#include "support/check_graph.hpp"
#include "support/test_layer.hpp"

#include <tenon/ops/activation/activation.hpp>

using namespace tenon;
using graph::Value;

namespace {

constexpr graph::BatchLayout layout{7, 4};

constexpr Value apply(Fn fn, Value a, Value b = {}, Value c = {}) { return graph::detail::append(fn, a, b, c); }
constexpr Value input(graph::Builder& b, Dims const& shape, bool batched = true, int slot = 0) {
    return {&b, b.source(graph::input_op, shape, batched, slot)};
}

/// Every function of one, two and three arguments, each an output.
struct AllFunctions : test::HandWritten<layout> {
    static constexpr graph::Roots write(graph::Builder& b) {
        graph::Roots roots;
        Value const x = input(b, {5}), y = input(b, {5}, true, 1), z = input(b, {5}, true, 2);
        Value const yes = x < y, no = z < x;
        for (int fn = static_cast<int>(Fn::neg); fn <= static_cast<int>(Fn::fma); ++fn) {
            Fn const f = static_cast<Fn>(fn);
            bool const logic = f == Fn::logical_not || f == Fn::logical_and || f == Fn::logical_or;
            Value const first = f == Fn::select || logic ? yes : f == Fn::pow ? abs(x) : x, second = logic ? no : y;
            roots.outputs.push_back((arity(f) == 1 ? apply(f, first) : arity(f) == 2 ? apply(f, first, second) : apply(f, first, second, z)).id);
        }
        roots.output = roots.outputs[0];
        return roots;
    }
};

/// Shapes that stretch each other, batched and not, in one stage and from stage to stage.
struct Broadcasting : test::HandWritten<layout> {
    static constexpr graph::Roots write(graph::Builder& b) {
        Value const image = input(b, {3, 4, 2}), channel = input(b, {3, 1, 1}, false, 1), row = input(b, {4, 1}, true, 2);
        Value const one = input(b, {}, true, 3), number = input(b, {1}, false, 4), column = input(b, {1, 1, 2}, true, 5);
        Value const stretched = channel + row;           // [3, 4, 1]
        Value const wide = stretched * column;           // [3, 4, 2]
        Value const sum = image * wide + one - number;   // a number for each sample, a number for all
        Value const flat = reshape(sum, {24}) * 2.0f;    // goes on under another shape
        Value const rows = reshape(flat, {4, 6}) + input(b, {6}, false, 6); // where a row is another one than before
        Value const unbatched = channel * number + 1.0f; // no batch at all
        return {flat.id, -1, {stretched.id, wide.id, flat.id, rows.id, unbatched.id}};
    }
};

/// A loss whose gradient by the output is the same number for all elements of a sample: the sum of the outputs.
template <bool OfReal>
struct SumLoss : test::HandWritten<layout> {
    static constexpr graph::Roots write(graph::Builder& b) {
        Value const w{&b, b.parameter("w", {3, 5}, graph::Distribution::uniform, 1)};
        Value const c{&b, b.parameter("b", {3}, graph::Distribution::uniform, 1)};
        Value const y = tanh(linear::append(linear::forward_op, input(b, {5}), w, {3}, true) + c);
        Value const seed{&b, OfReal ? b.source(graph::presence_op, {}, true, 0) : b.constant(1)};
        graph::Roots roots{y.id, -1, {y.id}};
        for (int gradient : graph::differentiate(b, y, seed)) roots.outputs.push_back(gradient);
        return roots;
    }
};

template <auto F>
struct Call {
    constexpr auto operator()(auto x) const { return F(x); }
};
template <auto F>
void check_derivative(float low, float high) {
    test::check_layer_gradients<Input{7}, Pointwise<Call<F>>{}>({.low = low, .high = high});
}

} // namespace

TEST_CASE("every elementary function in the planned program") {
    test::check_graph<AllFunctions>(7, 1e-6, 0.05f, 2.0f);
    test::check_graph<AllFunctions>(3, 1e-6, 0.05f, 2.0f);
}

TEST_CASE("the derivative of every elementary function") {
    check_derivative<[](Value x) { return -x; }>(-2, 2);
    check_derivative<[](Value x) { return abs(x); }>(-2, 2);
    check_derivative<[](Value x) { return sqrt(x); }>(0.1f, 3);
    check_derivative<[](Value x) { return exp(x); }>(-2, 2);
    check_derivative<[](Value x) { return expm1(x); }>(-2, 2);
    check_derivative<[](Value x) { return log(x); }>(0.1f, 3);
    check_derivative<[](Value x) { return log1p(x); }>(-0.8f, 3);
    check_derivative<[](Value x) { return sin(x) * cos(x); }>(-3, 3);
    check_derivative<[](Value x) { return tanh(x); }>(-3, 3);
    check_derivative<[](Value x) { return erf(x); }>(-2, 2);
    check_derivative<[](Value x) { return sigmoid(x); }>(-5, 5);
    check_derivative<[](Value x) { return relu(x); }>(-2, 2);
    check_derivative<[](Value x) { return x - 1.0f / x; }>(0.3f, 3);
    check_derivative<[](Value x) { return x / (x * x + 1.0f); }>(-3, 3);
    check_derivative<[](Value x) { return pow(x, 2.5f); }>(0.1f, 2);
    check_derivative<[](Value x) { return pow(x, 3.0f); }>(-2, 2);
    check_derivative<[](Value x) { return pow(1.7f + 0.0f * x, x); }>(-2, 2);
    check_derivative<[](Value x) { return pow(x, x); }>(0.2f, 2);
    check_derivative<[](Value x) { return min(x, 0.3f) + max(x * x, 0.25f) + min(max(x, -1.0f), x * 2.0f); }>(-2, 2);
    check_derivative<[](Value x) { return select(x * x < 1.0f, x * x * x, 3.0f * x); }>(-2, 2);
    check_derivative<[](Value x) { return select(x > 0.5f, 2.0f, x) + select(x > 0.5f, x, -1.0f); }>(-2, 2);
    check_derivative<[](Value x) { return apply(Fn::fma, x, sin(x), cos(x)); }>(-2, 2);
    check_derivative<[](Value x) { return floor(x) + ceil(x) + round(x) + sign(x) + isnan(x) + x; }>(-2.4f, 2.4f);
    check_derivative<[](Value x) { return (x < 1.0f) + (x >= 0.25f) + (x == 2.0f) + (x != 2.0f) + (x <= -1.0f) + x; }>(-2, 2);
}

TEST_CASE("ties of min and max share the gradient, kinks have PyTorch's") {
    auto const slope = [](auto f, double at) {
        graph::Builder b;
        Value const x{&b, b.parameter("x", {1}, graph::Distribution::uniform, 1)};
        Value const y = f(x);
        int const gradient = graph::differentiate(b, y, {&b, b.constant(1)})[0];
        test::Interpreter run{b, 1};
        run.set_number(x.id, at);
        return run.number(gradient);
    };
    CHECK(slope([](Value x) { return max(x, 0.5f); }, 0.5) == 0.5);
    CHECK(slope([](Value x) { return min(0.5f * x, x - 0.5f); }, 1) == 0.75);
    CHECK(slope([](Value x) { return relu(x); }, 0) == 0);
    CHECK(slope([](Value x) { return abs(x); }, 0) == 0);
    CHECK(std::isnan(slope([](Value x) { return relu(x) * x; }, std::nan(""))));
}

TEST_CASE("shapes stretch each other") {
    test::check_graph<Broadcasting>(7);
    test::check_graph<Broadcasting>(2);
}

TEST_CASE("a gradient that begins as one number, for all or for each sample") {
    test::check_graph<SumLoss<true>>(6);
    test::check_graph<SumLoss<false>>(4); // a batch without empty lanes, which would count
}
