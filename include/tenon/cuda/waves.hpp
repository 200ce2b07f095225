/// @file
/// Which stages can be one kernel: those that do not depend on one another, and after them those of a single block, which the
/// block that finishes last goes on with. Found on the graph, before memory is planned, so that the plan keeps apart what runs side by side.
#pragma once

#include <tenon/graph/compile.hpp>

namespace tenon::cuda {

/// The most stages of a wave: its kernel takes as many registers as its most demanding job.
inline constexpr int max_jobs = 4;

/// For each stage: the number of its wave, and whether it stands in the wave's tail.
struct Waves {
    std::vector<int> wave;
    std::vector<char> in_tail;
};

namespace detail {

/// Which values a stage reads and writes, by the nodes that own them.
struct Footprint {
    std::vector<int> reads, writes;

    [[nodiscard]] static constexpr bool meet(std::vector<int> const& a, std::vector<int> const& b) {
        for (int x : a)
            for (int y : b)
                if (x == y) return true;
        return false;
    }
    [[nodiscard]] constexpr bool conflicts(Footprint const& other) const { return meet(writes, other.writes) || meet(writes, other.reads) || meet(reads, other.writes); }
};

/// Of a stage in a graph that is given by its arrays of nodes, code and operands.
template <class Nodes, class Code, class Operands>
constexpr Footprint footprint(graph::Stage const& stage, Nodes const& nodes, Code const& code, Operands const& operands) {
    auto const at = [](int i) { return static_cast<std::size_t>(i); };
    Footprint f;
    auto const add = [&](int node, bool written) {
        if (node < 0) return;
        while (nodes[at(node)].op->kind == graph::Kind::view) node = nodes[at(node)].input[0];
        (written ? f.writes : f.reads).push_back(node);
    };
    if (stage.anchor >= 0) {
        for (int input : nodes[at(stage.anchor)].input) add(input, false);
        if (!nodes[at(stage.anchor)].op->tiles) add(stage.anchor, true);
        for (int companion : stage.companion) add(companion, true);
        for (int companion : stage.pool_companion) add(companion, true);
    }
    for (int p = 0; p < stage.phases; ++p) {
        graph::Phase const& phase = stage.phase[at(p)];
        for (int i = phase.code_begin; i < phase.code_end; ++i) {
            Instruction const step = Instruction::decode(code[at(i)]);
            if (step.fn == Fn::load || step.fn == Fn::store || step.fn == Fn::random) add(operands[at(phase.operand_begin + step.operand())].node, step.fn == Fn::store);
        }
    }
    return f;
}

} // namespace detail

/// Consecutive stages in waves. Those before a wave's tail write nothing that another of them reads or writes; the tail's run one
/// after the other. `alone(s)`: stage s has a single block; `together(s, first)`: its kernel can be that of stage `first`.
template <class Stages, class Nodes, class Code, class Operands, class Alone, class Together>
constexpr Waves find_waves(int count, Stages const& stages, Nodes const& nodes, Code const& code, Operands const& operands, Alone const& alone, Together const& together) {
    Waves found;
    std::vector<detail::Footprint> wave;
    int first = 0;
    for (int s = 0; s < count; ++s) {
        detail::Footprint mine = detail::footprint(stages[static_cast<std::size_t>(s)], nodes, code, operands);
        bool const fits = !wave.empty() && static_cast<int>(wave.size()) < max_jobs && together(s, first);
        bool side_by_side = fits && found.in_tail.back() == 0;
        for (detail::Footprint const& other : wave) side_by_side = side_by_side && !mine.conflicts(other);
        bool const tail = fits && !side_by_side && alone(s);
        if (!side_by_side && !tail) {
            wave.clear();
            first = s;
        }
        found.wave.push_back(found.wave.empty() ? 0 : found.wave.back() + (wave.empty() ? 1 : 0));
        found.in_tail.push_back(tail ? 1 : 0);
        wave.push_back(mine);
    }
    return found;
}

/// The waves that memory is planned for. The executor may split them, where jobs have other numbers of threads.
template <class Stages, class Nodes, class Code, class Operands>
constexpr Waves find_planned_waves(int count, Stages const& stages, Nodes const& nodes, Code const& code, Operands const& operands) {
    auto const alone = [&](int s) {
        int const anchor = stages[static_cast<std::size_t>(s)].anchor;
        return anchor >= 0 && !nodes[static_cast<std::size_t>(anchor)].op->tiles;
    };
    return find_waves(count, stages, nodes, code, operands, alone, [](int, int) { return true; });
}

/// The memory plan for stages that run in waves: a buffer lives from the first stage of the wave that makes it to the last of the
/// wave that reads it last.
[[nodiscard]] constexpr graph::Plan plan_for_waves(graph::Builder const& b, graph::Fused const& fused, std::vector<int> const& outputs, graph::BatchLayout layout, bool reuse, index_t reserved) {
    auto const at = [](int i) { return static_cast<std::size_t>(i); };
    int const count = static_cast<int>(fused.stages.size());
    Waves const waves = find_planned_waves(count, fused.stages, b.nodes, fused.code, fused.operands);

    graph::Fused in_waves = fused; // with waves for stages
    if (count > 0) in_waves.stages.resize(at(waves.wave.back() + 1));
    for (std::vector<int>* stages : {&in_waves.home, &in_waves.last_reader})
        for (int& s : *stages)
            if (s >= 0) s = waves.wave[at(s)];
    graph::Plan plan = plan_memory(b, in_waves, outputs, layout, reuse, reserved);
    for (graph::Buffer& buffer : plan.buffers) { // and back
        int first = 0, last = count;
        while (first < count && waves.wave[at(first)] < buffer.first) ++first;
        if (count > 0 && buffer.last <= waves.wave.back()) {
            last = count - 1;
            while (last > first && waves.wave[at(last)] > buffer.last) --last;
        }
        buffer.first = first;
        buffer.last = last;
    }
    return plan;
}

} // namespace tenon::cuda
