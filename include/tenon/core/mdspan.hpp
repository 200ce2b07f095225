/// @file
/// std::mdspan views of tensors, where the standard library has them (C++23).
#pragma once

#include <tenon/core/tensor.hpp>

#include <version>
#if __has_include(<mdspan>) && __cplusplus > 202002L
#include <mdspan>
#endif

#if defined(__cpp_lib_mdspan)
namespace tenon {
namespace detail {

template <class T, class S, class Axes = std::make_integer_sequence<int, S::rank>>
struct MdspanOf;
template <class T, class S, int... Axis>
struct MdspanOf<T, S, std::integer_sequence<int, Axis...>> {
    using extents = std::extents<index_t, static_cast<std::size_t>(S::dims.extent[Axis])...>;
    using type = std::mdspan<T, extents, std::layout_stride>;
    template <class Stride>
    static type of(T* first) {
        return type{first, std::layout_stride::mapping<extents>{
                               extents{},
                               std::array<index_t, static_cast<std::size_t>(S::rank)>{Stride::dims.extent[Axis]...}}};
    }
};

} // namespace detail

/// The elements of a view as a std::mdspan with static extents.
template <class T, class S, class Stride>
auto mdspan(View<T, S, Stride> const& view) {
    return detail::MdspanOf<T, S>::template of<Stride>(view.data());
}
template <class T, class S>
auto mdspan(Tensor<T, S>& tensor) {
    return mdspan(tensor.view());
}
template <class T, class S>
auto mdspan(Tensor<T, S> const& tensor) {
    return mdspan(tensor.view());
}

} // namespace tenon
#endif
