// The kernels of the fully connected layer against a plain sum in double.
#include "kernel_testing.hpp"

#include <tenon/cpu/threads.hpp>
#include <tenon/ops/linear/cpu.hpp>

#include <vector>

using namespace tenon;
using kernel_testing::Array, kernel_testing::Expected, kernel_testing::dot, kernel_testing::same_bits;

namespace {

/// Wrong elements of `actual` [blocks, rows, lanes], which should be the sum over k of weight(row, k) in[blocks, k,
/// lanes].
template <class Weight>
index_t count_wrong_products(Array const& actual, Array const& in, index_t blocks, index_t rows, index_t depth,
                             int lanes, Weight weight) {
    index_t wrong = 0;
    for (index_t b = 0; b < blocks; ++b)
        for (index_t row = 0; row < rows; ++row)
            for (int l = 0; l < lanes; ++l) {
                Expected sum;
                for (index_t k = 0; k < depth; ++k)
                    sum.add(static_cast<double>(weight(row, k)) * in[(b * depth + k) * lanes + l]);
                if (!sum.is(actual[(b * rows + row) * lanes + l])) ++wrong;
            }
    return wrong;
}

/// All rows of all blocks, task by task.
template <class Kernel>
Array whole(index_t blocks, index_t rows, int lanes, Array const& in, Array const& weight) {
    Array out{blocks * rows * lanes}, space{Kernel::workspace(blocks)};
    Kernel::prepare(in.data(), blocks, space.data());
    for (index_t task = 0; task < Kernel::tasks; ++task) {
        index_t const count = Kernel::channel_count(task), begin = Kernel::channel_begin(task);
        REQUIRE(count > 0);
        REQUIRE(count <= Kernel::tile);
        Array tile{blocks * count * lanes}; // exactly what the task may write
        Kernel::run(task, in.data(), blocks, weight.data(), tile.data(), space.data());
        CHECK(tile.intact());
        for (index_t b = 0; b < blocks; ++b)
            for (index_t i = 0; i < count * lanes; ++i)
                out[(b * rows + begin) * lanes + i] = tile[b * count * lanes + i];
    }
    CHECK(space.intact());
    return out;
}

template <class P>
struct WeightGradients {
    Array dw{P::outputs * P::inputs}, db{P::outputs};
};

template <class P>
void run_weight_gradient(index_t blocks, float const* x, float const* dy, WeightGradients<P>& to, bool accumulate) {
    using Kernel = linear::WeightGradient<P>;
    Array space{Kernel::workspace(blocks)};
    Kernel::prepare(x, blocks, space.data());
    for (index_t task = 0; task < Kernel::tasks; ++task) {
        index_t const count = Kernel::channel_count(task), begin = Kernel::channel_begin(task);
        REQUIRE(count > 0);
        REQUIRE(count <= Kernel::tile);
        Array dw_tile{count * P::inputs}, db_tile{count};
        if (accumulate) {
            for (index_t i = 0; i < dw_tile.size(); ++i) dw_tile[i] = to.dw[begin * P::inputs + i];
            for (index_t i = 0; i < count; ++i) db_tile[i] = to.db[begin + i];
        }
        Kernel::run(task, x, dy, blocks, dw_tile.data(), db_tile.data(), space.data(), accumulate);
        CHECK(dw_tile.intact());
        CHECK(db_tile.intact());
        for (index_t i = 0; i < dw_tile.size(); ++i) to.dw[begin * P::inputs + i] = dw_tile[i];
        for (index_t i = 0; i < count; ++i) to.db[begin + i] = db_tile[i];
    }
    CHECK(space.intact());
}

template <class P>
index_t count_wrong_gradients(WeightGradients<P> const& gradient, Array const& x, Array const& dy, index_t blocks) {
    index_t wrong = 0;
    for (index_t o = 0; o < P::outputs; ++o) {
        Expected bias;
        for (index_t b = 0; b < blocks; ++b)
            for (int l = 0; l < P::lanes; ++l) bias.add(dy[(b * P::outputs + o) * P::lanes + l]);
        if (!bias.is(gradient.db[o])) ++wrong;
        for (index_t i = 0; i < P::inputs; ++i) {
            Expected sum;
            for (index_t b = 0; b < blocks; ++b)
                for (int l = 0; l < P::lanes; ++l)
                    sum.add(static_cast<double>(dy[(b * P::outputs + o) * P::lanes + l]) *
                            x[(b * P::inputs + i) * P::lanes + l]);
            if (!sum.is(gradient.dw[o * P::inputs + i])) ++wrong;
        }
    }
    return wrong;
}

template <class P>
void check(index_t blocks) {
    CAPTURE(P::lanes);
    CAPTURE(blocks);
    std::mt19937 generator{static_cast<unsigned>(P::inputs * 1000 + P::outputs * 10 + blocks)};
    Array x{blocks * P::inputs * P::lanes}, dy{blocks * P::outputs * P::lanes}, weight{P::outputs * P::inputs};
    x.fill_random(generator);
    dy.fill_random(generator);
    weight.fill_random(generator);

    Array const y = whole<linear::Forward<P>>(blocks, P::outputs, P::lanes, x, weight);
    CHECK(count_wrong_products(y, x, blocks, P::outputs, P::inputs, P::lanes,
                               [&](index_t o, index_t i) { return weight[o * P::inputs + i]; }) == 0);
    Array const dx = whole<linear::InputGradient<P>>(blocks, P::inputs, P::lanes, dy, weight);
    CHECK(count_wrong_products(dx, dy, blocks, P::inputs, P::outputs, P::lanes,
                               [&](index_t i, index_t o) { return weight[o * P::inputs + i]; }) == 0);
    WeightGradients<P> gradient;
    run_weight_gradient<P>(blocks, x.data(), dy.data(), gradient, false);
    CHECK(count_wrong_gradients(gradient, x, dy, blocks) == 0);

    // <w x, dy> = <x, dx> = <w, dw>: the three kernels are one bilinear form.
    double const scale = 1e-5 * std::sqrt(dot(y, y) * dot(dy, dy)) + 1e-30;
    CHECK(std::abs(dot(y, dy) - dot(x, dx)) <= scale);
    CHECK(std::abs(dot(y, dy) - dot(weight, gradient.dw)) <= scale);

    if (blocks > 1) {
        WeightGradients<P> in_steps;
        run_weight_gradient<P>(1, x.data(), dy.data(), in_steps, false);
        run_weight_gradient<P>(blocks - 1, x.data() + P::inputs * P::lanes, dy.data() + P::outputs * P::lanes, in_steps,
                               true);
        CHECK(count_wrong_gradients(in_steps, x, dy, blocks) == 0);
    }
}

/// Each number of lanes, and numbers of blocks that fill the tiles in different ways.
template <index_t In, index_t Out>
void check_all() {
    check<linear::Problem<1, In, Out>>(1);
    check<linear::Problem<1, In, Out>>(5);
    check<linear::Problem<2, In, Out>>(2);
    check<linear::Problem<4, In, Out>>(1);
    check<linear::Problem<4, In, Out>>(3);
    check<linear::Problem<8, In, Out>>(1);
    check<linear::Problem<8, In, Out>>(7);
    for (index_t blocks : {1, 2, 3, 4, 7, 11}) check<linear::Problem<16, In, Out>>(blocks);
}

} // namespace

