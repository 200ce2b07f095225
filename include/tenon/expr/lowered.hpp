/// @file
/// Statements become plans: the one place where the C++ type of an expression meets what it computes.
#pragma once

#include <tenon/expr/planner.hpp>
#include <tenon/expr/product.hpp>
#include <tenon/expr/reduction.hpp>

namespace tenon {

namespace expr {

/// One assignment as a type: elements T at strides Stride of shape S become the value of E.
template <class T, class S, class Stride, class E>
struct Statement {
    static constexpr Form target{S::dims};
    static constexpr bool drops = E::form.droppable != 0 && E::form.dims.rank != S::rank;
    static constexpr Dims value_dims = drops ? E::form.visible() : E::form.dims;
    static constexpr Broadcast together = broadcast(S::dims, value_dims);
    /// Else the compiler has said so.
    static constexpr bool fits = together.fits && together.dims == S::dims && !E::form.mistaken;
    /// Numbers and truth values alone need what their target can hold.
    static constexpr bool takes_target_type = is_floating(dtype_of<T>) || !E::typed.weak;
    static constexpr Needs needs = E::needs != 0 ? E::needs : needs_of(takes_target_type ? dtype_of<T> : E::typed.type);
    static constexpr DType type = dtype_of<T>;
    static constexpr Dims dims = S::dims;

    /// Writes the value and the store. `leaf` is the number of the target among all leaves.
    static constexpr void emit(Sketch& sketch) {
        AxisMap map;
        map.rank = S::rank;
        for (int axis = 0; axis < S::rank; ++axis) {
            map.axis[axis] = axis;
            map.step[axis] = 1;
            map.scope |= just(axis);
        }
        int const value = emit_operand<E>(sketch, map, target, drops);
        Route route;
        route.type = type;
        route.leaf = sketch.next_leaf();
        sketch.store(mapped(route, map, Stride::dims, sketch), value);
    }
};

/// What a step costs that should not be taken twice without need; 0 for what is cheaper than looking.
[[nodiscard]] constexpr int cost(Node const& n) {
    if (n.kind != Node::Kind::scalar) return 1;
    return gives_fraction(n.fn) ? 1 : 0;
}

/// Takes the leaves of subexpressions that `anonymous` shows to be written the same way, in one statement, for equal.
constexpr void merge_leaves(Sketch& sketch, Sketch const& anonymous) {
    for (int i = 0; i < anonymous.records; ++i)
        for (int j = 0; j < i; ++j) {
            Record const &a = anonymous.record[i], &b = anonymous.record[j];
            if (a.value != b.value || a.leaves != b.leaves || a.statement != b.statement) continue;
            for (int k = 0; k < a.leaves; ++k) {
                if (anonymous.leaf[a.first_leaf + k].value_bytes != anonymous.leaf[b.first_leaf + k].value_bytes)
                    continue;
                int const x = sketch.leaf[a.first_leaf + k].same_as, y = sketch.leaf[b.first_leaf + k].same_as;
                for (LeafFacts& leaf : sketch.leaf)
                    if (leaf.same_as == x || leaf.same_as == y) leaf.same_as = x < y ? x : y;
            }
        }
}

/// How leaves are told apart while statements are written.
enum class Leaves : std::uint8_t {
    distinct,  ///< each is its own
    anonymous, ///< not at all: shows what is written the same way
    merged,    ///< those of subexpressions that are written the same way are taken for equal
};

/// Statements over one shape, as a sketch.
template <Leaves L, class... S>
constexpr Sketch sketch_of_statements() {
    Sketch sketch;
    Dims const all_dims[] = {S::dims...};
    Dims const& dims = all_dims[0];
    sketch.compute = compute_type((S::needs | ...));
    sketch.axes = sketch.result_axes = dims.rank;
    for (int axis = 0; axis < dims.rank; ++axis) sketch.extent[axis] = dims[axis];
    for (int i = 0; i < max_leaves; ++i) sketch.leaf[i].same_as = i;
    sketch.anonymous_leaves = L == Leaves::anonymous;
    if constexpr (L == Leaves::merged) merge_leaves(sketch, sketch_of_statements<Leaves::anonymous, S...>());
    ((S::emit(sketch), ++sketch.statement), ...);
    return sketch;
}

/// The work in a sketch, as far as merging can save it.
[[nodiscard]] constexpr int total_cost(Sketch const& sketch) {
    int total = 0;
    for (int i = 0; i < sketch.nodes; ++i) total += cost(sketch.node[i]);
    return total;
}

/// Statements S, as they are computed.
template <Leaves L, class... S>
struct Lowered {
    static constexpr Sketch sketch = sketch_of_statements<L, S...>();
    static constexpr Plan plan = Planner{sketch}.run();
    static constexpr DType compute = sketch.compute;
    static_assert(!plan.too_large,
                  "tenon: this statement is too large for one kernel: assign parts of it to tensors first");
};

/// Whether it pays to take subexpressions of equal type for equal, if their operands turn out to be equal at run time.
template <class... S>
inline constexpr bool merging_pays = total_cost(sketch_of_statements<Leaves::merged, S...>()) <
                                     total_cost(sketch_of_statements<Leaves::distinct, S...>());

} // namespace expr
} // namespace tenon
