/// @file
/// A shape as a value: what constexpr functions compute with. `Shape<...>` (core/shape.hpp) is the same thing as a type.
#pragma once

#include <tenon/core/config.hpp>

#include <initializer_list>

namespace tenon {

/// Extents, outermost first, with an explicit rank of at most 6. Rank 0 is a scalar and holds one element.
struct Dims {
    static constexpr int max_rank = 6;

    index_t extent[max_rank]{};
    int rank = 0;

    constexpr Dims() = default;
    constexpr Dims(std::initializer_list<index_t> extents) {
        for (index_t e : extents) extent[rank++] = e;
    }

    [[nodiscard]] constexpr index_t operator[](int axis) const { return extent[axis]; }

    /// Number of elements.
    [[nodiscard]] constexpr index_t count() const {
        index_t n = 1;
        for (int axis = 0; axis < rank; ++axis) n *= extent[axis];
        return n;
    }

    /// Number of elements from `axis` inwards: the stride of axis - 1 in a contiguous tensor.
    [[nodiscard]] constexpr index_t count_from(int axis) const {
        index_t n = 1;
        for (; axis < rank; ++axis) n *= extent[axis];
        return n;
    }

    constexpr bool operator==(Dims const&) const = default;
};

} // namespace tenon
