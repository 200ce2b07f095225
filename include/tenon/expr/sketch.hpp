/// @file
/// What an expression over tensors writes itself into: a flat list of steps over one loop nest, equal steps stored
/// once. All constexpr. A sketch knows nothing of the C++ types that wrote it, so that the kernels made of it don't
/// either.
#pragma once

#include <tenon/core/dtype.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/expr/instruction.hpp>

#include <bit>

namespace tenon::expr {

inline constexpr int max_axes = 8;      ///< loops of a statement: those of the result and those that reductions add
inline constexpr int max_nodes = 240;   ///< Instruction counts to 256
inline constexpr int max_routes = 40; ///< different reads and writes of a statement
inline constexpr int max_leaves = 40;   ///< tensors, scalars and random sources in a statement

inline constexpr int max_records = 64;  ///< subexpressions among which equal ones are looked for

/// A set of axes: bit a stands for axis a.
using AxisSet = unsigned;
[[nodiscard]] constexpr bool holds(AxisSet set, int axis) { return (set >> axis & 1u) != 0; }
[[nodiscard]] constexpr AxisSet just(int axis) { return axis < 0 ? 0u : 1u << axis; }

/// The most elements of a row that stay in a buffer between two passes over the row (16 KB of floats).
inline constexpr index_t row_capacity = 4096;

/// How elements are combined along reduced axes.
enum class ReduceOp : std::uint8_t { sum, max, min, product, argmax, argmin };

/// Where an operand's element is: leaf number, and a stride in elements along each loop of the nest.
struct Route {
    enum class Role : std::uint8_t { memory, index, random };

    DType type = DType::float32;
    Role role = Role::memory;
    int leaf = -1;
    index_t offset = 0;
    index_t stride[max_axes]{};

    constexpr bool operator==(Route const&) const = default;
};

/// A reduction along loops of the nest, in the order in which elements are numbered (outermost first).
struct Reduction {
    ReduceOp op = ReduceOp::sum;
    int axes = 0;
    int axis[max_axes]{};
    /// The loop whose neighbours are neighbours in the reduced operand, where it is not a reduced one; else -1.
    int lane_axis = -1;

    [[nodiscard]] constexpr AxisSet set() const {
        AxisSet s = 0;
        for (int i = 0; i < axes; ++i) s |= just(axis[i]);
        return s;
    }
    constexpr bool operator==(Reduction const&) const = default;
};

/// A step: a scalar instruction, a reduction, or the sum over `inner` of a(row, inner) * b(inner, column).
struct Node {
    enum class Kind : std::uint8_t { scalar, reduction, product };

    Kind kind = Kind::scalar;
    Fn fn = Fn::constant;
    int a = -1, b = -1, c = -1;
    std::uint32_t payload = 0; ///< a route's, a reduction's or a constant's bits
    int row = -1, column = -1, inner = -1;
    AxisSet depends = 0; ///< loops along which the value changes

    constexpr bool operator==(Node const&) const = default;
    [[nodiscard]] constexpr bool reads() const {
        return kind == Kind::scalar && (fn == Fn::load || fn == Fn::index || fn == Fn::random);
    }
};

/// How a node's axes lie in the loop nest: index along node axis j = start[j] + step[j] * (index of loop axis[j]).
/// Step 0 repeats an axis of one element; its loop is then the one that runs along the same axis of its neighbours.
struct AxisMap {
    int rank = 0;
    int axis[Dims::max_rank]{};
    index_t step[Dims::max_rank]{};
    index_t start[Dims::max_rank]{};
    AxisSet scope = 0; ///< loops that are open around the node

    constexpr bool operator==(AxisMap const&) const = default;
};

/// A leaf as far as it is known at compile time.
struct LeafFacts {
    int value_bytes = 0; ///< of a leaf that lives in the expression itself (a number, a random source); else 0
    int same_as = 0;     ///< the first leaf that is assumed to be equal
};

/// A subexpression that was written: to find those that are written twice.
struct Record {
    int value = -1;
    int first_leaf = 0;
    int leaves = 0;
    int statement = 0;
};

class Sketch {
public:
    Node node[max_nodes]{};
    int nodes = 0;
    Route route[max_routes]{};
    int routes = 0;
    Reduction reduction[max_nodes / 8]{};
    int reductions = 0;
    index_t extent[max_axes]{};
    int axes = 0;
    LeafFacts leaf[max_leaves]{};
    int leaves = 0;
    DType compute = DType::float32; ///< of all values in registers
    bool too_large = false; ///< one of the capacities above did not suffice

