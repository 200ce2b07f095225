/// @file
/// What every layer must pass, and one line for each new case:
///
///     test::test_layer<Input{3, 7, 9}, Conv2d{.out = 4, .kernel = 3, .stride = 2}>();
///
/// - its gradients (input and parameters) are those that central differences find, in double;
/// - the fused, planned program on the CPU agrees with the definition, forward and backward, for batches that fill
///   vectors and batches that do not, on memory full of NaN.
#pragma once

#include "derivative.hpp"
#include "layer_graph.hpp"
#include "numbers.hpp"
#include "planned_run.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

namespace tenon::test {

/// What a case may say beside the layers.
struct LayerOptions {
    float low = -1, high = 1; ///< of the inputs
    double tolerance = 4e-6;  ///< of the float program, relative to the largest magnitude of the tensor
    std::uint64_t seed = 1;
};

/// Random numbers for every source of a layer's graph.
class LayerInputs {
public:
    LayerInputs(graph::Builder const& b, LayerNodes const& nodes, index_t samples, LayerOptions const& options) {
        for (graph::Parameter const& p : b.parameters) {
            bool const input = p.node == nodes.x;
            index_t const count = p.shape.count() * (input ? samples : 1);
            std::uint64_t const seed = 1000 * options.seed + static_cast<std::uint64_t>(p.node);
            values.push_back(input ? random_numbers(count, seed, options.low, options.high) : random_numbers(count, seed));
            node.push_back(p.node);
        }
        values.push_back(random_numbers(b.shape(nodes.dy).count() * samples, 1000 * options.seed + 999));
        node.push_back(nodes.dy);
        for (int id = 0; id < b.size(); ++id)
            if (b[id].is(graph::random_op))
                random.push_back({id, RandomSource{options.seed, static_cast<std::uint32_t>(id), 5}});
    }

    std::vector<int> node;
    std::vector<std::vector<float>> values;
    struct Random {
        int node;
        RandomSource source;
    };
    std::vector<Random> random;

    /// To an Interpreter or a PlannedRun.
    template <class Run>
    void give(Run& run) const {
        for (std::size_t i = 0; i < node.size(); ++i) run.set(node[i], values[i]);
        for (Random const& r : random) run.set_random(r.node, r.source);
    }
};

/// Gradients against central differences of sum(y * dy).
template <Input In, auto... Layers>
void check_layer_gradients(LayerOptions const& options) {
    index_t const samples = 3;
    graph::Builder b;
    LayerNodes const nodes = write_layers(b, In.shape(), Layers...);
    REQUIRE(b.verdict.ok());
    Interpreter run{b, samples};
    LayerInputs{b, nodes, samples, options}.give(run);
    std::vector<double> const dy = run[nodes.dy].data;
    auto const objective = [&] {
        std::vector<double> const& y = run[nodes.y].data;
        double sum = 0;
        for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
        return sum;
    };
    for (std::size_t p = 0; p < b.parameters.size(); ++p)
        check_derivative(run, b, b.parameters[p].node, nodes.gradient[p], objective);
}

/// The planned program with up to Layout.capacity samples against the interpreter.
template <graph::BatchLayout Layout, Input In, auto... Layers>
void check_layer_plan(std::initializer_list<index_t> batches, LayerOptions const& options) {
    using Source = LayerSource<Layout, In, Layers...>;
    graph::Builder const b = Frozen<Source>::graph();
    constexpr LayerNodes nodes = Source::nodes;
    for (index_t const samples : batches) {
        CAPTURE(samples);
        CAPTURE(Layout.lanes);
        LayerInputs const inputs{b, nodes, samples, options};
        Interpreter expected{b, samples};
        inputs.give(expected);
        PlannedRun<Source> found{samples};
        inputs.give(found);
        found.run();
        CHECK(distance(found.get(nodes.y), expected[nodes.y].data) <= options.tolerance);
        for (int const gradient : nodes.gradient) {
            if (gradient < 0) continue;
            CAPTURE(gradient);
            CHECK(distance(found.get(gradient), expected[gradient].data) <= options.tolerance);
        }
    }
}

/// The most images that lie side by side: what batches of many take.
inline constexpr int widest = cpu::native_lanes<float> < 4 ? 4 : cpu::native_lanes<float>;

/// Everything above, for the widest lanes, for four and for one. In.shape() is the shape of one sample.
template <Input In, auto... Layers>
void test_layer(LayerOptions const& options = {}) {
    check_layer_gradients<In, Layers...>(options);
    check_layer_plan<graph::BatchLayout{33, widest}, In, Layers...>({1, 3, 4, 5, 7, 16, 17, 33}, options);
    if constexpr (widest != 4) check_layer_plan<graph::BatchLayout{7, 4}, In, Layers...>({1, 4, 6, 7}, options);
    check_layer_plan<graph::BatchLayout{3, 1}, In, Layers...>({1, 2, 3}, options);
}

} // namespace tenon::test
