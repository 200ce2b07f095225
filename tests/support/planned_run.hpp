/// @file
/// Runs a compiled graph on the CPU outside of a trainer: any source that writes a graph, its inputs by node number.
#pragma once

#include <tenon/cpu/machine.hpp>
#include <tenon/cpu/operations.hpp>
#include <tenon/nn/loss.hpp>

#include <array>
#include <cstring>
#include <vector>

namespace tenon::test {

/// What the compiler saw of a graph. A run-time Builder would number some nodes otherwise: the order in which operands of one
/// expression are evaluated is the compiler's choice, and constant evaluation may choose another one.
template <class Source>
struct Frozen {
    static constexpr auto const& tables = graph::Compiled<Source>::tables;

    /// The nodes that are read after the step.
    static constexpr auto outputs = [] {
        constexpr std::size_t count = [] {
            graph::Builder b;
            return Source::write(b).outputs.size();
        }();
        std::array<int, count> found{};
        graph::Builder b;
        std::vector<int> const written = Source::write(b).outputs;
        for (std::size_t i = 0; i < count; ++i) found[i] = written[i];
        return found;
    }();

    /// The same graph for an Interpreter.
    [[nodiscard]] static graph::Builder graph() {
        graph::Builder b;
        b.nodes.assign(tables.nodes.begin(), tables.nodes.begin() + tables.sizes.nodes);
        b.parameters.assign(tables.parameters.begin(), tables.parameters.begin() + tables.sizes.parameters);
        b.states.assign(tables.states.begin(), tables.states.begin() + tables.sizes.states);
        b.verdict = tables.verdict;
        return b;
    }
};

/// The planned step of what `Source` writes, with an arena of its own that is full of NaN at first.
template <class Source>
class PlannedRun {
public:
    using Compiled = graph::Compiled<Source>;
    static constexpr auto const& tables = Compiled::tables;
    static constexpr int lanes = Source::layout.lanes;

    /// @param samples in the batch, at most the capacity of the source's layout
    explicit PlannedRun(index_t samples, int threads = 1)
        : samples_{samples}, threads_{threads}, arena_{tables.memory.total},
          scratch_{cpu::Executor<Compiled>::scratch * threads_.size() * static_cast<index_t>(sizeof(float))} {
        poison();
    }

    /// Fills everything with NaN (as floats), scratch memory too.
    void poison() {
        std::memset(arena_.data(), 0xFF, static_cast<std::size_t>(arena_.size()));
        std::memset(scratch_.data(), 0xFF, static_cast<std::size_t>(scratch_.size()));
    }

    /// Writes [samples][elements] into a batched node, or [elements]. The lanes that no sample fills are as a trainer leaves them:
    /// targets and upstream gradients are zero there, everything else repeats a sample.
    template <class Numbers>
    void set(int node, Numbers const& numbers) {
        graph::Node const& n = at_node(node);
        index_t const count = n.shape.count(), padded = n.batched ? program_.padded(samples_) : 1;
        bool const zero_if_absent = n.is(graph::label_op) || n.is(graph::presence_op);
        for (index_t s = 0; s < padded; ++s)
            for (index_t e = 0; e < count; ++e) {
                bool const absent = n.batched && s >= samples_;
                index_t const from = absent ? s / lanes * lanes : s;
                double const number = absent && zero_if_absent ? 0 : static_cast<double>(numbers[static_cast<std::size_t>(from * count + e)]);
                if (n.dtype == graph::Dtype::i32) *place<std::int32_t>(node, s, e) = static_cast<std::int32_t>(number);
                else *place<float>(node, s, e) = static_cast<float>(number);
            }
    }
    void set_number(int node, double value) { *place<float>(node, 0, 0) = static_cast<float>(value); }
    void set_random(int node, RandomSource const& source) { *place<RandomSource>(node, 0, 0) = source; }

    void run() {
        for (auto const& stage : program_.stages)
            stage.kernel({arena_.data(), program_.slots.data() + stage.first_slot, program_.padded(samples_) / lanes, samples_, &threads_,
                          reinterpret_cast<float*>(scratch_.data()), cpu::Executor<Compiled>::scratch});
    }

    /// [samples][elements] of a batched node, or [elements].
    [[nodiscard]] std::vector<float> get(int node) const {
        graph::Node const& n = at_node(node);
        std::vector<float> numbers;
        for (index_t s = 0; s < (n.batched ? samples_ : 1); ++s)
            for (index_t e = 0; e < n.shape.count(); ++e)
                numbers.push_back(n.dtype == graph::Dtype::u8    ? static_cast<float>(*place<std::uint8_t>(node, s, e))
                                  : n.dtype == graph::Dtype::i32 ? static_cast<float>(*place<std::int32_t>(node, s, e))
                                                                 : *place<float>(node, s, e));
        return numbers;
    }
    [[nodiscard]] float number(int node) const { return get(node).at(0); }

private:
    index_t samples_;
    graph::Program<cpu::Cpu::Kernel> program_ = graph::make_program<Compiled, cpu::Cpu>();
    cpu::ThreadPool threads_;
    cpu::Arena arena_, scratch_;

    [[nodiscard]] static graph::Node const& at_node(int node) { return tables.nodes[static_cast<std::size_t>(node)]; }

    template <class Number>
    [[nodiscard]] Number* place(int node, index_t sample, index_t element) const {
        graph::Node const& n = at_node(node);
        index_t const offset = tables.offset[static_cast<std::size_t>(tables.storage(node))];
        if (offset < 0) fail("planned run: node " + std::to_string(node) + " has no memory of its own");
        index_t const count = n.shape.count();
        index_t const at = n.batched ? (sample / lanes * count + element) * lanes + sample % lanes : element;
        return reinterpret_cast<Number*>(arena_.data() + offset) + at;
    }
};

} // namespace tenon::test
