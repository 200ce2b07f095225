/// @file
/// Runs a fused and planned graph stage by stage, in double, at run time: what a backend does, without templates. So fusion and
/// memory plan are tested on as many graphs as one likes, none of which the compiler needs to see.
#pragma once

#include "interpreter.hpp"

#include <tenon/graph/plan.hpp>

#include <limits>

namespace tenon::test {

/// The arena holds one double at the place of each element's first byte; whoever overwrites it destroys the element. All NaN
/// at first. A layout of one lane: [samples][elements].
class StageInterpreter {
public:
    StageInterpreter(graph::Builder const& graph, graph::Fused const& fused, graph::Plan const& plan, index_t samples)
        : b{graph}, fused_{fused}, plan_{plan}, samples_{samples},
          arena_(static_cast<std::size_t>(plan.memory.total), std::numeric_limits<double>::quiet_NaN()) {}

    template <class Numbers>
    void set(int node, Numbers const& numbers) {
        index_t i = 0;
        for (auto number : numbers) element(node, i++) = static_cast<double>(number);
    }
    void set_random(int node, RandomSource const& source) { random_[node] = source; }

    /// The values of a node that has memory.
    [[nodiscard]] Values get(int id) const {
        Values v(b[id], samples_);
        for (std::size_t i = 0; i < v.data.size(); ++i) v.data[i] = element(id, static_cast<index_t>(i));
        return v;
    }

    void run() {
        for (graph::Stage const& stage : fused_.stages) run(stage);
    }

private:
    graph::Builder const& b;
    graph::Fused const& fused_;
    graph::Plan const& plan_;
    index_t samples_;
    std::vector<double> arena_;
    std::map<int, RandomSource> random_;

    [[nodiscard]] std::size_t place(int id, index_t i) const {
        int const owner = graph::storage(b, id);
        index_t const offset = plan_.offset[static_cast<std::size_t>(owner)];
        if (offset < 0) fail("stage interpreter: node " + std::to_string(id) + " (" + b[id].op->name + ") has no memory");
        return static_cast<std::size_t>(offset + graph::bytes_of(b[owner].dtype, i));
    }
    [[nodiscard]] double& element(int id, index_t i) { return arena_.at(place(id, i)); }
    [[nodiscard]] double element(int id, index_t i) const { return arena_.at(place(id, i)); }

    void run(graph::Stage const& stage) {
        Values tile;
        if (stage.anchor >= 0) tile = compute(stage.anchor, nullptr);
        if (stage.anchor >= 0 && !b[stage.anchor].op->tiles) write(stage.anchor, tile);
        for (int companion : stage.companion)
            if (companion >= 0) write(companion, compute(companion, nullptr));
        run(stage.phase[0], tile);
        if (stage.pool < 0) return;
        Values pooled = compute(stage.pool, &tile);
        for (int companion : stage.pool_companion)
            if (companion >= 0) write(companion, compute(companion, &tile));
        run(stage.phase[1], pooled);
    }

    /// An anchor's result from memory, or from the tile.
    [[nodiscard]] Values compute(int id, Values const* tile) const {
        Values inputs[graph::Node::max_inputs];
        Values const* given[graph::Node::max_inputs]{};
        for (std::size_t i = 0; i < graph::Node::max_inputs; ++i) {
            if (b[id].input[i] < 0) continue;
            if (tile == nullptr) inputs[i] = get(b[id].input[i]);
            given[i] = tile != nullptr ? tile : &inputs[i];
        }
        Values y(b[id], samples_);
        interpret_anchor(b[id], given, y);
        return y;
    }

    void write(int id, Values const& v) {
        if (fused_.stored[static_cast<std::size_t>(id)] == 0) return;
        for (std::size_t i = 0; i < v.data.size(); ++i) element(id, static_cast<index_t>(i)) = v.data[i];
    }

    void run(graph::Phase const& phase, Values& tile) {
        if (phase.code_begin == phase.code_end) return;
        index_t const count = phase.shape.count();
        for (index_t sample = 0; sample < (phase.batched ? samples_ : 1); ++sample)
            for (index_t e = 0; e < count; ++e) run(phase, sample, e, tile);
    }

    /// The program of one element.
    void run(graph::Phase const& phase, index_t sample, index_t e, Values& tile) {
        double value[256];
        int const steps = phase.code_end - phase.code_begin;
        if (steps > 256) fail("stage interpreter: a program of " + std::to_string(steps) + " steps");
        for (int i = 0; i < steps; ++i) {
            Instruction const step = Instruction::decode(fused_.code[static_cast<std::size_t>(phase.code_begin + i)]);
            if (arity(step.fn) > 0 && (step.a >= i || (arity(step.fn) > 1 && step.b >= i) || (arity(step.fn) > 2 && step.c >= i)))
                fail("stage interpreter: a step uses the value of a later one");
            if (step.fn == Fn::load || step.fn == Fn::store || step.fn == Fn::random) {
                graph::Operand const& operand = fused_.operands[static_cast<std::size_t>(phase.operand_begin) + step.payload];
                index_t const at = (operand.batched ? sample * operand.view.count() : 0) + broadcast_element(operand.view, phase.shape, e);
                double* const from = operand.node < 0 ? &tile.at(sample)[e] : step.fn == Fn::random ? nullptr : &element(operand.node, at);
                if (step.fn == Fn::store) *from = value[step.a];
                else value[i] = step.fn == Fn::load ? *from : static_cast<double>(uniform(random_.at(operand.node), static_cast<std::uint64_t>(at)));
            } else if (step.fn == Fn::constant) {
                value[i] = static_cast<double>(step.value());
            } else {
                value[i] = evaluate_in_double(step.fn, value[step.a], value[step.b], value[step.c]);
            }
        }
    }
};

} // namespace tenon::test
