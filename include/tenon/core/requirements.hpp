/// @file
/// What the compiler says of mistakes in shapes. Each mistake is one error that names one of these templates, whose
/// arguments show the shapes. They are called straight from what the user called, and this header is included first, so
/// that the message stays short: compilers list every caller and every including file.
#pragma once

#include <tenon/core/config.hpp>

namespace tenon {
namespace detail {

template <class...>
inline constexpr bool never = false;

} // namespace detail

template <class T>
constexpr bool require_element_type() {
    static_assert(detail::never<T>,
                  "tenon: a tensor's elements are float, double, bool, std::uint8_t, std::int32_t or std::int64_t");
    return true;
}
template <class Left, class Right>
constexpr void require_broadcast() {
    static_assert(
        detail::never<Left, Right>,
        "tenon: these two shapes do not broadcast: each pair of extents, counted from the last, must be equal or 1");
}
template <class Target, class Value>
constexpr void require_assignable() {
    static_assert(detail::never<Target, Value>,
                  "tenon: this value does not broadcast to the shape of the tensor that it is assigned to");
}
template <class First, class Other>
constexpr void require_same_shape() {
    static_assert(detail::never<First, Other>, "tenon: update() writes tensors of one shape");
}
template <class Left, class Right>
constexpr void require_matrices() {
    static_assert(detail::never<Left, Right>, "tenon: matmul takes two matrices");
}
template <class Left, class Right>
constexpr void require_product() {
    static_assert(
        detail::never<Left, Right>,
        "tenon: matmul of matrices that do not fit: the left one's columns must be as many as the right one's rows");
}
template <class Of, int... Axis>
constexpr void require_axes() {
    static_assert(detail::never<Of>, "tenon: a reduction along an axis that this shape does not have");
}
template <class Of>
constexpr void require_elements() {
    static_assert(detail::never<Of>, "tenon: the largest or smallest of no elements");
}
template <class What, class Of>
constexpr void require_view() {
    static_assert(detail::never<What, Of>, "tenon: this view does not fit this shape");
}
template <class To, class From>
constexpr void require_reshape() {
    static_assert(detail::never<To, From>, "tenon: reshape() must keep the number of elements");
}
template <class To, class From>
constexpr void require_contiguous() {
    static_assert(detail::never<To, From>,
                  "tenon: reshape() takes tensors and contiguous views: assign other values to a tensor first");
}
template <class Of, int Given>
constexpr void require_indices() {
    static_assert(detail::never<Of>, "tenon: element access takes one index per axis");
}

} // namespace tenon
