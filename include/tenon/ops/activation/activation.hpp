/// @file
/// Elementwise layers. Each is one line over `graph::Value`; its derivative comes from the graph and it fuses into its
/// neighbours, as a user's own `Pointwise<F>` does.
#pragma once

#include <tenon/graph/pointwise.hpp>

namespace tenon {

/// max(x, 0); NaN stays NaN, the derivative at 0 is 0.
struct ReLU {
    static constexpr char const* name = "ReLU";
    constexpr graph::Value write(graph::Builder&, graph::Value x) const { return relu(x); }
};

/// Hyperbolic tangent.
struct Tanh {
    static constexpr char const* name = "Tanh";
    constexpr graph::Value write(graph::Builder&, graph::Value x) const { return tanh(x); }
};

/// 1 / (1 + exp(-x))
struct Sigmoid {
    static constexpr char const* name = "Sigmoid";
    constexpr graph::Value write(graph::Builder&, graph::Value x) const { return sigmoid(x); }
};

/// x * sigmoid(x), also called swish.
struct SiLU {
    static constexpr char const* name = "SiLU";
    constexpr graph::Value write(graph::Builder&, graph::Value x) const { return x * sigmoid(x); }
};

/// x * Phi(x) (Hendrycks and Gimpel 2016, https://arxiv.org/abs/1606.08415): exactly by erf, or by the tanh formula that GPT-2 uses.
struct GELU {
    enum class Form : std::uint8_t { erf, tanh };
    Form approximate = Form::erf;

    static constexpr char const* name = "GELU";
    constexpr graph::Value write(graph::Builder&, graph::Value x) const {
        constexpr float sqrt_half = 0.70710678118654752440f, sqrt_two_over_pi = 0.79788456080286535588f;
        if (approximate == Form::erf) return 0.5f * x * (1.0f + erf(sqrt_half * x));
        return 0.5f * x * (1.0f + tanh(sqrt_two_over_pi * (x + 0.044715f * (x * x * x))));
    }
};

/// x where x > 0, slope * x elsewhere.
struct LeakyReLU {
    float slope = 0.01f;

    static constexpr char const* name = "LeakyReLU";
    constexpr graph::Value write(graph::Builder&, graph::Value x) const { return select(x > 0.0f, x, slope * x); }
};

/// A layer from a functor on a scalar: `struct Mish { constexpr auto operator()(auto x) const { return x * tanh(log1p(exp(x))); } };`
/// then `Pointwise<Mish>{}`. The functor is traced once, at compile time, with a `graph::Value`: it uses operators, the
/// elementary functions and `select(condition, a, b)`, and never runs on a device itself.
template <class F>
struct Pointwise {
    static constexpr char const* name = "Pointwise";
    constexpr graph::Value write(graph::Builder&, graph::Value x) const { return F{}(x); }
};

} // namespace tenon
