/// @file
/// The operators and elementary functions of expressions, as a user writes them: on tensors, views, expressions and
/// numbers beside them; and on the values of a functor that is being traced. All are found by argument-dependent
/// lookup.
#pragma once

#include <tenon/expr/pointwise.hpp>
#include <tenon/expr/traced.hpp>

namespace tenon {

// --- two operands. Comparisons and logic give truth values (element type bool). Written one by one, not by a macro:
// the compiler's message about shapes would show the macro as well. A name in parentheses is safe from a macro of that
// name.

template <class A, class B>
    requires are_operands<A, B>
constexpr auto operator+(A&& a, B&& b) {
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::binary_of<Fn::add>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, class B>
    requires are_operands<A, B>
constexpr auto operator-(A&& a, B&& b) {
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::binary_of<Fn::sub>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, class B>
    requires are_operands<A, B>
constexpr auto operator*(A&& a, B&& b) {
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::binary_of<Fn::mul>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// Of whole numbers: a fraction, as in PyTorch.
template <class A, class B>
    requires are_operands<A, B>
constexpr auto operator/(A&& a, B&& b) {
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::binary_of<Fn::div>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, class B>
    requires are_operands<A, B>
constexpr auto operator<(A&& a, B&& b) {
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::binary_of<Fn::less>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, class B>
    requires are_operands<A, B>
constexpr auto operator>(A&& a, B&& b) {
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::binary_of<Fn::less>(static_cast<B&&>(b), static_cast<A&&>(a));
}
template <class A, class B>
    requires are_operands<A, B>
constexpr auto operator<=(A&& a, B&& b) {
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::binary_of<Fn::less_equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, class B>
    requires are_operands<A, B>
constexpr auto operator>=(A&& a, B&& b) {
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::binary_of<Fn::less_equal>(static_cast<B&&>(b), static_cast<A&&>(a));
}
template <class A, class B>
    requires are_operands<A, B>
constexpr auto operator==(A&& a, B&& b) {
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::binary_of<Fn::equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
template <class A, class B>
    requires are_operands<A, B>
constexpr auto operator!=(A&& a, B&& b) {
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::binary_of<Fn::not_equal>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// Evaluates both sides.
template <class A, class B>
    requires are_operands<A, B>
constexpr auto operator&&(A&& a, B&& b) {
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::binary_of<Fn::logical_and>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// Evaluates both sides.
template <class A, class B>
    requires are_operands<A, B>
constexpr auto operator||(A&& a, B&& b) {
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::binary_of<Fn::logical_or>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// a^b by C's rules.
template <class A, class B>
    requires are_operands<A, B>
constexpr auto pow(A&& a, B&& b) {
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::binary_of<Fn::pow>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// The larger one; NaN where either is NaN, as in PyTorch.
template <class A, class B>
    requires are_operands<A, B>
constexpr auto(max)(A&& a, B&& b) {
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::binary_of<Fn::max>(static_cast<A&&>(a), static_cast<B&&>(b));
}
/// The smaller one; NaN where either is NaN.
template <class A, class B>
    requires are_operands<A, B>
constexpr auto(min)(A&& a, B&& b) {
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::binary_of<Fn::min>(static_cast<A&&>(a), static_cast<B&&>(b));
}

// --- one operand

#define TENON_UNARY(name, fn)                                                                                          \
    template <TensorLike A>                                                                                            \
    constexpr auto(name)(A && a) {                                                                                     \
        return expr::unary_of<fn>(static_cast<A&&>(a));                                                                \
    }
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
    using Outer = expr::Fit<expr::node_t<A>, expr::BinaryFacts<Fn::add, expr::node_t<B>, expr::node_t<C>>>;
    if constexpr (!expr::fit<B, C>) require_broadcast<expr::left_shape<B, C>, expr::right_shape<B, C>>();
    if constexpr (!Outer::fits) require_broadcast<typename Outer::Left, typename Outer::Right>();
    return expr::ternary_of<Fn::select>(static_cast<A&&>(a), static_cast<B&&>(b), static_cast<C&&>(c));
}
/// a * b + c
template <class A, class B, class C>
    requires are_operands<A, B, C>
constexpr auto fma(A&& a, B&& b, C&& c) {
    using Outer = expr::Fit<expr::node_t<A>, expr::BinaryFacts<Fn::add, expr::node_t<B>, expr::node_t<C>>>;
    if constexpr (!expr::fit<B, C>) require_broadcast<expr::left_shape<B, C>, expr::right_shape<B, C>>();
    if constexpr (!Outer::fits) require_broadcast<typename Outer::Left, typename Outer::Right>();
    return expr::ternary_of<Fn::fma>(static_cast<A&&>(a), static_cast<B&&>(b), static_cast<C&&>(c));
}

} // namespace tenon
