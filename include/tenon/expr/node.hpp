/// @file
/// How tensors, scalars and expressions become parts of an expression, and how parts write themselves.
#pragma once

#include <tenon/expr/leaf.hpp>

namespace tenon::expr {

template <class T>
inline constexpr bool is_expression = requires { T::form; };

/// The tensor type that a C++ number is taken for.
template <class T>
using scalar_t =
    std::conditional_t<std::is_floating_point_v<T>, std::conditional_t<std::is_same_v<T, float>, float, double>,
                       std::conditional_t<std::is_same_v<T, bool>, bool,
                                          std::conditional_t<(sizeof(T) < 4 || (sizeof(T) == 4 && std::is_signed_v<T>)),
                                                             std::int32_t, std::int64_t>>>;

template <class T, class S, class Stride>
constexpr auto as_node(View<T, S, Stride> const& view) {
    return Leaf<std::remove_const_t<T>, S, Stride>{view.data()};
}
template <class T, class S>
constexpr auto as_node(Tensor<T, S> const& tensor) {
    return as_node(tensor.view());
}
template <class T, class S>
constexpr auto as_node(Tensor<T, S>&& tensor) {
    return Owned<T, S>{static_cast<Tensor<T, S>&&>(tensor)};
}
template <class T>
    requires std::is_arithmetic_v<T>
constexpr auto as_node(T number) {
    return Scalar<scalar_t<T>>{static_cast<scalar_t<T>>(number)};
}
template <class E>
    requires is_expression<E>
constexpr E as_node(E const& e) {
    return e;
}
template <class E>
    requires(is_expression<E> && !std::is_lvalue_reference_v<E>)
constexpr E as_node(E&& e) {
    return static_cast<E&&>(e);
}

/// The part that a tensor, view, number or expression becomes.
template <class E>
using node_t = decltype(as_node(std::declval<E>()));

/// Writes E and remembers where, so that a second E can be recognised.
template <class E>
constexpr int emit(Sketch& sketch, AxisMap const& map) {
    int const first = sketch.leaves;
    int const value = E::emit(sketch, map);
    if constexpr (!requires { E::leaf; }) sketch.remember({value, first, sketch.leaves - first});
    return value;
}

/// Writes an operand of a value of form `parent` that has `map`.
template <class E>
constexpr int emit_operand(Sketch& sketch, AxisMap const& map, Form const& parent, bool drop) {
    return emit<E>(sketch, child_map(map, parent.dims, E::form, drop));
}

} // namespace tenon::expr

namespace tenon {

/// What operators and functions of expressions take: at least one tensor, view or expression; the others may be
/// numbers.
template <class... T>
inline constexpr bool are_operands = (TensorLike<T> || ...) && ((TensorLike<T> || NumberLike<T>) && ...);

} // namespace tenon
