/// @file
/// A loss alone in a graph, and what a loss must be told before each batch.
#pragma once

#include "derivative.hpp"
#include "numbers.hpp"
#include "planned_run.hpp"

#include <tenon/nn/layers.hpp>

namespace tenon::test {

struct LossGraph {
    int output = -1; ///< the network's output: a source here
    int loss = -1, gradient = -1;
};

/// Loss and gradient of an output of shape In, for the planner.
template <graph::BatchLayout Layout, class Loss, Input In>
struct LossSource {
    static constexpr graph::BatchLayout layout = Layout;
    static constexpr bool reuse = true;
    static constexpr index_t reserved = 0;

    static constexpr LossGraph write_nodes(graph::Builder& b) {
        graph::Value const output{&b, b.source(graph::input_op, In.shape(), true, 0)};
        graph::LossNodes const written = Loss::write(b, output);
        return {output.id, written.loss, written.gradient.id};
    }
    static constexpr graph::Roots write(graph::Builder& b) {
        LossGraph const written = write_nodes(b);
        return {written.output, written.loss, {written.loss, written.gradient}};
    }

    /// Constant, and so numbered as the planned program is.
    static constexpr LossGraph nodes = [] {
        graph::Builder b;
        return write_nodes(b);
    }();
};

/// Sets the sources that a loss reads, in an Interpreter or a PlannedRun: targets [samples][targets of one sample].
template <class Run, class Loss, class Targets>
void give_loss(Run& run, graph::Builder const& b, Loss const& loss, Targets const& targets, index_t samples) {
    for (int id = 0; id < b.size(); ++id) {
        graph::Node const& node = b[id];
        if (node.is(graph::label_op)) run.set(id, targets);
        if (node.is(graph::presence_op)) run.set(id, std::vector<float>(static_cast<std::size_t>(samples), 1.0f));
        if (node.is(graph::number_op) && node.attribute[0] == graph::inverse_count)
            run.set_number(id, 1 / static_cast<double>(samples));
        if (node.is(graph::setting_op)) {
            std::vector<float> setting(static_cast<std::size_t>(node.shape.count()));
            loss.fill_setting(node.attribute[0], setting.data(), node.shape.count());
            run.set(id, setting);
        }
    }
}

/// A batch's loss and its gradient [samples][elements].
struct LossValues {
    double loss = 0;
    std::vector<float> gradient;
};

/// What the planned program finds, on memory full of NaN, for a batch of `samples`.
template <graph::BatchLayout Layout, class Loss, Input In, class Outputs, class Targets>
[[nodiscard]] LossValues planned_loss(Loss const& loss, Outputs const& outputs, Targets const& targets, index_t samples) {
    using Source = LossSource<Layout, Loss, In>;
    graph::Builder const b = Frozen<Source>::graph();
    constexpr LossGraph nodes = Source::nodes;
    PlannedRun<Source> run{samples};
    give_loss(run, b, loss, targets, samples);
    run.set(nodes.output, outputs);
    run.run();
    return {static_cast<double>(run.number(nodes.loss)), run.get(nodes.gradient)};
}

/// What every loss must pass: its gradient is the derivative, and the program agrees with the definition.
/// @param outputs, targets of `samples` samples
template <graph::BatchLayout Layout, class Loss, Input In, class Outputs, class Targets>
void check_loss(Loss const& loss, Outputs const& outputs, Targets const& targets, index_t samples) {
    using Source = LossSource<Layout, Loss, In>;
    CAPTURE(samples);
    graph::Builder const b = Frozen<Source>::graph();
    constexpr LossGraph nodes = Source::nodes;
    Interpreter run{b, samples};
    give_loss(run, b, loss, targets, samples);
    run.set(nodes.output, outputs);
    check_derivative(run, b, nodes.output, nodes.gradient, [&] { return run.number(nodes.loss); });

    LossValues const found = planned_loss<Layout, Loss, In>(loss, outputs, targets, samples);
    CHECK(std::abs(found.loss - run.number(nodes.loss)) <= 2e-6 * std::abs(run.number(nodes.loss))); // relative, also where it is tiny
    CHECK(distance(found.gradient, run[nodes.gradient].data) <= 4e-6);
}

} // namespace tenon::test
