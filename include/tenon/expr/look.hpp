/// @file
/// Views as values: how the axes of what is seen lie in those of what is looked at.
#pragma once

#include <tenon/expr/sketch.hpp>

namespace tenon::expr {

/// How the axes of a view lie in those of what it looks at. `axis[j]` of the viewed value is axis j's place in the view
/// (-1: the index is fixed), from index `start[j]` on in steps of `step[j]` (0: repeated).
struct Look {
    Dims dims; ///< of the view
    Dims axis, start, step;
    bool valid = true;
};
[[nodiscard]] constexpr Look same_look(Dims const& dims) {
    Look look{dims, dims, dims, dims};
    for (int j = 0; j < dims.rank; ++j) {
        look.axis.extent[j] = j;
        look.start.extent[j] = 0;
        look.step.extent[j] = 1;
    }
    return look;
}

/// Permutation<1, 0>: axis i of the view is axis Order[i] of the value.
template <int... Order>
struct Permutation {
    static constexpr Look of(Dims const& dims) {
        Look look = same_look(dims);
        look.valid = sizeof...(Order) == static_cast<std::size_t>(dims.rank);
        int const order[] = {normalised_axis(Order, dims.rank)..., 0};
        AxisSet seen = 0;
        for (int i = 0; i < dims.rank && look.valid; ++i) {
            look.valid = order[i] >= 0 && !holds(seen, order[i]);
            if (!look.valid) break;
            seen |= just(order[i]);
            look.dims.extent[i] = dims[order[i]];
            look.axis.extent[order[i]] = i;
        }
        return look;
    }
};

struct SwappedLastAxes {
    static constexpr Look of(Dims const& dims) {
        Look look = same_look(dims);
        look.valid = dims.rank >= 2;
        if (!look.valid) return look;
        int const last = dims.rank - 1;
        look.dims.extent[last] = dims[last - 1];
        look.dims.extent[last - 1] = dims[last];
        look.axis.extent[last] = last - 1;
        look.axis.extent[last - 1] = last;
        return look;
    }
};

/// Elements Begin, Begin + Step, ... before End of one axis.
template <int Axis, index_t Begin, index_t End, index_t Step>
struct Slice {
    static constexpr Look of(Dims const& dims) {
        Look look = same_look(dims);
        int const axis = normalised_axis(Axis, dims.rank);
        look.valid = axis >= 0 && Begin >= 0 && Begin <= End && Step >= 1 && End <= dims[axis < 0 ? 0 : axis];
        if (!look.valid) return look;
        look.dims.extent[axis] = (End - Begin + Step - 1) / Step;
        look.start.extent[axis] = Begin;
        look.step.extent[axis] = Step;
        return look;
    }
};

/// A new axis of one element, as axis Axis of the view.
template <int Axis>
struct Inserted {
    static constexpr Look of(Dims const& dims) {
        Look look = same_look(dims);
        int const axis = normalised_axis(Axis, dims.rank + 1);
        look.valid = axis >= 0 && dims.rank < Dims::max_rank;
        if (!look.valid) return look;
        look.dims = {};
        look.dims.rank = dims.rank + 1;
        look.dims.extent[axis] = 1;
        for (int j = 0; j < dims.rank; ++j) {
            look.axis.extent[j] = j < axis ? j : j + 1;
            look.dims.extent[look.axis[j]] = dims[j];
        }
        return look;
    }
};

/// Repeated along axes of one element and new axes in front, by the usual rules.
template <class S>
struct Repeated {
    static constexpr Look of(Dims const& dims) {
        Look look = same_look(dims);
        Broadcast const together = broadcast(S::dims, dims);
        look.valid = together.fits && together.dims == S::dims;
        if (!look.valid) return look;
        look.dims = S::dims;
        for (int j = 0; j < dims.rank; ++j) {
            look.axis.extent[j] = j + S::rank - dims.rank;
            if (dims[j] != S::dims[static_cast<int>(look.axis[j])]) look.step.extent[j] = 0;
        }
        return look;
    }
};

} // namespace tenon::expr
