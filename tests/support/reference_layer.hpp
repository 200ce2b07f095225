/// @file
/// Layers against PyTorch's values: the interpreter in double, and the planned program in float.
#pragma once

#include "interpreter.hpp"
#include "layer_graph.hpp"
#include "numbers.hpp"
#include "planned_run.hpp"
#include "reference.hpp"

#include <doctest/doctest.h>

namespace tenon::test {

/// Case `name` of a reference file: x, dy and the parameters go in; y and every gradient that the file has must come out.
/// @param tolerance of the float program, see distance(); 0: to the bit
template <graph::BatchLayout Layout, Input In, auto... Layers>
void check_reference(Reference const& reference, std::string const& name, double tolerance) {
    using Source = LayerSource<Layout, In, Layers...>;
    CAPTURE(name);
    graph::Builder const b = Frozen<Source>::graph();
    constexpr LayerNodes nodes = Source::nodes;
    REQUIRE(b.verdict.ok());
    index_t const samples = reference.tensor(name + ".x").shape[0];
    REQUIRE(samples <= Layout.capacity);

    Interpreter exact{b, samples};
    PlannedRun<Source> planned{samples};
    auto const give = [&](int node, std::string const& tensor) {
        exact.set(node, reference.tensor(name + tensor).values);
        planned.set(node, reference.tensor(name + tensor).values);
    };
    // Parameters are called "0.weight" in the graph, "weight" in the file.
    auto const short_name = [](graph::Parameter const& p) { return std::string{p.name}.substr(std::string{p.name}.find('.') + 1); };
    give(nodes.x, ".x");
    give(nodes.dy, ".dy");
    for (std::size_t p = 1; p < b.parameters.size(); ++p) give(b.parameters[p].node, "." + short_name(b.parameters[p]));
    planned.run();

    auto const check = [&](int node, std::string const& tensor) {
        std::vector<double> const& expected = reference.tensor(name + tensor).values;
        CAPTURE(tensor);
        CHECK(distance(exact[node].data, expected) <= 1e-7); // constants of the graph are floats
        CHECK(distance(planned.get(node), expected) <= tolerance);
    };
    check(nodes.y, ".y");
    for (std::size_t p = 0; p < b.parameters.size(); ++p)
        if (std::string const tensor = p == 0 ? ".dx" : ".d" + short_name(b.parameters[p]); reference.has(name + tensor))
            check(nodes.gradient[p], tensor);
}

} // namespace tenon::test
