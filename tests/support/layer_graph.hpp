/// @file
/// Layers alone in a graph: between an input that gets a gradient and a gradient that comes from above.
#pragma once

#include <tenon/graph/compile.hpp>
#include <tenon/nn/network.hpp>

#include <array>

namespace tenon::test {

/// The nodes of such a graph.
struct LayerNodes {
    int x = -1, y = -1, dy = -1;
    int parameters = 0;              ///< x and the layers' own
    std::array<int, 64> gradient = none(); ///< of x, then of the layers' parameters in their order; -1: none flows there

    static constexpr std::array<int, 64> none() {
        std::array<int, 64> all{};
        all.fill(-1);
        return all;
    }
};

/// Writes `layers` after a batched parameter x [samples][shape], and the gradient of sum(y * dy) by x and all parameters.
/// Parameter 0 is x, so that it gets a gradient.
template <class... Layer>
constexpr LayerNodes write_layers(graph::Builder& b, Dims const& shape, Layer const&... layer) {
    graph::Parameter input;
    input.shape = shape;
    input.node = b.source(graph::parameter_op, shape, true, 0);
    b.parameters.push_back(input);
    graph::Value y{&b, input.node};
    int number = 0;
    ((y = detail::write_layer(b, layer, number++, y)), ...);
    LayerNodes nodes;
    nodes.x = input.node;
    nodes.y = y.id;
    nodes.dy = b.source(graph::label_op, Dims{y.shape()}, true, 0);
    for (int gradient : graph::differentiate(b, y, {&b, nodes.dy}))
        nodes.gradient[static_cast<std::size_t>(nodes.parameters++)] = gradient;
    return nodes;
}

/// The same graph for the planner: y and all gradients are read after the step.
template <graph::BatchLayout Layout, Input In, auto... Layers>
struct LayerSource {
    static constexpr graph::BatchLayout layout = Layout;
    static constexpr bool reuse = true;
    static constexpr index_t reserved = 0;

    static constexpr graph::Roots write(graph::Builder& b) {
        LayerNodes const written = write_layers(b, In.shape(), Layers...);
        graph::Roots roots{written.y, -1, {written.y}};
        for (int gradient : written.gradient)
            if (gradient >= 0) roots.outputs.push_back(gradient);
        return roots;
    }

    /// Constant, and so numbered as the planned program is.
    static constexpr LayerNodes nodes = [] {
        graph::Builder b;
        return write_layers(b, In.shape(), Layers...);
    }();
};

} // namespace tenon::test
