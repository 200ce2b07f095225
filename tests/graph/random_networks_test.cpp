// Fusion and memory plan on random networks: the stages, run one by one in an arena, compute what the nodes mean.
#include "support/numbers.hpp"
#include "support/random_network.hpp"
#include "support/stage_interpreter.hpp"

#include <doctest/doctest.h>

using namespace tenon;

namespace {

/// Random numbers for every source, in both interpreters.
void fill(graph::Builder const& b, index_t samples, std::uint64_t seed, test::Interpreter& expected, test::StageInterpreter& found) {
    for (int id = 0; id < b.size(); ++id) {
        graph::Node const& node = b[id];
        if (node.op->kind != graph::Kind::source) continue;
        index_t const count = node.shape.count() * (node.batched ? samples : 1);
        std::vector<float> numbers = test::random_numbers(count, seed * 1000 + static_cast<std::uint64_t>(id), 0.1f, 1);
        if (node.is(graph::parameter_op) || node.is(graph::input_op)) numbers = test::random_numbers(count, seed * 1000 + static_cast<std::uint64_t>(id));
        if (node.is(graph::label_op) && node.dtype == graph::Dtype::i32)
            for (float& label : numbers) label = 0; // a class of every network
        if (node.is(graph::presence_op)) numbers.assign(numbers.size(), 1.0f);
        if (node.is(graph::random_op)) {
            RandomSource const source{seed, static_cast<std::uint32_t>(id), 1};
            expected.set_random(id, source);
            found.set_random(id, source);
        } else {
            expected.set(id, numbers);
            found.set(id, numbers);
        }
    }
}

void check(std::uint64_t seed, bool reuse) {
    CAPTURE(seed);
    CAPTURE(reuse);
    graph::Builder b;
    graph::Roots const roots = test::RandomNetwork{seed}.write(b);
    REQUIRE(b.verdict.ok());
    index_t const samples = 1 + static_cast<index_t>(seed % 3);
    graph::Fused const fused = fuse(b, roots.outputs);
    graph::Plan const plan = plan_memory(b, fused, roots.outputs, {samples, 1}, reuse);
    CHECK(graph::disjoint(plan.buffers.data(), plan.buffers.size()));

    test::Interpreter expected{b, samples};
    test::StageInterpreter found{b, fused, plan, samples};
    fill(b, samples, seed, expected, found);
    found.run();
    for (int output : roots.outputs) CHECK(test::distance(found.get(output).data, expected[output].data) <= 1e-11);
    expected.assign();
    for (graph::Parameter const& p : b.parameters) CHECK(test::distance(found.get(p.node).data, expected[p.node].data) <= 1e-11);
    for (graph::State const& s : b.states) CHECK(test::distance(found.get(s.node).data, expected[s.node].data) <= 1e-11);
}

} // namespace

TEST_CASE("random networks: fused and planned they compute the same") {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) check(seed, true);
    for (std::uint64_t seed = 1; seed <= 40; ++seed) check(seed, false);
}
