/// @file
/// Whether a statement may run in one loop although it reads what it writes: it may where each element that is written
/// was read, if at all, at the same place of the loop.
#pragma once

#include <tenon/expr/lowered.hpp>

namespace tenon::expr {

/// A read or written range of a leaf.
struct Touched {
    int leaf = 0;
    int layout = 0;    ///< equal for routes that move alike
    index_t place = 0; ///< bytes from the leaf's first element to that of the route
    index_t begin = 0, end = 0; ///< bytes from the leaf's first element
    bool written = false;
};

struct TouchedRanges {
    Touched range[max_routes]{};
    int ranges = 0;
};

[[nodiscard]] constexpr bool move_alike(Sketch const& sketch, Route const& a, Route const& b) {
    if (size_of(a.type) != size_of(b.type)) return false;
    for (int axis = 0; axis < sketch.axes; ++axis)
        if (sketch.extent[axis] != 1 && a.stride[axis] != b.stride[axis]) return false;
    return true;
}

[[nodiscard]] constexpr TouchedRanges touched_ranges(Sketch const& sketch) {
    TouchedRanges touched;
    int route_of[max_routes]{};
    for (int r = 0; r < sketch.routes; ++r) {
        Route const& route = sketch.route[r];
        if (route.role != Route::Role::memory || sketch.leaf[route.leaf].value_bytes != 0) continue;
        Touched& t = touched.range[touched.ranges];
        route_of[touched.ranges] = r;
        t.leaf = route.leaf;
        t.layout = touched.ranges;
        for (int other = touched.ranges - 1; other >= 0; --other)
            if (move_alike(sketch, route, sketch.route[route_of[other]])) t.layout = touched.range[other].layout;
        index_t first = route.offset, last = route.offset;
        for (int axis = 0; axis < sketch.axes; ++axis) {
            index_t const reach = route.stride[axis] * (sketch.extent[axis] - 1);
            (reach < 0 ? first : last) += reach;
        }
        index_t const size = size_of(route.type);
        t.place = route.offset * size;
        t.begin = first * size;
        t.end = (last + 1) * size;
        for (int n = 0; n < sketch.nodes; ++n)
            if (sketch.node[n].kind == Node::Kind::scalar && sketch.node[n].fn == Fn::store &&
                sketch.node[n].payload == static_cast<std::uint32_t>(r))
                t.written = true;
        ++touched.ranges;
    }
    return touched;
}

template <class L>
inline constexpr TouchedRanges ranges_of = touched_ranges(L::sketch);

/// Whether something is written where something else is read or written at another place of the loop.
template <class L>
bool overlaps(Operand const* leaves) {
    TouchedRanges const& touched = ranges_of<L>;
    for (int w = 0; w < touched.ranges; ++w) {
        Touched const& written = touched.range[w];
        if (!written.written) continue;
        std::uintptr_t const to = reinterpret_cast<std::uintptr_t>(leaves[written.leaf].data);
        for (int r = 0; r < touched.ranges; ++r) {
            if (r == w) continue;
            Touched const& other = touched.range[r];
            std::uintptr_t const from = reinterpret_cast<std::uintptr_t>(leaves[other.leaf].data);
            auto const at = [](std::uintptr_t base, index_t offset) {
                return base + static_cast<std::uintptr_t>(offset);
            };
            bool const apart =
                at(to, written.end) <= at(from, other.begin) || at(from, other.end) <= at(to, written.begin);
            bool const same = written.layout == other.layout && at(to, written.place) == at(from, other.place);
            if (!apart && !same) return true;
        }
    }
    return false;
}

/// Whether leaf I is equal to the one that a merged sketch takes it for.
template <class L, int I>
bool leaf_agrees(Operand const* leaves) {
    constexpr LeafFacts leaf = L::sketch.leaf[I];
    if constexpr (leaf.same_as == I) {
        return true;
    } else {
        void const* const mine = leaves[I].data;
        void const* const other = leaves[leaf.same_as].data;
        if constexpr (leaf.value_bytes == 0) return mine == other;
        else return std::memcmp(mine, other, static_cast<std::size_t>(leaf.value_bytes)) == 0;
    }
}
template <class L, int... I>
bool leaves_agree(Operand const* leaves, std::integer_sequence<int, I...>) {
    return (leaf_agrees<L, I>(leaves) && ...);
}
/// Whether the leaves that a merged sketch takes for equal are equal.
template <class L>
bool leaves_agree(Operand const* leaves) {
    return leaves_agree<L>(leaves, std::make_integer_sequence<int, L::sketch.leaves>{});
}

} // namespace tenon::expr
