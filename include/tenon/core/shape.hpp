/// @file
/// A shape as a type: what a tensor's compile-time facts are written in. `Dims` (core/dims.hpp) is the same thing as a
/// value.
#pragma once

#include <tenon/core/dims.hpp>

#include <utility>

namespace tenon {

/// Extents of a tensor, outermost first. `Shape<>` is the shape of a scalar: rank 0, one element.
template <index_t... Extent>
struct Shape {
    static_assert(sizeof...(Extent) <= Dims::max_rank, "a shape has at most 6 axes");
    static_assert(((Extent >= 0) && ...), "a shape has no negative extents");

    static constexpr Dims dims{Extent...};
    static constexpr int rank = static_cast<int>(sizeof...(Extent));
    static constexpr index_t count = (index_t{1} * ... * Extent);
};

/// Elements between neighbours along each axis; 0 where an axis repeats one element.
template <index_t... Stride>
struct Strides {
    static constexpr Dims dims{Stride...};
};

namespace detail {

// The extents of a Dims as template arguments, by way of a type that holds them: g++ 12 crashes where a pack expands
// members of a template argument, and nvcc's host code garbles aliases of decltype.
template <Dims D>
struct DimsHolder {
    static constexpr Dims dims = D;
    static constexpr int rank = dims.rank;
};
template <class Holder, class Axes>
struct Expanded;
template <class Holder, int... Axis>
struct Expanded<Holder, std::integer_sequence<int, Axis...>> {
    using shape = Shape<Holder::dims.extent[Axis]...>;
    using strides = Strides<Holder::dims.extent[Axis]...>;
};
template <Dims D>
struct Unpacked : Expanded<DimsHolder<D>, std::make_integer_sequence<int, DimsHolder<D>::rank>> {};

} // namespace detail

/// `Shape<...>` with the extents of D.
template <Dims D>
using shape_of = typename detail::Unpacked<D>::shape;

/// `Strides<...>` with the numbers in D.
template <Dims D>
using strides_of = typename detail::Unpacked<D>::strides;

/// The strides of a tensor whose elements lie one after another, the last axis fastest.
[[nodiscard]] constexpr Dims contiguous_strides(Dims const& dims) {
    Dims strides;
    strides.rank = dims.rank;
    for (int axis = 0; axis < dims.rank; ++axis) strides.extent[axis] = dims.count_from(axis + 1);
    return strides;
}

/// Whether elements with these strides lie one after another. Axes of one element do not matter.
[[nodiscard]] constexpr bool is_contiguous(Dims const& dims, Dims const& strides) {
    for (int axis = 0; axis < dims.rank; ++axis)
        if (dims[axis] > 1 && strides[axis] != dims.count_from(axis + 1)) return false;
    return true;
}

/// Axis -1 is the last one. Returns -1 where there is no such axis.
[[nodiscard]] constexpr int normalised_axis(int axis, int rank) {
    int const counted = axis < 0 ? axis + rank : axis;
    return counted < 0 || counted >= rank ? -1 : counted;
}

/// The shape of `a` and `b` together by the usual rules (numpy's): axes are matched from the last one, an extent of 1
/// repeats. `fits` is false where two extents differ and neither is 1; the result is then the one of higher rank.
struct Broadcast {
    Dims dims;
    bool fits = true;
};
[[nodiscard]] constexpr Broadcast broadcast(Dims const& a, Dims const& b) {
    Broadcast result;
    result.dims.rank = a.rank > b.rank ? a.rank : b.rank;
    for (int from_last = 1; from_last <= result.dims.rank; ++from_last) {
        index_t const x = from_last <= a.rank ? a[a.rank - from_last] : 1;
        index_t const y = from_last <= b.rank ? b[b.rank - from_last] : 1;
        if (x != y && x != 1 && y != 1) return {a.rank < b.rank ? b : a, false};
        result.dims.extent[result.dims.rank - from_last] = x == 1 ? y : x;
    }
    return result;
}

} // namespace tenon
