/// @file
/// The operators and elementary functions of expressions, as a user writes them: on tensors, views, expressions and numbers
/// beside them; and on the values of a functor that is being traced. All are found by argument-dependent lookup.
#pragma once

#include <tenon/expr/pointwise.hpp>
#include <tenon/expr/traced.hpp>

namespace tenon {

// --- operators. Comparisons and logic give truth values (element type bool); && and || evaluate both sides.

#define TENON_BINARY(name, fn, first, second)                                                                                  \
    template <class A, class B>                                                                                                \
        requires are_operands<A, B>                                                                                            \
    constexpr auto(name)(A && a, B && b) {                                                                                     \
        using Fit = expr::Fit<expr::node_t<A>, expr::node_t<B>>;                                                               \
        if constexpr (!Fit::fits) require_broadcast<typename Fit::Left, typename Fit::Right>();                                \
        return expr::binary_of<fn>(static_cast<decltype(first)&&>(first), static_cast<decltype(second)&&>(second));            \
    }                                                                                                                          \
    template <class A, class B>                                                                                                \
        requires expr::Tracing<A, B>                                                                                           \
    constexpr Traced(name)(A const& a, B const& b) {                                                                           \
        return expr::trace<fn>(first, second);                                                                                 \
    }
TENON_BINARY(operator+, Fn::add, a, b)
TENON_BINARY(operator-, Fn::sub, a, b)
TENON_BINARY(operator*, Fn::mul, a, b)
TENON_BINARY(operator/, Fn::div, a, b)
TENON_BINARY(operator<, Fn::less, a, b)
TENON_BINARY(operator>, Fn::less, b, a)
TENON_BINARY(operator<=, Fn::less_equal, a, b)
TENON_BINARY(operator>=, Fn::less_equal, b, a)
TENON_BINARY(operator==, Fn::equal, a, b)
TENON_BINARY(operator!=, Fn::not_equal, a, b)
TENON_BINARY(operator&&, Fn::logical_and, a, b)
TENON_BINARY(operator||, Fn::logical_or, a, b)
TENON_BINARY(pow, Fn::pow, a, b) ///< a^b by C's rules
TENON_BINARY(max, Fn::max, a, b) ///< the larger one; NaN where either is NaN, as in PyTorch
TENON_BINARY(min, Fn::min, a, b) ///< the smaller one; NaN where either is NaN
#undef TENON_BINARY

#define TENON_UNARY(name, fn)                                                                                                  \
    template <TensorLike A>                                                                                                    \
    constexpr auto(name)(A && a) {                                                                                             \
        return expr::unary_of<fn>(static_cast<A&&>(a));                                                                        \
    }                                                                                                                          \
    constexpr Traced(name)(Traced const& a) { return expr::trace<fn>(a); }
TENON_UNARY(operator-, Fn::neg)
TENON_UNARY(operator!, Fn::logical_not)
TENON_UNARY(abs, Fn::abs)
TENON_UNARY(sign, Fn::sign) ///< -1, 0 or 1; NaN of NaN
TENON_UNARY(floor, Fn::floor)
TENON_UNARY(ceil, Fn::ceil)
TENON_UNARY(round, Fn::round) ///< to the nearest integer, ties to even
TENON_UNARY(sqrt, Fn::sqrt)
TENON_UNARY(exp, Fn::exp)
TENON_UNARY(expm1, Fn::expm1)
TENON_UNARY(log, Fn::log)
TENON_UNARY(log1p, Fn::log1p)
TENON_UNARY(sin, Fn::sin)
TENON_UNARY(cos, Fn::cos)
TENON_UNARY(tanh, Fn::tanh)
TENON_UNARY(erf, Fn::erf)
TENON_UNARY(sigmoid, Fn::sigmoid)
TENON_UNARY(relu, Fn::relu) ///< 0 where x < 0, else x: NaN stays
TENON_UNARY(is_nan, Fn::is_nan)
#undef TENON_UNARY

/// b where a is true (or not zero), else c.
template <class A, class B, class C>
    requires are_operands<A, B, C>
constexpr auto select(A&& a, B&& b, C&& c) {
    using Inner = expr::Fit<expr::node_t<B>, expr::node_t<C>>;
    using Outer = expr::Fit<expr::node_t<A>, expr::BinaryFacts<Fn::add, expr::node_t<B>, expr::node_t<C>>>;
    if constexpr (!Inner::fits) require_broadcast<typename Inner::Left, typename Inner::Right>();
    if constexpr (!Outer::fits) require_broadcast<typename Outer::Left, typename Outer::Right>();
    return expr::ternary_of<Fn::select>(static_cast<A&&>(a), static_cast<B&&>(b), static_cast<C&&>(c));
}
/// a * b + c
template <class A, class B, class C>
    requires are_operands<A, B, C>
constexpr auto fma(A&& a, B&& b, C&& c) {
    using Inner = expr::Fit<expr::node_t<B>, expr::node_t<C>>;
    using Outer = expr::Fit<expr::node_t<A>, expr::BinaryFacts<Fn::add, expr::node_t<B>, expr::node_t<C>>>;
    if constexpr (!Inner::fits) require_broadcast<typename Inner::Left, typename Inner::Right>();
    if constexpr (!Outer::fits) require_broadcast<typename Outer::Left, typename Outer::Right>();
    return expr::ternary_of<Fn::fma>(static_cast<A&&>(a), static_cast<B&&>(b), static_cast<C&&>(c));
}
template <class A, class B, class C>
    requires expr::Tracing<A, B, C>
constexpr Traced select(A const& a, B const& b, C const& c) {
    return expr::trace<Fn::select>(a, b, c);
}
template <class A, class B, class C>
    requires expr::Tracing<A, B, C>
constexpr Traced fma(A const& a, B const& b, C const& c) {
    return expr::trace<Fn::fma>(a, b, c);
}

} // namespace tenon
