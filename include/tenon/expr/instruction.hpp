/// @file
/// The scalar program: what every pointwise computation in tenon becomes, whether it was written as an expression over
/// tensors, as a user's functor or as an optimiser. One list of elementary functions serves the graph (which simplifies and
/// differentiates it), the CPU (which evaluates it on vectors) and CUDA (which evaluates it in registers).
#pragma once

#include <tenon/core/config.hpp>

#include <bit>

namespace tenon {

/// The elementary functions of one element. Comparisons and logic give 1 or 0.
enum class Fn : std::uint8_t {
    load,     ///< operand `payload` at this element
    store,    ///< writes value a to operand `payload` at this element
    constant, ///< the float whose bits are `payload`
    index,    ///< this element's linear index, by the strides of operand `payload`
    random,   ///< uniform in [0, 1): Philox at this element's linear index, by the strides of operand `payload`
    // unary
    neg, abs, sign, floor, ceil, round, sqrt, exp, expm1, log, log1p, sin, cos, tanh, erf, sigmoid, relu, is_nan, logical_not,
    // binary
    add, sub, mul, div, pow, min, max, less, less_equal, equal, not_equal, logical_and, logical_or,
    // ternary
    select, ///< a != 0 ? b : c
    fma,    ///< a * b + c
};

/// How many values a function takes.
[[nodiscard]] constexpr int arity(Fn fn) {
    if (fn <= Fn::random && fn != Fn::store) return 0;
    if (fn == Fn::store || (fn >= Fn::neg && fn <= Fn::logical_not)) return 1;
    return fn >= Fn::select ? 3 : 2;
}

/// One step of a program. Arguments a, b, c are numbers of earlier steps.
struct Instruction {
    Fn fn = Fn::constant;
    std::uint8_t a = 0, b = 0, c = 0;
    std::uint32_t payload = 0;

    [[nodiscard]] constexpr float value() const { return std::bit_cast<float>(payload); }
    [[nodiscard]] constexpr int operand() const { return static_cast<int>(payload); }

    /// The form in which a program travels through template arguments: integers pass through nvcc's host stubs.
    /// They become part of symbols, so they are kept small: no function takes both a payload and arguments b and c.
    [[nodiscard]] constexpr std::uint64_t encode() const {
        if (has_payload(fn)) return std::uint64_t(fn) | std::uint64_t{payload} << 6 | std::uint64_t(a) << 38;
        return std::uint64_t(fn) | std::uint64_t(a) << 6 | std::uint64_t(b) << 14 | std::uint64_t(c) << 22;
    }
    [[nodiscard]] static constexpr Instruction decode(std::uint64_t code) {
        auto const f = static_cast<Fn>(code & 63);
        if (has_payload(f)) return {f, static_cast<std::uint8_t>(code >> 38), 0, 0, static_cast<std::uint32_t>(code >> 6)};
        return {f, static_cast<std::uint8_t>(code >> 6), static_cast<std::uint8_t>(code >> 14), static_cast<std::uint8_t>(code >> 22), 0};
    }
    [[nodiscard]] static constexpr bool has_payload(Fn fn) { return fn <= Fn::random; }
};

/// A program as a type: the key of the kernel that it becomes. At most 256 steps.
template <std::uint64_t... Code>
struct Program {
    static constexpr int size = sizeof...(Code);
    static constexpr std::uint64_t code[sizeof...(Code) == 0 ? 1 : sizeof...(Code)] = {Code...};

    [[nodiscard]] static constexpr Instruction step(int i) { return Instruction::decode(code[i]); }
};

} // namespace tenon