TEST_CASE("linear on the CPU: an input gradient from some of the outputs") {
    std::mt19937 generator{3};
    auto const run = [&]<class P>(P, index_t begin, index_t end) {
        CAPTURE(P::lanes);
        if constexpr (P::lanes < cpu::native_lanes<float>) {
            constexpr index_t blocks = 2, block = P::inputs * P::lanes;
            using Kernel = linear::InputGradient<P>;
            Array dy{blocks * P::outputs * P::lanes}, weight{P::outputs * P::inputs}, dx{blocks * block};
            dy.fill_random(generator);
            weight.fill_random(generator);
            for (index_t task = 0; task < Kernel::tasks; ++task)
                Kernel::run_outputs(task, {begin, end}, dy.data(), blocks, weight.data(),
                                    dx.data() + Kernel::channel_begin(task) * P::lanes, block);
            CHECK(dx.intact());
            CHECK(count_wrong_products(dx, dy, blocks, P::inputs, P::outputs, P::lanes, [&](index_t i, index_t o) {
                      return o >= begin && o < end ? weight[o * P::inputs + i] : 0.0F;
                  }) == 0);
        }
    };
    run(linear::Problem<1, 203, 37>{}, 0, 5);
    run(linear::Problem<2, 77, 37>{}, 5, 37);
    run(linear::Problem<4, 203, 37>{}, 6, 30);
}

