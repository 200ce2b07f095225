/// @file
/// How weights begin. The default is PyTorch's: uniform within 1 / sqrt(fan_in), for weights and biases.
#pragma once

#include <tenon/graph/builder.hpp>

namespace tenon {

namespace detail {

/// sqrt for constant evaluation, by Newton's method; x >= 0.
[[nodiscard]] constexpr double square_root(double x) {
    if (x <= 0) return 0;
    double y = x < 1 ? 1 : x;
    for (int i = 0; i < 200; ++i) {
        double const next = 0.5 * (y + x / y);
        if (next >= y) break; // from above the sequence falls until it has converged
        y = next;
    }
    return y;
}

} // namespace detail

/// A rule for initial values; a layer's option `.weight_init` or `.bias_init`.
struct Init {
    enum class Rule : std::uint8_t { standard, he_normal, he_uniform, xavier_normal, xavier_uniform, normal, uniform, constant };

    Rule rule = Rule::standard;
    float value = 0; ///< standard deviation of `normal`, bound of `uniform`, or the constant

    [[nodiscard]] constexpr graph::Distribution distribution() const {
        switch (rule) {
        case Rule::he_normal:
        case Rule::xavier_normal:
        case Rule::normal: return graph::Distribution::normal;
        case Rule::constant: return graph::Distribution::constant;
        default: return graph::Distribution::uniform;
        }
    }

    /// Bound, standard deviation or constant for a parameter with this many inputs and outputs per unit.
    [[nodiscard]] constexpr float scale(index_t fan_in, index_t fan_out) const {
        auto const in = static_cast<double>(fan_in < 1 ? 1 : fan_in), out = static_cast<double>(fan_out < 1 ? 1 : fan_out);
        switch (rule) {
        case Rule::standard: return static_cast<float>(1 / detail::square_root(in));
        case Rule::he_normal: return static_cast<float>(detail::square_root(2 / in));
        case Rule::he_uniform: return static_cast<float>(detail::square_root(6 / in));
        case Rule::xavier_normal: return static_cast<float>(detail::square_root(2 / (in + out)));
        case Rule::xavier_uniform: return static_cast<float>(detail::square_root(6 / (in + out)));
        default: return value;
        }
    }

    constexpr bool operator==(Init const&) const = default;
};

/// Ready-made rules: `Conv2d{.out = 20, .kernel = 5, .weight_init = init::he_normal}`.
namespace init {

/// PyTorch's default for Conv2d and Linear: uniform within 1 / sqrt(fan_in).
inline constexpr Init standard{};
/// Standard deviation sqrt(2 / fan_in), for ReLU networks (He et al. 2015, https://arxiv.org/abs/1502.01852).
inline constexpr Init he_normal{Init::Rule::he_normal};
/// Uniform within sqrt(6 / fan_in).
inline constexpr Init he_uniform{Init::Rule::he_uniform};
/// Standard deviation sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010).
inline constexpr Init xavier_normal{Init::Rule::xavier_normal};
/// Uniform within sqrt(6 / (fan_in + fan_out)).
inline constexpr Init xavier_uniform{Init::Rule::xavier_uniform};
/// Normal with mean 0 and this standard deviation.
[[nodiscard]] constexpr Init normal(float standard_deviation) { return {Init::Rule::normal, standard_deviation}; }
/// Uniform within [-bound, bound).
[[nodiscard]] constexpr Init uniform(float bound) { return {Init::Rule::uniform, bound}; }
/// Every element the same.
[[nodiscard]] constexpr Init constant(float value) { return {Init::Rule::constant, value}; }

} // namespace init

} // namespace tenon
