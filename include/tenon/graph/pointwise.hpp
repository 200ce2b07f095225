/// @file
/// Elementwise values in a graph: how they are written (operators on `Value`), simplified as they are written, and
/// differentiated. A user's functor is traced by calling it with a `Value`.
#pragma once

#include <tenon/graph/builder.hpp>

namespace tenon::graph {

constexpr void differentiate_pointwise(Builder& b, int node, int dy);
constexpr void differentiate_view(Builder& b, int node, int dy);
constexpr void differentiate_sum_to(Builder& b, int node, int dy);

inline constexpr Op pointwise_op{"pointwise", Kind::pointwise, &differentiate_pointwise};
/// The same elements in the same order under another shape.
inline constexpr Op reshape_op{"reshape", Kind::view, &differentiate_view};
/// The sum over the batch and over every axis that broadcasting had stretched.
inline constexpr Op sum_to_op{"sum_to", Kind::anchor, &differentiate_sum_to};
/// Writes input 1 over the source input 0.
inline constexpr Op assign_op{"assign", Kind::assign};

/// The shape of a elementwise combination of two shapes: aligned at the right, extents equal or 1. Rank -1: no such shape.
[[nodiscard]] constexpr Dims broadcast_shape(Dims const& x, Dims const& y) {
    Dims result = x.rank >= y.rank ? x : y;
    for (int i = 1; i <= x.rank && i <= y.rank; ++i) {
        index_t const a = x[x.rank - i], c = y[y.rank - i];
        if (a != c && a != 1 && c != 1) {
            result.rank = -1;
            return result;
        }
        result.extent[result.rank - i] = a == 1 ? c : a;
    }
    return result;
}

/// A node that is being computed with: what layers, losses, optimisers and users' functors write expressions in.
struct Value {
    Builder* builder = nullptr;
    int id = -1;

