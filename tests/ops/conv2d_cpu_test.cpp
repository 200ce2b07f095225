// The convolution kernels: LeNet's problems, figures known from elsewhere, lanes that do not mix, threads.
#include "conv2d_testing.hpp"

#include <tenon/cpu/threads.hpp>

using namespace tenon;
using namespace conv2d_testing;
using kernel_testing::same_bits;

TEST_CASE("conv2d on the CPU: LeNet's convolutions") {
    check<conv2d::Problem<1, 1, 28, 28, 20, 5, 5>>();
    check<conv2d::Problem<1, 20, 12, 12, 50, 5, 5>>();
    check<conv2d::Problem<4, 20, 12, 12, 50, 5, 5>>();
    check<conv2d::Problem<16, 1, 28, 28, 20, 5, 5>>();
}

TEST_CASE("conv2d on the CPU: all rows in one call") {
    using P = conv2d::Problem<4, 20, 12, 12, 50, 5, 5>;
    std::mt19937 generator{17};
    Array x{P::x_block}, dy{P::y_block}, weight{P::outputs * P::weights_per_output};
    x.fill_random(generator);
    dy.fill_random(generator);
    weight.fill_random(generator);
    CHECK(count_wrong(whole<conv2d::Forward<P>>(P::outputs, P::out_height, P::out_width * P::lanes, x, weight),
                      expected_forward(shape_of<P>, x, weight, P::y_block)) == 0);
    CHECK(count_wrong(whole<conv2d::InputGradient<P>>(P::channels, P::height, P::width * P::lanes, dy, weight),
                      expected_input_gradient(shape_of<P>, dy, weight, P::x_block)) == 0);
}

TEST_CASE("conv2d on the CPU: an input gradient whose rows are split has the bits of one call") {
    std::mt19937 generator{23};
    auto const run = [&]<class P>(P) {
        CAPTURE(P::lanes);
        using Kernel = conv2d::InputGradient<P>;
        Array dy{P::y_block}, weight{P::outputs * P::weights_per_output}, space{Kernel::workspace}, dx{P::x_block};
        dy.fill_random(generator);
        weight.fill_random(generator);
        if constexpr (Kernel::packs) {
            Kernel::pack_inputs(3, P::outputs, weight.data(), space.data());
            Kernel::pack_inputs(0, 3, weight.data(), space.data());
        }
        float const* const packed = Kernel::packs ? space.data() : weight.data();
        Kernel::run_packed(4, P::height, dy.data(), packed, dx.data());
        Kernel::run_packed(0, 1, dy.data(), packed, dx.data());
        Kernel::run_packed(1, 4, dy.data(), packed, dx.data());
        CHECK(same_bits(dx, whole<Kernel>(P::channels, P::height, P::width * P::lanes, dy, weight)));
        CHECK(space.intact());
        CHECK(dx.intact());
    };
    run(conv2d::Problem<1, 5, 9, 11, 7, 3, 3, 1, 1, 1, 1>{});
    run(conv2d::Problem<2, 3, 9, 11, 7, 3, 3, 2, 2, 1, 1>{});
    run(conv2d::Problem<4, 5, 9, 11, 7, 3, 3, 1, 1, 1, 1>{});
}

TEST_CASE("conv2d on the CPU: images in the lanes do not mix") {
    std::mt19937 generator{11};
    auto const run = [&]<class P>(P) {
        Array x{P::x_block}, weight{P::outputs * P::weights_per_output};
        x.fill_random(generator);
        weight.fill_random(generator);
        check_lanes_do_not_mix<P>(x, weight);
    };
    run(conv2d::Problem<2, 5, 9, 11, 7, 3, 3, 1, 1, 1, 1>{});
    run(conv2d::Problem<4, 5, 9, 11, 7, 3, 3, 1, 1, 1, 1>{});
    run(conv2d::Problem<16, 5, 9, 11, 7, 3, 3, 1, 1, 1, 1>{});
}

