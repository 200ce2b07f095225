/// @file
/// Functions that are made of the elementary ones: templates over anything that has those, by argument-dependent lookup
/// or as a number. Tensors and expressions, values of a graph that is being written and plain floats all go through
/// these lines.
#pragma once

#include <tenon/core/math.hpp>
#include <tenon/core/tensor_like.hpp>

namespace tenon {
namespace derived {

// The elementary functions of plain numbers; every other type brings its own. In a namespace of their own:
// argument-dependent lookup of a functor's namespace must not find them.
namespace numbers {
using math::erf;
using math::exp;
using math::expm1;
using math::log;
using math::log1p;
using math::sigmoid;
using math::sqrt;
using math::tanh;
template <NumberLike X>
constexpr X abs(X x) {
    return x < 0 ? -x : x;
}
template <NumberLike X>
constexpr X relu(X x) {
    return x < 0 ? X{} : x;
}
} // namespace numbers

/// A constant for computing with X: in double precision where X may have it.
template <class X>
[[nodiscard]] constexpr auto number(double value) {
    if constexpr (std::is_same_v<X, double> || requires { X::takes_double; }) return value;
    else return static_cast<float>(value);
}

struct Square {
    template <class X>
    constexpr auto operator()(X const& x) const {
        return x * x;
    }
};
struct Softplus {
    template <class X>
    constexpr auto operator()(X const& x) const {
        using numbers::abs, numbers::exp, numbers::log1p, numbers::relu;
        return relu(x) + log1p(exp(-abs(x))); // log(1 + exp(x)) without overflow; relu(x) is the max of x and 0
    }
};
struct Silu {
    template <class X>
    constexpr auto operator()(X const& x) const {
        using numbers::sigmoid;
        return x * sigmoid(x);
    }
};
struct Gelu {
    template <class X>
    constexpr auto operator()(X const& x) const {
        using numbers::erf;
        return 0.5f * x * (1.0f + erf(x * number<X>(0.70710678118654752440)));
    }
};
struct GeluTanh {
    template <class X>
    constexpr auto operator()(X const& x) const {
        using numbers::tanh;
        return 0.5f * x * (1.0f + tanh(number<X>(0.79788456080286535588) * (x + number<X>(0.044715) * (x * x * x))));
    }
};
struct LogSigmoid {
    template <class X>
    constexpr auto operator()(X const& x) const {
        using numbers::abs, numbers::exp, numbers::log1p, numbers::relu;
        return -(relu(-x) + log1p(exp(-abs(x))));
    }
};

/// F of x: traced into one node where x is a tensor or an expression, so that an operand mentioned twice is evaluated
/// once.
template <class F, class X>
constexpr auto apply(X&& x) {
    if constexpr (TensorLike<X>) return map(F{}, static_cast<X&&>(x));
    else return F{}(x);
}

} // namespace derived

/// x * x
template <class X>
constexpr auto square(X&& x) {
    return derived::apply<derived::Square>(static_cast<X&&>(x));
}
/// log(1 + exp(x)), without overflow
template <class X>
constexpr auto softplus(X&& x) {
    return derived::apply<derived::Softplus>(static_cast<X&&>(x));
}
/// x * sigmoid(x), also called swish
template <class X>
constexpr auto silu(X&& x) {
    return derived::apply<derived::Silu>(static_cast<X&&>(x));
}
/// x * Phi(x), by erf (Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415)
template <class X>
constexpr auto gelu(X&& x) {
    return derived::apply<derived::Gelu>(static_cast<X&&>(x));
}
/// The same paper's approximation by tanh
template <class X>
constexpr auto gelu_tanh(X&& x) {
    return derived::apply<derived::GeluTanh>(static_cast<X&&>(x));
}
/// log(sigmoid(x)), without overflow
template <class X>
constexpr auto log_sigmoid(X&& x) {
    return derived::apply<derived::LogSigmoid>(static_cast<X&&>(x));
}
/// low where x < low, high where x > high, else x; NaN stays
template <class X, class Low, class High>
constexpr auto clamp(X const& x, Low const& low, High const& high) {
    if constexpr (TensorLike<X>) return min<>(max<>(x, low), high); // the <> keeps a macro of that name away
    else if constexpr (NumberLike<X>) return x < low ? low : x > high ? high : x;
    else return select(x < low, low, select(x > high, high, x));
}

} // namespace tenon
