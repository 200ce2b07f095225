/// @file
/// The oracle: evaluates a graph node by node, in double, by the definition of each operation. It knows nothing of
/// stages, lanes or plans, and shares no arithmetic with the backends.
///
///     test::Interpreter run{builder, samples};
///     run.set(weight, values);                       // every source that the wanted nodes need
///     double const loss = run.number(loss_node);     // computes what is needed, once
///     run.assign();                                  // the graph's updates: parameters and states take their new values
#pragma once

#include "interpreter/anchors.hpp"

#include <tenon/graph/builder.hpp>

#include <map>
#include <span>

namespace tenon::test {

/// Values of a graph for a batch of `samples` samples. Refers to the graph: it must not outlive it.
class Interpreter {
public:
    Interpreter(graph::Builder const& graph, index_t samples)
        : b{graph}, samples_{samples}, values_(b.nodes.size()), known_(b.nodes.size(), 0) {}

    /// Gives a source its values, [samples][elements] if it is batched, and forgets what was computed.
    template <class Numbers>
    void set(int node, Numbers const& numbers) {
        Values v(b[node], samples_);
        if (v.data.size() != std::size(numbers))
            fail("interpreter: node " + std::to_string(node) + " has " + std::to_string(v.data.size()) + " values, not " +
                 std::to_string(std::size(numbers)));
        std::size_t i = 0;
        for (auto number : numbers) v.data[i++] = static_cast<double>(number);
        sources_[node] = std::move(v);
        forget();
    }
    void set_number(int node, double value) { set(node, std::span{&value, 1}); }
    void set_random(int node, RandomSource const& source) {
        random_[node] = source;
        forget();
    }

    /// Adds `change` to one value of a source: what central differences do.
    void nudge(int node, std::size_t element, double change) {
        sources_.at(node).data[element] += change;
        forget();
    }

    /// The values of a node, computed now if need be.
    [[nodiscard]] Values const& operator[](int node) {
        compute(node);
        return values_[static_cast<std::size_t>(node)];
    }
    [[nodiscard]] double number(int node) { return (*this)[node].data.at(0); }

    /// Carries out the assignments of the graph, all of them from the values before.
    void assign() {
        std::map<int, Values> next;
        for (graph::Node const& node : b.nodes)
            if (node.op->kind == graph::Kind::assign) next[node.input[0]] = (*this)[node.input[1]];
        for (auto& [target, v] : next) sources_[target].data = std::move(v.data);
        forget();
    }

private:
    graph::Builder const& b;
    index_t samples_;
    std::vector<Values> values_;
    std::vector<char> known_;
    std::map<int, Values> sources_;
    std::map<int, RandomSource> random_;

    void forget() { known_.assign(known_.size(), 0); }

    void compute(int wanted) {
        // Inputs have smaller numbers: mark downwards, compute upwards. No recursion: a graph may be thousands deep.
        std::vector<char> needed(static_cast<std::size_t>(wanted) + 1, 0);
        needed.back() = 1;
        for (int id = wanted; id >= 0; --id) {
            if (needed[static_cast<std::size_t>(id)] == 0 || known_[static_cast<std::size_t>(id)] != 0) continue;
            for (int input : b[id].input)
                if (input >= 0) needed[static_cast<std::size_t>(input)] = 1;
        }
        for (int id = 0; id <= wanted; ++id) {
            auto const at = static_cast<std::size_t>(id);
            if (needed[at] == 0 || known_[at] != 0) continue;
            evaluate(id);
            known_[at] = 1;
        }
    }

    void evaluate(int id) {
        graph::Node const& node = b[id];
        Values& y = values_[static_cast<std::size_t>(id)];
        y = Values(node, samples_);
        switch (node.op->kind) {
        case graph::Kind::source:
            if (node.is(graph::random_op)) return;
            if (!sources_.contains(id))
                fail("interpreter: source " + std::to_string(id) + " (" + node.op->name + ") was given no values");
            y = sources_.at(id);
            return;
        case graph::Kind::constant: y.data[0] = static_cast<double>(node.value); return;
        case graph::Kind::view: y.data = input(node, 0).data; return;
        case graph::Kind::pointwise: pointwise(node, y); return;
        case graph::Kind::anchor: anchor(node, y); return;
        case graph::Kind::assign: fail("interpreter: an assignment has no value");
        }
    }

    [[nodiscard]] Values const& input(graph::Node const& node, std::size_t i) const {
        return values_[static_cast<std::size_t>(node.input[i])];
    }

    void pointwise(graph::Node const& node, Values& y) {
        if (node.fn() == Fn::random) return interpret_random(random_.at(node.input[0]), y);
        Values const* inputs[3]{};
        for (std::size_t i = 0; i < 3; ++i)
            if (node.input[i] >= 0) inputs[i] = &input(node, i);
        interpret_pointwise(node.fn(), inputs, y);
    }

    void anchor(graph::Node const& node, Values& y) {
        Values const* inputs[graph::Node::max_inputs]{};
        for (std::size_t i = 0; i < graph::Node::max_inputs; ++i)
            if (node.input[i] >= 0) inputs[i] = &input(node, i);
        interpret_anchor(node, inputs, y);
    }
};

} // namespace tenon::test
