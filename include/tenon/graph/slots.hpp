/// @file
/// How a stage's buffers are numbered, and where they lie, as one flat table for all stages.
#pragma once

#include <tenon/graph/compile.hpp>

namespace tenon::graph {

/// A stage's buffers, by number.
enum Slot : int { input_slot = 0, result_slot = 4, companion_slot = 5, pool_companion_slot = 7, first_operand_slot = 9 };

/// The places of every stage's buffers in the arena; -1 for what a stage does not have.
template <class C>
struct SlotTable {
    static constexpr int stages = C::tables.sizes.stages;

    static constexpr Stage const& stage(int s) { return C::tables.stages[static_cast<std::size_t>(s)]; }
    static constexpr int count() {
        int n = 0;
        for (int s = 0; s < stages; ++s) n += first_operand_slot + stage(s).operand_end() - stage(s).operand_begin();
        return n;
    }

    struct Places {
        std::array<index_t, static_cast<std::size_t>(count()) + 1> offset{};
        std::array<int, static_cast<std::size_t>(stages) + 1> begin{};
    };

    static constexpr Places find() {
        Places found;
        int n = 0;
        auto const put = [&](int node) { found.offset[static_cast<std::size_t>(n++)] = node < 0 ? -1 : C::tables.offset[static_cast<std::size_t>(C::tables.storage(node))]; };
        for (int s = 0; s < stages; ++s) {
            int const anchor = stage(s).anchor;
            found.begin[static_cast<std::size_t>(s)] = n;
            for (int i = 0; i < Node::max_inputs; ++i) put(anchor < 0 ? -1 : C::tables.nodes[static_cast<std::size_t>(anchor)].input[static_cast<std::size_t>(i)]);
            put(anchor);
            for (int companion : stage(s).companion) put(companion);
            for (int companion : stage(s).pool_companion) put(companion);
            for (int o = stage(s).operand_begin(); o < stage(s).operand_end(); ++o) put(C::tables.operands[static_cast<std::size_t>(o)].node);
        }
        return found;
    }

    static constexpr Places places = find();
};

} // namespace tenon::graph
