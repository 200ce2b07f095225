/// @file
/// The memory plan: every value that crosses from stage to stage gets an offset in one arena, and bytes whose last reader is
/// done are used again. All offsets are known at compile time.
#pragma once

#include <tenon/graph/fuse.hpp>

#include <algorithm>

namespace tenon::graph {

/// Offsets are multiples of this many bytes: a cache line, and the widest vector.
inline constexpr index_t arena_alignment = 64;

/// A node's bytes in the arena, alive from stage `first` to stage `last` (both included).
struct Buffer {
    int node = -1;
    index_t offset = 0;
    index_t bytes = 0;
    int first = 0;
    int last = 0;
    bool persistent = false; ///< lives from step to step: parameters, states, settings
};

/// What the arena holds, in bytes.
struct Memory {
    index_t parameters = 0;
    index_t optimizer_state = 0;
    index_t activations = 0; ///< everything that lives within one step, after reuse
    index_t other = 0;       ///< input, labels, settings, alignment
    index_t total = 0;
    index_t kept = 0; ///< parameters and optimiser state end here, alignment included
};

/// Where everything lies.
struct Plan {
    std::vector<Buffer> buffers;
    std::vector<index_t> offset;      ///< of each node, or -1
    Memory memory;
};

/// How a batch lies in memory: `capacity` samples in blocks of `lanes`, the samples of a block innermost.
struct BatchLayout {
    index_t capacity = 1;
    int lanes = 1;

    [[nodiscard]] constexpr index_t blocks() const { return (capacity + lanes - 1) / lanes; }
    [[nodiscard]] constexpr index_t elements(Dims const& shape, bool batched) const {
        return shape.count() * (batched ? blocks() * lanes : 1);
    }
};

namespace detail {

/// Places buffers that live for a part of the step: the largest first, each at the lowest offset from `begin` where nothing that
/// is alive at the same time lies. Quadratic in the number of buffers, with a small constant. Returns the end of what is used.
constexpr index_t place_by_size(std::vector<Buffer>& buffers, index_t begin) {
    std::vector<std::size_t> by_size(buffers.size(), 0), by_offset; // clang 14 with libstdc++ 12 cannot fold vector(n)
    for (std::size_t i = 0; i < by_size.size(); ++i) by_size[i] = i;
    std::sort(by_size.begin(), by_size.end(), [&](std::size_t i, std::size_t j) { return buffers[i].bytes != buffers[j].bytes ? buffers[i].bytes > buffers[j].bytes : i < j; });
    index_t end = begin;
    for (std::size_t i : by_size) {
        Buffer& buffer = buffers[i];
        index_t offset = begin;
        for (std::size_t j : by_offset) {
            Buffer const& other = buffers[j];
            if (other.first > buffer.last || buffer.first > other.last) continue;
            if (offset + buffer.bytes <= other.offset) break;
            if (other.offset + other.bytes > offset) offset = other.offset + other.bytes;
        }
        buffer.offset = offset;
        if (offset + buffer.bytes > end) end = offset + buffer.bytes;
        std::size_t at = by_offset.size();
        while (at > 0 && buffers[by_offset[at - 1]].offset > offset) --at;
        by_offset.insert(by_offset.begin() + static_cast<std::ptrdiff_t>(at), i);
    }
    return end;
}

} // namespace detail

/// Lays the graph's values out. With `reuse` off every value keeps bytes of its own: the oracle of the tests. What follows the
/// parameters begins at `reserved` at the earliest: so an inference program leaves the optimiser's state alone in the trainer's arena.
[[nodiscard]] constexpr Plan plan_memory(Builder const& b, Fused const& fused, std::vector<int> const& outputs, BatchLayout layout, bool reuse,
                                         index_t reserved = 0) {
    Plan plan;
    plan.offset.assign(b.nodes.size(), -1);
    int const stages = static_cast<int>(fused.stages.size());
    auto const bytes_of = [&](int id) { return graph::bytes_of(b[id].dtype, layout.elements(b[id].shape, b[id].batched)); };
    auto const rounded = [](index_t bytes) { return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment; };
    index_t top = 0;
    auto const append = [&](int id, int first, int last, bool persistent) {
        plan.buffers.push_back({id, top, rounded(bytes_of(id)), first, last, persistent});
        top += plan.buffers.back().bytes;
        return bytes_of(id);
    };

    // What lives from step to step comes first; parameters lie together in their order.
    for (Parameter const& p : b.parameters) plan.memory.parameters += append(p.node, 0, stages, true);
    if (top < reserved) top = reserved;
    for (State const& s : b.states) plan.memory.optimizer_state += append(s.node, 0, stages, true);
    plan.memory.kept = top;
    for (int id = 0; id < b.size(); ++id)
        if (b[id].op->kind == Kind::source && !b[id].is(parameter_op) && !b[id].is(state_op)) {
            bool const within_step = b[id].is(input_op) || b[id].is(label_op);
            (void)append(id, 0, stages, !within_step);
        }
    index_t const before = top;

    std::vector<Buffer> passing;
    for (int id = 0; id < b.size(); ++id) {
        if (fused.stored[static_cast<std::size_t>(id)] == 0) continue;
        int const first = fused.home[static_cast<std::size_t>(id)];
        int last = fused.last_reader[static_cast<std::size_t>(id)];
        if (last < first) last = first;
        for (int output : outputs)
            if (storage(b, output) == id) last = stages;
        passing.push_back({id, 0, rounded(bytes_of(id)), first, last, false});
    }
    if (reuse) {
        top = detail::place_by_size(passing, before);
    } else {
        for (Buffer& buffer : passing) {
            buffer.offset = top;
            top += buffer.bytes;
        }
    }
    plan.buffers.insert(plan.buffers.end(), passing.begin(), passing.end());
    for (Buffer const& buffer : plan.buffers) plan.offset[static_cast<std::size_t>(buffer.node)] = buffer.offset;
    plan.memory.total = top;
    plan.memory.activations = top - before;
    plan.memory.other = before - plan.memory.parameters - plan.memory.optimizer_state;
    return plan;
}

/// The proof: no two buffers that are alive in the same stage share a byte.
[[nodiscard]] constexpr bool disjoint(Buffer const* buffers, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = i + 1; j < count; ++j) {
            Buffer const &x = buffers[i], &y = buffers[j];
            bool const meet_in_time = x.first <= y.last && y.first <= x.last;
            bool const meet_in_space = x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
            if (meet_in_time && meet_in_space) return false;
        }
    return true;
}

} // namespace tenon::graph