TEST_CASE("linear on the CPU: LeNet's layers") {
    check<linear::Problem<4, 800, 500>>(1);
    check<linear::Problem<16, 500, 10>>(4);
}
TEST_CASE("linear on the CPU: odd numbers") { check_all<37, 29>(); }
TEST_CASE("linear on the CPU: one to one") { check_all<1, 1>(); }
TEST_CASE("linear on the CPU: one output") { check_all<67, 1>(); }
TEST_CASE("linear on the CPU: one input") { check_all<1, 43>(); }
TEST_CASE("linear on the CPU: more inputs than a chunk, rows a power of two apart") { check_all<1024, 7>(); }
TEST_CASE("linear on the CPU: more outputs than a chunk") { check_all<13, 301>(); }
TEST_CASE("linear on the CPU: whole vectors") { check_all<64, 48>(); }

TEST_CASE("linear on the CPU: images in the lanes do not mix, also where one is NaN") {
    auto const run = []<class P>(P) {
        std::mt19937 generator{1};
        Array x{P::inputs * P::lanes}, weight{P::outputs * P::inputs};
        x.fill_random(generator);
        weight.fill_random(generator);
        Array const before = whole<linear::Forward<P>>(1, P::outputs, P::lanes, x, weight);
        x[5 * P::lanes + 1] = std::numeric_limits<float>::quiet_NaN();
        Array const after = whole<linear::Forward<P>>(1, P::outputs, P::lanes, x, weight);
        for (index_t i = 0; i < before.size(); ++i)
            if (i % P::lanes == 1) CHECK(std::isnan(after[i]));
            else CHECK(before[i] == after[i]);
    };
    run(linear::Problem<4, 37, 9>{});
    run(linear::Problem<16, 37, 9>{});
}

TEST_CASE("linear on the CPU: the same bits for every number of threads") {
    using P = linear::Problem<16, 301, 203>;
    using Kernel = linear::WeightGradient<P>;
    constexpr index_t blocks = 3;
    std::mt19937 generator{3};
    Array x{blocks * P::inputs * P::lanes}, dy{blocks * P::outputs * P::lanes};
    x.fill_random(generator);
    dy.fill_random(generator);
    auto const run = [&](int threads) {
        cpu::ThreadPool pool{threads};
        Array dw{P::outputs * P::inputs}, db{P::outputs}, space{threads * Kernel::workspace(blocks)};
        for (int thread = 0; thread < threads; ++thread) // any thread may come to run any task
            Kernel::prepare(x.data(), blocks, space.data() + thread * Kernel::workspace(blocks));
        pool.run(Kernel::tasks, [&](index_t task, int thread) noexcept {
            index_t const begin = Kernel::channel_begin(task);
            Kernel::run(task, x.data(), dy.data(), blocks, dw.data() + begin * P::inputs, db.data() + begin,
                        space.data() + thread * Kernel::workspace(blocks));
        });
        return dw;
    };
    REQUIRE(Kernel::tasks > 1);
    Array const one = run(1);
    CHECK(same_bits(one, run(2)));
    CHECK(same_bits(one, run(4)));
}