    /// The number of a step equal to `n`, which is appended if there is none.
    constexpr int add(Node const& n) {
        for (int i = 0; i < nodes; ++i)
            if (node[i] == n) return i;
        return append(n);
    }
    constexpr int append(Node const& n) {
        if (nodes == max_nodes) too_large = true;
        if (too_large) return 0;
        node[nodes] = n;
        return nodes++;
    }

    constexpr int constant(float value) {
        Node n;
        n.payload = std::bit_cast<std::uint32_t>(value);
        return add(n);
    }
    /// A number, as exactly as the statement computes: instructions hold floats, so others are sums of floats.
    constexpr int number(double value) {
        float const high = static_cast<float>(value);
        int sum = constant(high);
        double rest = value - static_cast<double>(high);
        while (compute != DType::float32 && rest != 0) {
            float const part = static_cast<float>(rest);
            rest -= static_cast<double>(part);
            sum = apply(Fn::add, sum, constant(part));
            if (part == 0) break; // below the range of float
        }
        return sum;
    }
    constexpr int apply(Fn fn, int a, int b = -1, int c = -1) {
        Node n;
        n.fn = fn;
        n.a = a;
        n.b = b;
        n.c = c;
        for (int argument : {a, b, c})
            if (argument >= 0) n.depends |= node[argument].depends;
        return add(n);
    }
    /// Reads (or numbers) an element: fn is load, index or random.
    constexpr int read(Fn fn, Route const& where) {
        Node n;
        n.fn = fn;
        n.payload = static_cast<std::uint32_t>(add_route(where));
        for (int axis = 0; axis < axes; ++axis)
            if (where.stride[axis] != 0) n.depends |= just(axis);
        return add(n);
    }
    /// Stores are steps of their own, in the order of the statements.
    constexpr int store(Route const& where, int value) {
        Node n;
        n.fn = Fn::store;
        n.a = value;
        n.payload = static_cast<std::uint32_t>(add_route(where));
        n.depends = node[value].depends;
        return append(n);
    }
    constexpr int reduce(Reduction const& r, int value) {
        int number = 0;
        while (number < reductions && !(reduction[number] == r)) ++number;
        if (number == reductions) {
            if (reductions == max_nodes / 8) too_large = true;
            if (too_large) return 0;
            reduction[reductions++] = r;
        }
        Node n;
        n.kind = Node::Kind::reduction;
        n.a = value;
        n.payload = static_cast<std::uint32_t>(number);
        n.depends = node[value].depends & ~r.set();
        return add(n);
    }
    constexpr int multiply(int a, int b, int row, int column, int inner) {
        Node n;
        n.kind = Node::Kind::product;
        n.a = a;
        n.b = b;
        n.row = row;
        n.column = column;
        n.inner = inner;
        n.depends = (node[a].depends | node[b].depends) & ~just(inner);
        return add(n);
    }

    /// The number of the next leaf, or of the earlier one that it is assumed to equal.
    constexpr int next_leaf(int value_bytes = 0) {
        if (leaves == max_leaves) too_large = true;
        if (too_large) return 0;
        leaf[leaves].value_bytes = value_bytes;
        int const number = leaves++;
        return anonymous_leaves ? 0 : leaf[number].same_as;
    }
    constexpr int add_route(Route const& a) {
        for (int i = 0; i < routes; ++i)
            if (route[i] == a) return i;
        if (routes == max_routes) too_large = true;
        if (too_large) return 0;
        route[routes] = a;
        return routes++;
    }

    /// A loop of `count` trips that is not open in `scope`: `preferred` where it fits, else one made by an earlier
    /// reduction, else a new one.
    constexpr int loop(index_t count, AxisSet scope, int preferred) {
        if (preferred >= 0 && extent[preferred] == count) return preferred;
        for (int axis = result_axes; axis < axes; ++axis)
            if (extent[axis] == count && !holds(scope, axis)) return axis;
        if (axes == max_axes) too_large = true;
        if (too_large) return 0;
        extent[axes] = count;
        return axes++;
    }
    int result_axes = 0; ///< loops of the result come first

    // --- subexpressions that are written twice
    bool anonymous_leaves = false; ///< leaves have no numbers, so that what is written the same way is one step
    Record record[max_records]{};
    int records = 0;
    int statement = 0;
    constexpr void remember(Record r) {
        r.statement = statement;
        if (records < max_records) record[records++] = r;
    }
};

/// A leaf's route under a map: strides of the leaf along its own axes become strides along the loops.
[[nodiscard]] constexpr Route mapped(Route a, AxisMap const& map, Dims const& strides, Sketch const& s) {
    for (int j = 0; j < map.rank; ++j) {
        a.offset += strides[j] * map.start[j];
        if (map.axis[j] >= 0 && s.extent[map.axis[j]] != 1) a.stride[map.axis[j]] += strides[j] * map.step[j];
    }
    return a;
}

} // namespace tenon::expr
