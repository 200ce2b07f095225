/// @file
/// From a written graph to constant tables: runs the passes and freezes what they found into arrays.
#pragma once

#include <tenon/graph/plan.hpp>

namespace tenon::graph {

/// What a source of a graph says beside the nodes themselves.
struct Roots {
    int output = -1;          ///< the network's output
    int loss = -1;            ///< one number; -1 for inference
    std::vector<int> outputs; ///< nodes that are read after a step
};

/// How many of each thing there are.
struct Sizes {
    int nodes = 0, parameters = 0, states = 0, stages = 0, code = 0, operands = 0, buffers = 0;

    [[nodiscard]] constexpr bool fits(Sizes const& room) const {
        return nodes <= room.nodes && parameters <= room.parameters && states <= room.states && stages <= room.stages && code <= room.code &&
               operands <= room.operands && buffers <= room.buffers;
    }
};

/// The room that the tables of a network with so many nodes and parameters usually need. The passes run a second time where it is
/// too small; what is too large costs little.
[[nodiscard]] constexpr Sizes usual_sizes(int forward_nodes, int parameters, bool training) {
    int const nodes = training ? forward_nodes * 5 / 2 + parameters * 14 + 64 : forward_nodes + 16;
    return {.nodes = nodes,
            .parameters = parameters,
            .states = training ? parameters : 0,
            .stages = (training ? 2 * parameters : 0) + forward_nodes / 3 + 8,
            .code = nodes * 8 / 5 + 32,
            .operands = nodes * 3 / 4 + 16,
            .buffers = (training ? 4 : 2) * parameters + forward_nodes / 3 + 24};
}

/// A compiled graph as constants, in arrays with room for at least as much as `sizes` says there is.
template <Sizes Room>
struct Tables {
    template <class T, int N>
    using Array = std::array<T, static_cast<std::size_t>(N < 1 ? 1 : N)>;

    Sizes sizes{};
    Array<Node, Room.nodes> nodes{};
    Array<Parameter, Room.parameters> parameters{};
    Array<State, Room.states> states{};
    Array<Stage, Room.stages> stages{};
    Array<std::uint64_t, Room.code> code{};
    Array<Operand, Room.operands> operands{};
    Array<Buffer, Room.buffers> buffers{};
    Array<index_t, Room.nodes> offset{}; ///< of each node's bytes in the arena, or -1
    Array<bool, Room.nodes> stored{};
    Memory memory{};
    int output = -1, loss = -1, random_sources = 0;
    Verdict verdict{};

    /// The node whose bytes `id` names, behind reshapes.
    [[nodiscard]] constexpr int storage(int id) const {
        while (nodes[static_cast<std::size_t>(id)].op->kind == Kind::view) id = nodes[static_cast<std::size_t>(id)].input[0];
        return id;
    }
};

/// What `Source` says of its own sizes, else those of a small network.
template <class Source>
[[nodiscard]] constexpr Sizes usual_sizes_of() {
    if constexpr (requires { Source::usual_sizes; }) return Source::usual_sizes;
    else return usual_sizes(48, 8, true);
}

namespace detail {

struct Compilation {
    Builder builder;
    Roots roots;
    Fused fused;
    Plan plan;
};

/// `Source::write(Builder&)` returns Roots; `Source::layout`, `reuse` and `reserved` say how memory is laid out;
/// where a device runs stages side by side, its own `Source::plan(builder, fused, outputs)` does.
template <class Source>
constexpr Compilation run_passes() {
    Compilation c;
    c.roots = Source::write(c.builder);
    if (!c.builder.verdict.ok()) return c;
    c.fused = fuse(c.builder, c.roots.outputs);
    if constexpr (requires { Source::plan(c.builder, c.fused, c.roots.outputs); }) c.plan = Source::plan(c.builder, c.fused, c.roots.outputs);
    else c.plan = plan_memory(c.builder, c.fused, c.roots.outputs, Source::layout, Source::reuse, Source::reserved);
    return c;
}

template <class Array, class Vector>
constexpr void copy(Array& to, Vector const& from) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i];
}

/// Runs the passes. Where `Room` is too small for what they find, the result has its sizes and nothing else.
template <class Source, Sizes Room>
constexpr Tables<Room> freeze() {
    Compilation const c = run_passes<Source>();
    Tables<Room> t;
    t.sizes = {c.builder.size(), static_cast<int>(c.builder.parameters.size()), static_cast<int>(c.builder.states.size()), static_cast<int>(c.fused.stages.size()),
               static_cast<int>(c.fused.code.size()), static_cast<int>(c.fused.operands.size()), static_cast<int>(c.plan.buffers.size())};
    if (!t.sizes.fits(Room)) return t;
    t.verdict = c.builder.verdict;
    copy(t.nodes, c.builder.nodes);
    copy(t.parameters, c.builder.parameters);
    copy(t.states, c.builder.states);
    copy(t.stages, c.fused.stages);
    copy(t.code, c.fused.code);
    copy(t.operands, c.fused.operands);
    copy(t.buffers, c.plan.buffers);
    copy(t.offset, c.plan.offset);
    for (std::size_t i = 0; i < c.fused.stored.size(); ++i) t.stored[i] = c.fused.stored[i] != 0;
    t.memory = c.plan.memory;
    t.output = c.roots.output;
    t.loss = c.roots.loss;
    t.random_sources = c.builder.random_sources();
    return t;
}

/// The tables that the first run of the passes found or, where its room was too small, those of a second one.
template <class Source>
struct Frozen {
    static constexpr Sizes guess = usual_sizes_of<Source>();
    static constexpr auto first = freeze<Source, guess>();
    template <Sizes Found>
    static constexpr auto again = freeze<Source, Found>();

    static constexpr auto const& find() {
        if constexpr (first.sizes.fits(guess)) return first;
        else return again<first.sizes>;
    }
};

} // namespace detail

/// The compiled form of what `Source` writes.
template <class Source>
struct Compiled {
    using From = Source;
    static constexpr auto layout = Source::layout;
    static constexpr auto const& tables = detail::Frozen<Source>::find();
    // The same, one by one: nvcc's front end copies the whole constant that an element is read from, every time.
    static constexpr auto nodes = tables.nodes;
    static constexpr auto stages = tables.stages;
    static constexpr auto code = tables.code;
    static constexpr auto operands = tables.operands;
};

/// The node that anchors stage S of the compiled graph C.
template <class C, int S>
constexpr Node anchor_of() {
    return C::nodes[static_cast<std::size_t>(C::stages[S].anchor)];
}

/// The shape of one of node N's inputs.
template <class C, Node N>
constexpr Dims input_shape(int input = 0) {
    return C::nodes[static_cast<std::size_t>(N.input[static_cast<std::size_t>(input)])].shape;
}

} // namespace tenon::graph
