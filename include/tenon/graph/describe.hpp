/// @file
/// What a compiled step costs, stage by stage: floating-point operations and bytes, as constants.
#pragma once

#include <tenon/graph/compile.hpp>

namespace tenon::graph {

/// The cost of one stage for a number of samples.
struct Cost {
    index_t flops = 0;     ///< multiplications and additions of the anchor
    index_t pointwise = 0; ///< elementary functions of the programs
    index_t bytes = 0;     ///< of buffers read plus buffers written, each counted once

    constexpr Cost& operator+=(Cost const& other) {
        flops += other.flops;
        pointwise += other.pointwise;
        bytes += other.bytes;
        return *this;
    }
};

/// The cost of stage `s` for `samples` samples. `Tables` is a compiled graph's.
template <class T>
[[nodiscard]] constexpr Cost stage_cost(T const& t, int s, index_t samples) {
    auto const at = [](int i) { return static_cast<std::size_t>(i); };
    Stage const& stage = t.stages[at(s)];
    Cost cost;
    auto const bytes_of = [&](int id) {
        Node const& node = t.nodes[at(id)];
        return graph::bytes_of(node.dtype, node.shape.count() * (node.batched ? samples : 1));
    };
    std::vector<int> counted; // a buffer that is read and written counts twice, read twice once
    auto const count_once = [&](int id, bool written) {
        int const key = 2 * t.storage(id) + (written ? 1 : 0);
        for (int other : counted)
            if (other == key) return;
        counted.push_back(key);
        cost.bytes += bytes_of(t.storage(id));
    };
    if (stage.anchor >= 0) {
        Node const& anchor = t.nodes[at(stage.anchor)];
        Node const* inputs[Node::max_inputs]{};
        for (std::size_t i = 0; i < Node::max_inputs; ++i)
            if (anchor.input[i] >= 0) {
                inputs[i] = &t.nodes[at(anchor.input[i])];
                count_once(anchor.input[i], false);
            }
        cost.flops = anchor.op->flops(anchor, inputs) * samples;
        if (!anchor.op->tiles) count_once(stage.anchor, true);
        for (int companion : stage.companion)
            if (companion >= 0) count_once(companion, true);
        for (int companion : stage.pool_companion)
            if (companion >= 0) count_once(companion, true);
    }
    for (int p = 0; p < stage.phases; ++p) {
        Phase const& phase = stage.phase[at(p)];
        index_t const elements = phase.shape.count() * (phase.batched ? samples : 1);
        for (int i = phase.code_begin; i < phase.code_end; ++i) {
            Instruction const step = Instruction::decode(t.code[at(i)]);
            if (step.fn == Fn::load || step.fn == Fn::store) {
                int const node = t.operands[at(phase.operand_begin + step.operand())].node;
                if (node >= 0) count_once(node, step.fn == Fn::store);
            } else if (step.fn != Fn::constant) {
                cost.pointwise += elements;
            }
        }
    }
    return cost;
}

/// The cost of all stages.
template <class T>
[[nodiscard]] constexpr Cost step_cost(T const& t, index_t samples) {
    Cost total;
    for (int s = 0; s < t.sizes.stages; ++s) total += stage_cost(t, s, samples);
    return total;
}

} // namespace tenon::graph
