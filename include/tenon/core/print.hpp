/// @file
/// Tensors, views and expressions as text: nested brackets, one row of the last axis per line.
#pragma once

#include <tenon/core/tensor.hpp>

#include <ostream>

namespace tenon {
namespace detail {

template <class T>
void print_axis(std::ostream& to, T const* first, Dims const& dims, Dims const& strides, int axis) {
    if (axis == dims.rank) {
        if constexpr (sizeof(T) == 1) to << static_cast<int>(*first);
        else to << *first;
        return;
    }
    to << '[';
    for (index_t i = 0; i < dims[axis]; ++i) {
        if (i > 0) {
            to << ',';
            int const inner = dims.rank - axis - 1;
            if (inner == 0) to << ' ';
            for (int line = 0; line < inner; ++line) to << '\n';
            for (int column = 0; inner > 0 && column <= axis; ++column) to << ' ';
        }
        print_axis(to, first + i * strides[axis], dims, strides, axis + 1);
    }
    to << ']';
}

} // namespace detail

template <class T, class S, class Stride>
std::ostream& operator<<(std::ostream& to, View<T, S, Stride> const& view) {
    detail::print_axis(to, view.data(), S::dims, Stride::dims, 0);
    return to;
}
template <class T, class S>
std::ostream& operator<<(std::ostream& to, Tensor<T, S> const& tensor) {
    return to << tensor.view();
}
/// Of an expression: its value, computed for the purpose.
template <TensorLike E>
std::ostream& operator<<(std::ostream& to, E const& value) {
    return to << Tensor<typename E::value_type, typename E::shape>{value};
}
template <index_t... E>
std::ostream& operator<<(std::ostream& to, Shape<E...>) {
    to << "Shape<";
    for (int axis = 0; axis < Shape<E...>::rank; ++axis) to << (axis > 0 ? ", " : "") << Shape<E...>::dims[axis];
    return to << '>';
}

} // namespace tenon
