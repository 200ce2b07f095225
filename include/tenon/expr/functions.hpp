/// @file
/// The table of elementary functions: what each Fn makes of its arguments, for scalars (host and device) and SIMD
/// vectors (host). A new function is one line here, one in Fn (expr/instruction.hpp) and one derivative rule in the
/// graph.
#pragma once

#include <tenon/core/math.hpp>
#include <tenon/expr/instruction.hpp>

namespace tenon {

/// Whether a function's result is a truth value: kept as bool or as a vector mask for as long as nobody wants a number.
[[nodiscard]] constexpr bool gives_mask(Fn fn) {
    return fn == Fn::is_nan || fn == Fn::logical_not || (fn >= Fn::less && fn <= Fn::logical_or);
}

/// Whether a function takes its argument number `argument` as a truth value.
[[nodiscard]] constexpr bool takes_mask(Fn fn, int argument) {
    return fn == Fn::logical_not || fn == Fn::logical_and || fn == Fn::logical_or ||
           (fn == Fn::select && argument == 0);
}

/// What `V` looks like as the result of F.
template <Fn F, class V>
using result_t = std::conditional_t<gives_mask(F), mask_t<V>, V>;

// nvcc lets no function be both __device__ and fit for vectors, so one table becomes two functions. `one` and `zero`
// are of type V. Where an argument may be NaN, the comparisons are written so that it stays: relu, sign, min and max as
// PyTorch has them.
#define TENON_FUNCTION_TABLE                                                                                           \
    if constexpr (F == Fn::neg) return -a;                                                                             \
    else if constexpr (F == Fn::abs) return a < zero ? -a : a + zero; /* -0 + 0 = 0 */                                 \
    else if constexpr (F == Fn::sign) return a > zero ? one : (a < zero ? -one : a);                                   \
    else if constexpr (F == Fn::floor) return math::floor(a);                                                          \
    else if constexpr (F == Fn::ceil) return math::ceil(a);                                                            \
    else if constexpr (F == Fn::round) return math::round(a);                                                          \
    else if constexpr (F == Fn::sqrt) return math::sqrt(a);                                                            \
    else if constexpr (F == Fn::exp) return math::exp(a);                                                              \
    else if constexpr (F == Fn::expm1) return math::expm1(a);                                                          \
    else if constexpr (F == Fn::log) return math::log(a);                                                              \
    else if constexpr (F == Fn::log1p) return math::log1p(a);                                                          \
    else if constexpr (F == Fn::sin) return math::sin(a);                                                              \
    else if constexpr (F == Fn::cos) return math::cos(a);                                                              \
    else if constexpr (F == Fn::tanh) return math::tanh(a);                                                            \
    else if constexpr (F == Fn::erf) return math::erf(a);                                                              \
    else if constexpr (F == Fn::sigmoid) return math::sigmoid(a);                                                      \
    else if constexpr (F == Fn::relu) return a < zero ? zero : a;                                                      \
    else if constexpr (F == Fn::is_nan) return a != a;                                                                 \
    else if constexpr (F == Fn::logical_not) return a == decltype(a){};                                                \
    else if constexpr (F == Fn::add) return a + b;                                                                     \
    else if constexpr (F == Fn::sub) return a - b;                                                                     \
    else if constexpr (F == Fn::mul) return a * b;                                                                     \
    else if constexpr (F == Fn::div) return a / b;                                                                     \
    else if constexpr (F == Fn::pow) return math::pow(a, b);                                                           \
    else if constexpr (F == Fn::min) return a < b ? a : (a != a ? a : b);                                              \
    else if constexpr (F == Fn::max) return a > b ? a : (a != a ? a : b);                                              \
    else if constexpr (F == Fn::less) return a < b;                                                                    \
    else if constexpr (F == Fn::less_equal) return a <= b;                                                             \
    else if constexpr (F == Fn::equal) return a == b;                                                                  \
    else if constexpr (F == Fn::not_equal) return a != b;                                                              \
    else if constexpr (F == Fn::logical_and) return a & b;                                                             \
    else if constexpr (F == Fn::logical_or) return a | b;                                                              \
    else if constexpr (F == Fn::select) return a ? b : c;                                                              \
    else if constexpr (F == Fn::fma) return a * b + c;

/// F of scalars. Arguments that F does not take are ignored; those that takes_mask names are bool, the others V.
template <Fn F, class V, class A, class B, class C>
TENON_HOST_DEVICE inline result_t<F, V> evaluate_scalar(A a, [[maybe_unused]] B b, [[maybe_unused]] C c) {
    [[maybe_unused]] constexpr V zero{}, one{1};
    TENON_FUNCTION_TABLE
}

/// F of scalars or vectors, on the host. V is the type of a value; masks are mask_t<V>.
template <Fn F, class V, class A, class B, class C>
TENON_ALWAYS_INLINE result_t<F, V> evaluate(A a, [[maybe_unused]] B b, [[maybe_unused]] C c) {
    [[maybe_unused]] V const zero{}, one = math::all<V>(1);
    TENON_FUNCTION_TABLE
}
#undef TENON_FUNCTION_TABLE

} // namespace tenon