    [[nodiscard]] constexpr Node const& node() const { return (*builder)[id]; }
    [[nodiscard]] constexpr Dims const& shape() const { return node().shape; }
};

namespace detail {

[[nodiscard]] constexpr bool is_constant(Value x, float value) { return x.node().is(constant_op) && x.node().value == value; }

constexpr Value append(Fn fn, Value a, Value b = {}, Value c = {}) {
    Node node{.op = &pointwise_op};
    node.attribute[0] = static_cast<int>(fn);
    Value const inputs[3] = {a, b, c};
    for (std::size_t i = 0; i < 3; ++i) {
        if (inputs[i].builder == nullptr) continue;
        Node const& input = inputs[i].node();
        node.input[i] = inputs[i].id;
        node.batched = node.batched || input.batched;
        node.shape = broadcast_shape(node.shape, input.shape);
    }
    return {a.builder, a.builder->add(node)};
}

} // namespace detail

/// The value of a constant in the same graph.
constexpr Value constant_like(Value x, float value) { return {x.builder, x.builder->constant(value)}; }

constexpr Value reshape(Value x, Dims const& shape) {
    if (x.shape() == shape) return x;
    Node node{.op = &reshape_op};
    node.input[0] = x.id;
    node.shape = shape;
    node.batched = x.node().batched;
    node.dtype = x.node().dtype;
    return {x.builder, x.builder->add(node)};
}

// --- operators; each drops what changes nothing. x * 0 stays: it is NaN where x is NaN or infinite.

constexpr Value operator+(Value a, Value b) {
    if (detail::is_constant(a, 0)) return b;
    if (detail::is_constant(b, 0)) return a;
    return detail::append(Fn::add, a, b);
}
constexpr Value operator-(Value a) {
    if (a.node().is(constant_op)) return constant_like(a, -a.node().value);
    return detail::append(Fn::neg, a);
}
constexpr Value operator-(Value a, Value b) {
    if (detail::is_constant(b, 0)) return a;
    return detail::append(Fn::sub, a, b);
}
constexpr Value operator*(Value a, Value b) {
    if (detail::is_constant(a, 1)) return b;
    if (detail::is_constant(b, 1)) return a;
    if (a.node().is(constant_op) && b.node().is(constant_op)) return constant_like(a, a.node().value * b.node().value);
    return detail::append(Fn::mul, a, b);
}
constexpr Value operator/(Value a, Value b) {
    if (detail::is_constant(b, 1)) return a;
    return detail::append(Fn::div, a, b);
}

#define TENON_VALUE_BINARY(symbol)                                                                                              \
    constexpr Value operator symbol(Value a, float b) { return a symbol constant_like(a, b); }                                  \
    constexpr Value operator symbol(float a, Value b) { return constant_like(b, a) symbol b; }
TENON_VALUE_BINARY(+)
TENON_VALUE_BINARY(-)
TENON_VALUE_BINARY(*)
TENON_VALUE_BINARY(/)
#undef TENON_VALUE_BINARY

#define TENON_VALUE_COMPARISON(symbol, fn, first, second)                                                                       \
    constexpr Value operator symbol(Value a, Value b) { return detail::append(fn, first, second); }                             \
    constexpr Value operator symbol(Value a, float b) { return a symbol constant_like(a, b); }                                  \
    constexpr Value operator symbol(float a, Value b) { return constant_like(b, a) symbol b; }
TENON_VALUE_COMPARISON(<, Fn::less, a, b)
TENON_VALUE_COMPARISON(>, Fn::less, b, a)
TENON_VALUE_COMPARISON(<=, Fn::less_equal, a, b)
TENON_VALUE_COMPARISON(>=, Fn::less_equal, b, a)
TENON_VALUE_COMPARISON(==, Fn::equal, a, b)
TENON_VALUE_COMPARISON(!=, Fn::not_equal, a, b)
#undef TENON_VALUE_COMPARISON

#define TENON_VALUE_UNARY(name, fn)                                                                                             \
    constexpr Value name(Value x) { return detail::append(fn, x); }
TENON_VALUE_UNARY(abs, Fn::abs)
TENON_VALUE_UNARY(sign, Fn::sign)
TENON_VALUE_UNARY(floor, Fn::floor)
TENON_VALUE_UNARY(ceil, Fn::ceil)
TENON_VALUE_UNARY(round, Fn::round)
TENON_VALUE_UNARY(sqrt, Fn::sqrt)
TENON_VALUE_UNARY(exp, Fn::exp)
TENON_VALUE_UNARY(expm1, Fn::expm1)
TENON_VALUE_UNARY(log, Fn::log)
TENON_VALUE_UNARY(log1p, Fn::log1p)
TENON_VALUE_UNARY(sin, Fn::sin)
TENON_VALUE_UNARY(cos, Fn::cos)
TENON_VALUE_UNARY(tanh, Fn::tanh)
TENON_VALUE_UNARY(erf, Fn::erf)
TENON_VALUE_UNARY(sigmoid, Fn::sigmoid)
TENON_VALUE_UNARY(relu, Fn::relu)
TENON_VALUE_UNARY(isnan, Fn::is_nan)
#undef TENON_VALUE_UNARY

constexpr Value pow(Value a, Value b) { return detail::append(Fn::pow, a, b); }
constexpr Value pow(Value a, float b) { return pow(a, constant_like(a, b)); }
constexpr Value(min)(Value a, Value b) { return detail::append(Fn::min, a, b); }
constexpr Value(min)(Value a, float b) { return (min)(a, constant_like(a, b)); }
constexpr Value(max)(Value a, Value b) { return detail::append(Fn::max, a, b); }
constexpr Value(max)(Value a, float b) { return (max)(a, constant_like(a, b)); }
constexpr Value select(Value condition, Value a, Value b) { return detail::append(Fn::select, condition, a, b); }
constexpr Value select(Value condition, Value a, float b) { return select(condition, a, constant_like(a, b)); }
constexpr Value select(Value condition, float a, Value b) { return select(condition, constant_like(b, a), b); }
constexpr Value select(Value condition, float a, float b) {
    return select(condition, constant_like(condition, a), constant_like(condition, b));
}

/// A uniform random number in [0, 1) for each element of a batched tensor of this shape, from a stream of its own.
constexpr Value uniform_random(Builder& b, Dims const& shape) {
    Node node{.op = &pointwise_op};
    node.attribute[0] = static_cast<int>(Fn::random);
    node.input[0] = b.random_source();
    node.shape = shape;
    node.batched = true;
    return {&b, b.add(node)};
}

/// The sum over the batch (if `x` is batched and `batched` is not) and over every axis in which `shape` has extent 1 or none.
constexpr Value sum_to(Value x, Dims const& shape, bool batched) {
    if (x.shape() == shape && x.node().batched == batched) return x;
    bool const sums_planes = x.node().batched && !batched && (shape.rank == 0 || shape.count() == shape[0]);
    if (x.node().op->preserves_sums && sums_planes && shape.rank == x.shape().rank) return sum_to({x.builder, x.node().input[0]}, shape, batched);
    Node node{.op = &sum_to_op};
    node.input[0] = x.id;
    node.shape = shape;
    node.batched = batched;
    return {x.builder, x.builder->add(node)};
}

/// `x` stretched to a shape that it broadcasts to, for operations that do not broadcast by themselves.
constexpr Value broadcast_to(Value x, Dims const& shape, bool batched) {
    if (x.shape() == shape && x.node().batched == batched) return x;
    Node node{.op = &pointwise_op};
    node.attribute[0] = static_cast<int>(Fn::add);
    node.input[0] = x.id;
    node.input[1] = x.builder->constant(0);
    node.shape = shape;
    node.batched = batched;
    return {x.builder, x.builder->add(node)};
}

/// Writes `value` over `target` (a parameter or state) at the end of the stage that computes it.
constexpr void assign(Value target, Value value) {
    Node node{.op = &assign_op};
    node.input[0] = target.id;
    node.input[1] = value.id;
    node.shape = target.shape();
    target.builder->add(node);
}

} // namespace tenon::graph

#include <tenon/graph/differentiate.hpp> // defines the rules that the operations above name
