/// @file
/// A user's pointwise functor is traced by calling it with a `Traced`: what it computes becomes steps of the program,
/// each value once, however often the functor mentions it.
#pragma once

#include <tenon/expr/typing.hpp>

#include <type_traits>

namespace tenon {

/// A value that is being computed with while a program is written. In namespace tenon, so that a functor in any
/// namespace finds tenon's functions by argument-dependent lookup.
struct Traced {
    expr::Sketch* sketch = nullptr;
    int id = -1;
    expr::Typed typed;
    static constexpr bool takes_double = true; ///< constants may be doubles: see derived::number
};

namespace expr {

template <class T>
inline constexpr bool is_traced = std::is_same_v<std::remove_cvref_t<T>, Traced>;

/// Operands of a traced operation: at least one is traced, the others are numbers.
template <class... T>
concept Tracing = (is_traced<T> || ...) && ((is_traced<T> || std::is_arithmetic_v<std::remove_cvref_t<T>>) && ...);

constexpr Sketch* sketch_of(Traced const& t) { return t.sketch; }
template <class T>
constexpr Sketch* sketch_of(T) {
    return nullptr;
}
constexpr Traced traced(Sketch*, Traced const& t) { return t; }
template <class T>
constexpr Traced traced(Sketch* sketch, T number) {
    DType const type = std::is_same_v<T, bool>       ? DType::boolean
                       : std::is_floating_point_v<T> ? DType::float64
                                                     : DType::int64;
    return {sketch, sketch->number(static_cast<double>(number)), {type, true}};
}

template <Fn F>
constexpr Traced trace(Traced const& a) {
    return {a.sketch, a.sketch->apply(F, a.id), expr::typed(F, a.typed)};
}
template <Fn F, class A, class B>
constexpr Traced trace(A const& a, B const& b) {
    Sketch* const sketch = sketch_of(a) != nullptr ? sketch_of(a) : sketch_of(b);
    Traced const x = traced(sketch, a), y = traced(sketch, b);
    return {sketch, sketch->apply(F, x.id, y.id), expr::typed(F, promote(x.typed, y.typed))};
}
template <Fn F, class A, class B, class C>
constexpr Traced trace(A const& a, B const& b, C const& c) {
    Sketch* const sketch = sketch_of(a) != nullptr   ? sketch_of(a)
                           : sketch_of(b) != nullptr ? sketch_of(b)
                                                     : sketch_of(c);
    Traced const x = traced(sketch, a), y = traced(sketch, b), z = traced(sketch, c);
    Typed const rest = promote(y.typed, z.typed);
    return {sketch, sketch->apply(F, x.id, y.id, z.id),
            expr::typed(F, F == Fn::select ? chosen(x.typed, rest) : promote(x.typed, rest))};
}

} // namespace expr

// --- the operators and functions of a traced value, as expressions have them (expr/operators.hpp)

#define TENON_TRACED(name, fn, first, second)                                                                          \
    template <class A, class B>                                                                                        \
        requires expr::Tracing<A, B>                                                                                   \
    constexpr Traced(name)(A const& a, B const& b) {                                                                   \
        return expr::trace<fn>(first, second);                                                                         \
    }
TENON_TRACED(operator+, Fn::add, a, b)
TENON_TRACED(operator-, Fn::sub, a, b)
TENON_TRACED(operator*, Fn::mul, a, b)
TENON_TRACED(operator/, Fn::div, a, b)
TENON_TRACED(operator<, Fn::less, a, b)
TENON_TRACED(operator>, Fn::less, b, a)
TENON_TRACED(operator<=, Fn::less_equal, a, b)
TENON_TRACED(operator>=, Fn::less_equal, b, a)
TENON_TRACED(operator==, Fn::equal, a, b)
TENON_TRACED(operator!=, Fn::not_equal, a, b)
TENON_TRACED(operator&&, Fn::logical_and, a, b)
TENON_TRACED(operator||, Fn::logical_or, a, b)
TENON_TRACED(pow, Fn::pow, a, b)
TENON_TRACED(max, Fn::max, a, b)
TENON_TRACED(min, Fn::min, a, b)
#undef TENON_TRACED

#define TENON_TRACED(name, fn)                                                                                         \
    constexpr Traced name(Traced const& a) { return expr::trace<fn>(a); }
TENON_TRACED(operator-, Fn::neg)
TENON_TRACED(operator!, Fn::logical_not)
TENON_TRACED(abs, Fn::abs)
TENON_TRACED(sign, Fn::sign)
TENON_TRACED(floor, Fn::floor)
TENON_TRACED(ceil, Fn::ceil)
TENON_TRACED(round, Fn::round)
TENON_TRACED(sqrt, Fn::sqrt)
TENON_TRACED(exp, Fn::exp)
TENON_TRACED(expm1, Fn::expm1)
TENON_TRACED(log, Fn::log)
TENON_TRACED(log1p, Fn::log1p)
TENON_TRACED(sin, Fn::sin)
TENON_TRACED(cos, Fn::cos)
TENON_TRACED(tanh, Fn::tanh)
TENON_TRACED(erf, Fn::erf)
TENON_TRACED(sigmoid, Fn::sigmoid)
TENON_TRACED(relu, Fn::relu)
TENON_TRACED(is_nan, Fn::is_nan)
#undef TENON_TRACED

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
