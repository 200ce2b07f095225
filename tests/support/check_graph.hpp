/// @file
/// Any graph, written by hand: the planned program against the interpreter, updates included.
#pragma once

#include "interpreter.hpp"
#include "numbers.hpp"
#include "planned_run.hpp"

#include <doctest/doctest.h>

namespace tenon::test {

/// Gives every source of the graph that `Source` writes random numbers in [low, high), runs the step once, and compares all
/// outputs, and all parameters and states after their updates.
template <class Source>
void check_graph(index_t samples, double tolerance = 2e-6, float low = -1, float high = 1, int threads = 1) {
    CAPTURE(samples);
    graph::Builder const b = Frozen<Source>::graph();
    REQUIRE(b.verdict.ok());
    Interpreter expected{b, samples};
    PlannedRun<Source> found{samples, threads};
    std::vector<int> changing;
    for (int id = 0; id < b.size(); ++id) {
        graph::Node const& node = b[id];
        if (node.is(graph::parameter_op) || node.is(graph::state_op)) changing.push_back(id);
        if (node.op->kind != graph::Kind::source) continue;
        if (node.is(graph::random_op)) {
            RandomSource const source{static_cast<std::uint64_t>(id), 7, 3};
            expected.set_random(id, source);
            found.set_random(id, source);
        } else {
            index_t const count = node.shape.count() * (node.batched ? samples : 1);
            auto const numbers = random_numbers(count, 77 + static_cast<std::uint64_t>(id), low, high);
            expected.set(id, numbers);
            found.set(id, numbers);
        }
    }
    found.run();
    for (int output : Frozen<Source>::outputs) {
        CAPTURE(output);
        CHECK(distance(found.get(output), expected[output].data) <= tolerance);
    }
    expected.assign();
    for (int id : changing) {
        CAPTURE(id);
        CHECK(distance(found.get(id), expected[id].data) <= tolerance);
    }
}

/// What hand-written sources share.
template <graph::BatchLayout Layout>
struct HandWritten {
    static constexpr graph::BatchLayout layout = Layout;
    static constexpr bool reuse = true;
    static constexpr index_t reserved = 0;
};

} // namespace tenon::test
