/// @file
/// What marks the types that take part in tensor expressions.
#pragma once

#include <type_traits>

namespace tenon {

/// Tensors, views and expressions, which mark themselves with a member type.
template <class T>
concept TensorLike = requires { typename std::remove_cvref_t<T>::tensor_like; };

/// The numbers that may stand beside them.
template <class T>
concept NumberLike = std::is_arithmetic_v<std::remove_cvref_t<T>>;

} // namespace tenon
