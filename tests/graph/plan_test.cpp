// The memory plan: no two living values share a byte, bytes are used again, what persists lies in front. That programs in such an
// arena compute the right thing: graph/random_networks_test.cpp.
#include "support/random_network.hpp"

#include <tenon/graph/plan.hpp>

#include <doctest/doctest.h>

#include <algorithm>

using namespace tenon;

namespace {

constexpr bool disjoint(std::initializer_list<graph::Buffer> buffers) { return graph::disjoint(buffers.begin(), buffers.size()); }

/// The most bytes that live in one stage: less no plan can do with.
index_t peak(graph::Plan const& plan, int stages) {
    index_t most = 0;
    for (int s = 0; s < stages; ++s) {
        index_t live = 0;
        for (graph::Buffer const& buffer : plan.buffers)
            if (buffer.first <= s && s <= buffer.last) live += buffer.bytes;
        most = (std::max)(most, live);
    }
    return most;
}

struct Planned {
    graph::Builder b;
    graph::Roots roots;
    graph::Fused fused;
    explicit Planned(std::uint64_t seed) : roots{test::RandomNetwork{seed}.write(b)}, fused{fuse(b, roots.outputs)} {}

    [[nodiscard]] graph::Plan plan(graph::BatchLayout layout, bool reuse, index_t reserved = 0) const {
        return plan_memory(b, fused, roots.outputs, layout, reuse, reserved);
    }
};

} // namespace

// The proof can fail: in time and in space, by one byte and by one stage.
static_assert(disjoint({{0, 0, 64, 0, 3}, {1, 64, 64, 0, 3}, {2, 0, 128, 4, 5}}));
static_assert(!disjoint({{0, 0, 64, 0, 3}, {1, 63, 64, 0, 3}}));
static_assert(!disjoint({{0, 0, 64, 0, 3}, {1, 0, 64, 3, 5}}));
static_assert(!disjoint({{0, 0, 256, 0, 9}, {1, 64, 64, 4, 4}}));
static_assert(!disjoint({{0, 64, 64, 4, 4}, {1, 128, 64, 0, 1}, {2, 0, 256, 2, 9}}));

TEST_CASE("no two values that live in one stage share a byte") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        CAPTURE(seed);
        Planned const network{seed};
        for (graph::BatchLayout const layout : {graph::BatchLayout{1, 1}, {4, 4}, {17, 8}, {33, 16}}) {
            graph::Plan const plan = network.plan(layout, true), apart = network.plan(layout, false);
            CHECK(graph::disjoint(plan.buffers.data(), plan.buffers.size()));
            CHECK(plan.memory.total <= apart.memory.total);
            CHECK(plan.memory.total >= peak(plan, static_cast<int>(network.fused.stages.size())));
            for (graph::Buffer const& buffer : plan.buffers) {
                CHECK(buffer.offset % graph::arena_alignment == 0);
                CHECK(buffer.offset + buffer.bytes <= plan.memory.total);
                CHECK(buffer.first <= buffer.last);
                CHECK(plan.offset[static_cast<std::size_t>(buffer.node)] == buffer.offset);
                graph::Node const& node = network.b[buffer.node];
                CHECK(buffer.bytes >= graph::bytes_of(node.dtype, layout.elements(node.shape, node.batched)));
            }
        }
    }
}

TEST_CASE("without reuse every value has bytes of its own") {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        CAPTURE(seed);
        graph::Plan plan = Planned{seed}.plan({5, 4}, false);
        std::sort(plan.buffers.begin(), plan.buffers.end(), [](graph::Buffer const& x, graph::Buffer const& y) { return x.offset < y.offset; });
        index_t end = 0;
        for (graph::Buffer const& buffer : plan.buffers) {
            CHECK(buffer.offset == end);
            end += buffer.bytes;
        }
        CHECK(plan.memory.total == end);
    }
}

TEST_CASE("a deep network uses its bytes again") {
    graph::Builder b;
    graph::Value x{&b, b.source(graph::input_op, {3, 8, 8}, true, 0)};
    for (int i = 0; i < 8; ++i) x = detail::write_layer(b, Conv2d{.out = 3, .kernel = 3, .padding = 1}, i, x);
    graph::Fused const fused = fuse(b, {x.id});
    graph::Plan const plan = plan_memory(b, fused, {x.id}, {4, 4}, true), apart = plan_memory(b, fused, {x.id}, {4, 4}, false);
    index_t const image = 4 * 4 * 3 * 8 * 8;
    CHECK(apart.memory.activations == 8 * image);
    CHECK(plan.memory.activations == 2 * image); // one is read, one is written
}

TEST_CASE("parameters lie in front, in order; then the optimiser's state; both persist") {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        CAPTURE(seed);
        Planned const network{seed};
        graph::Plan const plan = network.plan({4, 4}, true);
        index_t end = 0, parameters = 0;
        for (graph::Parameter const& p : network.b.parameters) {
            CHECK(plan.offset[static_cast<std::size_t>(p.node)] == end);
            end += (4 * p.shape.count() + 63) / 64 * 64;
            parameters += 4 * p.shape.count();
        }
        for (graph::State const& s : network.b.states) {
            CHECK(plan.offset[static_cast<std::size_t>(s.node)] == end);
            end += (4 * network.b.shape(s.node).count() + 63) / 64 * 64;
        }
        CHECK(plan.memory.kept == end);
        CHECK(plan.memory.parameters == parameters);
        CHECK(plan.memory.parameters + plan.memory.optimizer_state + plan.memory.activations + plan.memory.other == plan.memory.total);
        for (graph::Buffer const& buffer : plan.buffers) {
            bool const persists = network.b[buffer.node].is(graph::parameter_op) || network.b[buffer.node].is(graph::state_op);
            CHECK((!persists || buffer.persistent));
            CHECK((buffer.persistent || buffer.offset >= end || persists));
        }
    }
}

TEST_CASE("what must not be touched is left alone") {
    Planned const network{7};
    index_t const reserved = 1 << 20;
    graph::Plan const plan = network.plan({4, 4}, true, reserved);
    for (graph::Buffer const& buffer : plan.buffers)
        CHECK((network.b[buffer.node].is(graph::parameter_op) || buffer.offset >= reserved));
}
