/// @file
/// Shapes and element types of expressions: how operands combine, and in which type a statement computes.
#pragma once

#include <tenon/core/dtype.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/expr/sketch.hpp>

namespace tenon::expr {

/// The shape of a value while it is an operand. A reduction remembers the axes that it reduced: they are there with one
/// element (so that `x - max<1>(x)` broadcasts along them), and `droppable` until the value is combined with something
/// of another rank or assigned.
struct Form {
    Dims dims;
    AxisSet droppable = 0;
    bool mistaken = false; ///< the compiler has reported a mistake in the value's shape: nothing more is said about it

    [[nodiscard]] constexpr Dims visible() const {
        Dims d;
        for (int axis = 0; axis < dims.rank; ++axis)
            if (!holds(droppable, axis)) d.extent[d.rank++] = dims[axis];
        return d;
    }
};

/// Two operands together. Equal ranks (with the remembered axes) match axis by axis; else remembered axes are gone and
/// the usual rules hold.
struct Joined {
    Form form;
    bool fits = true;
    bool drop_a = false, drop_b = false; ///< whether an operand takes part without its remembered axes
};
[[nodiscard]] constexpr Joined join(Form const& a, Form const& b) {
    bool const mistaken = a.mistaken || b.mistaken;
    if (a.dims.rank == 0) return {{b.dims, b.droppable, mistaken}};
    if (b.dims.rank == 0) return {{a.dims, a.droppable, mistaken}};
    Joined joined;
    bool const same_rank = a.dims.rank == b.dims.rank;
    joined.drop_a = !same_rank && a.droppable != 0;
    joined.drop_b = !same_rank && b.droppable != 0;
    Broadcast const together = broadcast(joined.drop_a ? a.visible() : a.dims, joined.drop_b ? b.visible() : b.dims);
    joined.form = {together.dims, same_rank ? a.droppable & b.droppable : 0u, mistaken || !together.fits};
    joined.fits = together.fits || mistaken;
    return joined;
}

/// The map of an operand of form `child` under the map of the value that it is part of.
[[nodiscard]] constexpr AxisMap child_map(AxisMap const& parent, Dims const& parent_dims, Form const& child,
                                          bool drop) {
    AxisMap map;
    map.rank = child.dims.rank;
    map.scope = parent.scope;
    int from = parent.rank - (drop ? child.visible().rank : child.dims.rank);
    for (int j = 0; j < child.dims.rank; ++j) {
        if (drop && holds(child.droppable, j)) {
            map.axis[j] = -1;
            continue;
        }
        map.axis[j] = parent.axis[from];
        bool const repeats = child.dims[j] == 1 && parent_dims[from] != 1;
        map.step[j] = repeats ? 0 : parent.step[from];
        map.start[j] = repeats ? 0 : parent.start[from];
        ++from;
    }
    return map;
}

/// What a statement's arithmetic must be able to hold, collected over its parts.
using Needs = unsigned;
inline constexpr Needs needs_float = 1;    ///< fractions in single precision
inline constexpr Needs needs_double = 2;   ///< fractions in double precision
inline constexpr Needs needs_int32 = 4;    ///< whole numbers of 32 bits
inline constexpr Needs needs_int64 = 8;    ///< whole numbers of 64 bits
inline constexpr Needs needs_exact = 16;   ///< whole numbers are computed with or compared, beyond 24 bits

[[nodiscard]] constexpr Needs needs_of(DType d) {
    switch (d) {
    case DType::float64: return needs_double;
    case DType::float32: return needs_float;
    case DType::int64: return needs_int64;
    case DType::int32: return needs_int32;
    default: return 0;
    }
}

/// The type that all values of a statement have in registers: where fractions meet whole numbers that must stay exact,
/// double.
[[nodiscard]] constexpr DType compute_type(Needs needs) {
    if (needs & needs_double) return DType::float64;
    if (needs & needs_float) return needs & needs_exact ? DType::float64 : DType::float32;
    return needs & needs_int64 ? DType::int64 : DType::int32;
}

/// Whether a function of numbers gives fractions: also of whole numbers.
[[nodiscard]] constexpr bool gives_fraction(Fn fn) {
    switch (fn) {
    case Fn::sqrt:
    case Fn::exp:
    case Fn::expm1:
    case Fn::log:
    case Fn::log1p:
    case Fn::sin:
    case Fn::cos:
    case Fn::tanh:
    case Fn::erf:
    case Fn::sigmoid:
    case Fn::div:
    case Fn::pow:
    case Fn::random: return true;
    default: return false;
    }
}
[[nodiscard]] constexpr bool gives_truth(Fn fn) {
    return fn == Fn::is_nan || fn == Fn::logical_not || (fn >= Fn::less && fn <= Fn::logical_or);
}

/// An operand's element type. `weak` marks scalars: they do not widen a tensor of the same kind.
struct Typed {
    DType type = DType::float32;
    bool weak = false;
};
[[nodiscard]] constexpr Typed promote(Typed a, Typed b) {
    if (a.weak == b.weak) return {promote(a.type, b.type), a.weak};
    return {a.weak ? promote_with_scalar(b.type, a.type) : promote_with_scalar(a.type, b.type), false};
}
/// The element type of select: the condition has no say in it, but a tensor there makes a tensor of two numbers.
[[nodiscard]] constexpr Typed chosen(Typed condition, Typed t) { return {t.type, t.weak && condition.weak}; }

/// The element type of fn of operands that promote to `t`.
[[nodiscard]] constexpr Typed typed(Fn fn, Typed t) {
    if (gives_truth(fn)) return {DType::boolean, t.weak};
    if (gives_fraction(fn) && !is_floating(t.type)) return {DType::float32, t.weak};
    bool const counts = fn == Fn::neg || fn == Fn::add || fn == Fn::sub || fn == Fn::mul ||
                        fn == Fn::fma; // true + true is 2, as in C++
    if (counts && t.type == DType::boolean) return {DType::int32, t.weak};
    return t;
}

} // namespace tenon::expr
