/// @file
/// Element types: as values, for constexpr tables, and as C++ types. Which type an operation on two of them has.
#pragma once

#include <tenon/core/config.hpp>

#include <type_traits>

namespace tenon {

/// The element types of tensors.
enum class DType : std::uint8_t { boolean, uint8, int32, int64, float32, float64 };

namespace detail {

template <class T>
struct DTypeOf : std::integral_constant<DType, DType::float32> {}; // whoever asks has been told: see Tensor
template <DType D>
struct TypeOf;

template <DType D, class T>
struct DTypePair {
    static constexpr DType value = D;
    using type = T;
};
template <> struct DTypeOf<bool> : DTypePair<DType::boolean, bool> {};
template <> struct DTypeOf<std::uint8_t> : DTypePair<DType::uint8, std::uint8_t> {};
template <> struct DTypeOf<std::int32_t> : DTypePair<DType::int32, std::int32_t> {};
template <> struct DTypeOf<std::int64_t> : DTypePair<DType::int64, std::int64_t> {};
template <> struct DTypeOf<float> : DTypePair<DType::float32, float> {};
template <> struct DTypeOf<double> : DTypePair<DType::float64, double> {};

template <> struct TypeOf<DType::boolean> : DTypePair<DType::boolean, bool> {};
template <> struct TypeOf<DType::uint8> : DTypePair<DType::uint8, std::uint8_t> {};
template <> struct TypeOf<DType::int32> : DTypePair<DType::int32, std::int32_t> {};
template <> struct TypeOf<DType::int64> : DTypePair<DType::int64, std::int64_t> {};
template <> struct TypeOf<DType::float32> : DTypePair<DType::float32, float> {};
template <> struct TypeOf<DType::float64> : DTypePair<DType::float64, double> {};

} // namespace detail

/// The DType of a C++ type.
template <class T>
inline constexpr DType dtype_of = detail::DTypeOf<std::remove_cv_t<T>>::value;

/// The C++ type of a DType.
template <DType D>
using type_of = typename detail::TypeOf<D>::type;

[[nodiscard]] constexpr bool is_floating(DType d) { return d >= DType::float32; }

/// Whether tensors can hold T.
template <class T>
inline constexpr bool is_element_type =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, bool> ||
    std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>;

/// Bytes of one element.
[[nodiscard]] constexpr int size_of(DType d) {
    switch (d) {
    case DType::boolean:
    case DType::uint8: return 1;
    case DType::int32:
    case DType::float32: return 4;
    default: return 8;
    }
}

/// The type of an operation on two tensors: the later one in DType's order, as in PyTorch.
[[nodiscard]] constexpr DType promote(DType a, DType b) { return a < b ? b : a; }

/// The type of an operation on a tensor and a scalar: the tensor's, unless the scalar is of a higher kind (a fraction
/// makes float of integers, a number makes int64 of truth values), as in PyTorch.
[[nodiscard]] constexpr DType promote_with_scalar(DType tensor, DType scalar) {
    if (is_floating(tensor)) return tensor;
    if (is_floating(scalar)) return DType::float32;
    return tensor == DType::boolean && scalar != DType::boolean ? DType::int64 : tensor;
}

} // namespace tenon