TEST_CASE("conv2d on the CPU: zero images in the last block add nothing to the weight gradient") {
    using P = conv2d::Problem<8, 2, 7, 6, 5, 3, 3>;
    std::mt19937 generator{5};
    Array x{P::x_block}, dy{P::y_block};
    x.fill_random(generator);
    dy.fill_random(generator);
    constexpr int images = 3;
    for (index_t i = 0; i < P::x_block; ++i)
        if (i % P::lanes >= images) x[i] = 0;
    for (index_t i = 0; i < P::y_block; ++i)
        if (i % P::lanes >= images) dy[i] = 0;
    std::vector<Expected> dw(static_cast<std::size_t>(P::outputs * P::weights_per_output));
    for_each_product(shape_of<P>, [&](index_t ix, index_t iy, index_t iw) {
        if (ix % P::lanes < images) dw[static_cast<std::size_t>(iw)].add(static_cast<double>(dy[iy]) * x[ix]);
    });
    WeightGradients<P> gradient;
    run_weight_gradient<P>(1, x.data(), dy.data(), gradient, false);
    CHECK(count_wrong(gradient.dw, dw) == 0);
}

TEST_CASE("conv2d on the CPU: a ramp by ones, stride 2") {
    // [[63, 81], [171, 189]]; dx has zero last row and column and dx(2, 2) = 4
    using P = conv2d::Problem<1, 1, 6, 6, 1, 3, 3, 2, 2>;
    Array x{36}, weight{9, 1}, dy{4, 1};
    for (index_t i = 0; i < 36; ++i) x[i] = static_cast<float>(i);
    Array const y = forward<P>(x, weight), dx = input_gradient<P>(dy, weight);
    CHECK(y[0] == 63);
    CHECK(y[1] == 81);
    CHECK(y[2] == 171);
    CHECK(y[3] == 189);
    CHECK(dx[2 * 6 + 2] == 4);
    for (index_t i = 0; i < 6; ++i) {
        CHECK(dx[5 * 6 + i] == 0);
        CHECK(dx[i * 6 + 5] == 0);
    }
}

TEST_CASE("conv2d on the CPU: two groups of ones") { // y = [3, 3, 3, 7, 7, 7]; dy = 1 ... 6 gives dx = [6, 6, 15, 15]
    using P = conv2d::Problem<1, 4, 1, 1, 6, 1, 1, 1, 1, 0, 0, 1, 1, 2>;
    Array x{4}, weight{12, 1}, dy{6};
    for (index_t i = 0; i < 4; ++i) x[i] = static_cast<float>(i + 1);
    for (index_t i = 0; i < 6; ++i) dy[i] = static_cast<float>(i + 1);
    Array const y = forward<P>(x, weight), dx = input_gradient<P>(dy, weight);
    float const expected_y[] = {3, 3, 3, 7, 7, 7}, expected_dx[] = {6, 6, 15, 15};
    for (index_t i = 0; i < 6; ++i) CHECK(y[i] == expected_y[i]);
    for (index_t i = 0; i < 4; ++i) CHECK(dx[i] == expected_dx[i]);
}

TEST_CASE("conv2d on the CPU: the same bits for every number of threads") {
    using P = conv2d::Problem<4, 6, 11, 13, 40, 3, 3, 1, 1, 1, 1>;
    using Kernel = conv2d::WeightGradient<P>;
    constexpr index_t blocks = 3;
    std::mt19937 generator{3};
    Array x{blocks * P::x_block}, dy{blocks * P::y_block};
    x.fill_random(generator);
    dy.fill_random(generator);
    auto const run = [&](int threads) {
        cpu::ThreadPool pool{threads};
        Array dw{P::outputs * P::weights_per_output}, db{P::outputs}, space{threads * Kernel::workspace};
        pool.run(Kernel::tasks, [&](index_t task, int thread) noexcept {
            index_t const begin = Kernel::channel_begin(task);
            Kernel::run(task, x.data(), dy.data(), blocks, dw.data() + begin * P::weights_per_output, db.data() + begin,
                        space.data() + thread * Kernel::workspace);
        });
        return dw;
    };
    REQUIRE(Kernel::tasks > 1);
    Array const one = run(1);
    CHECK(same_bits(one, run(2)));
    CHECK(same_bits(one, run(4)));
}
