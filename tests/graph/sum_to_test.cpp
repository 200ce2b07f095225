// Sums over the batch and over axes: what broadcasting stretched is summed by the gradient.
#include "support/check_graph.hpp"

using namespace tenon;
using graph::Value;

namespace {

/// The sum of an [A, B, C] tensor, batched or not, to another shape.
template <graph::BatchLayout Layout, Dims From, bool FromBatched, Dims To, bool ToBatched>
struct Sum : test::HandWritten<Layout> {
    static constexpr graph::Roots write(graph::Builder& b) {
        Value const x{&b, b.source(graph::label_op, From, FromBatched, 0)}; // zero in lanes that no sample fills, as gradients are
        Value const sum = sum_to(x, To, ToBatched);
        Value const more = sum * 2.0f + 1.0f; // pointwise work after a sum
        return {more.id, -1, {sum.id, more.id}};
    }
};

template <Dims To>
void check_sums() {
    constexpr Dims from{2, 3, 4};
    test::check_graph<Sum<graph::BatchLayout{7, 4}, from, true, To, false>>(6);
    test::check_graph<Sum<graph::BatchLayout{7, 4}, from, true, To, true>>(6);
    test::check_graph<Sum<graph::BatchLayout{3, 1}, from, true, To, false>>(3);
    test::check_graph<Sum<graph::BatchLayout{7, 4}, from, false, To, false>>(1);
}

/// b [4] is added to a [3, 4]; the loss is the sum.
struct BroadcastGradient : test::HandWritten<graph::BatchLayout{1, 1}> {
    static constexpr graph::Roots write(graph::Builder& b) {
        Value const a{&b, b.parameter("a", {3, 4}, graph::Distribution::uniform, 1)};
        Value const c{&b, b.parameter("b", {1, 4}, graph::Distribution::uniform, 1)};
        Value const loss = sum_to(a + c, {}, false);
        std::vector<int> const gradients = graph::differentiate(b, loss, {&b, b.constant(1)});
        return {loss.id, loss.id, {loss.id, gradients[0], gradients[1]}};
    }
};

/// Rows whose sum depends on the order of its terms.
struct Cancelling : test::HandWritten<graph::BatchLayout{4, 4}> {
    static constexpr graph::Roots write(graph::Builder& b) {
        Value const x{&b, b.source(graph::input_op, {64}, true, 0)};
        Value const all = sum_to(x, {}, false), rows = sum_to(x, {}, true), columns = sum_to(x, {64}, false);
        return {all.id, -1, {all.id, rows.id, columns.id}};
    }
};

} // namespace

TEST_CASE("sums to nothing, to an axis at either end, to one in the middle, to two") {
    check_sums<Dims{}>();
    check_sums<Dims{1}>();
    check_sums<Dims{4}>();
    check_sums<Dims{2, 1, 1}>();
    check_sums<Dims{3, 1}>();
    check_sums<Dims{1, 3, 4}>();
    check_sums<Dims{2, 3, 1}>();
    check_sums<Dims{2, 3, 4}>();
}

TEST_CASE("the gradient of what was broadcast is a sum") {
    test::PlannedRun<BroadcastGradient> run{1};
    run.set(0, test::random_numbers(12, 1));
    run.set(1, test::random_numbers(4, 2));
    run.run();
    CHECK(run.get(test::Frozen<BroadcastGradient>::outputs[1]) == std::vector<float>(12, 1.0f));
    CHECK(run.get(test::Frozen<BroadcastGradient>::outputs[2]) == std::vector<float>(4, 3.0f));
}

TEST_CASE("a sum has the same bits for any number of threads") {
    std::vector<float> numbers;
    for (int i = 0; i < 64; ++i) numbers.insert(numbers.end(), {1e8f, 1, -1e8f, 1});
    std::vector<std::vector<float>> first;
    for (int threads : {1, 2, 4, 3}) {
        test::PlannedRun<Cancelling> run{4, threads};
        run.set(0, numbers);
        run.run();
        std::vector<std::vector<float>> found;
        for (int output : test::Frozen<Cancelling>::outputs) found.push_back(run.get(output));
        if (first.empty()) first = found;
        CHECK(found == first);
    }
}
