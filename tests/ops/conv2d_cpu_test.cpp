// The convolution kernels against a plain sum in double, on problems with odd numbers everywhere.
#include "kernel_testing.hpp"

#include <tenon/cpu/threads.hpp>
#include <tenon/ops/conv2d/cpu.hpp>

#include <algorithm>
#include <vector>

using namespace tenon;
using kernel_testing::Array, kernel_testing::Expected, kernel_testing::dot, kernel_testing::same_bits;

namespace {

/// A problem as numbers, so that the oracle is compiled once.
struct Shape {
    int lanes;
    index_t channels, height, width, outputs, kernel_height, kernel_width, stride_height, stride_width, padding_height,
        padding_width, dilation_height, dilation_width, groups, out_height, out_width;
};

template <class P>
constexpr Shape shape_of{P::lanes,          P::channels,       P::height,        P::width,
                         P::outputs,        P::kernel_height,  P::kernel_width,  P::stride_height,
                         P::stride_width,   P::padding_height, P::padding_width, P::dilation_height,
                         P::dilation_width, P::groups,         P::out_height,    P::out_width};

/// Calls f(x index, y index, weight index) for every product of the convolution of one block.
template <class F>
void for_each_product(Shape const& s, F f) {
    index_t const group_channels = s.channels / s.groups, group_outputs = s.outputs / s.groups;
    for (index_t o = 0; o < s.outputs; ++o)
        for (index_t i = 0; i < group_channels; ++i)
            for (index_t ky = 0; ky < s.kernel_height; ++ky)
                for (index_t kx = 0; kx < s.kernel_width; ++kx)
                    for (index_t oy = 0; oy < s.out_height; ++oy)
                        for (index_t ox = 0; ox < s.out_width; ++ox) {
                            index_t const y = oy * s.stride_height - s.padding_height + ky * s.dilation_height;
                            index_t const x = ox * s.stride_width - s.padding_width + kx * s.dilation_width;
                            if (y < 0 || y >= s.height || x < 0 || x >= s.width) continue;
                            index_t const channel = o / group_outputs * group_channels + i;
                            for (int l = 0; l < s.lanes; ++l)
                                f(((channel * s.height + y) * s.width + x) * s.lanes + l,
                                  ((o * s.out_height + oy) * s.out_width + ox) * s.lanes + l,
                                  ((o * group_channels + i) * s.kernel_height + ky) * s.kernel_width + kx);
                        }
}

std::vector<Expected> expected_forward(Shape const& s, Array const& x, Array const& weight, index_t y_size) {
    std::vector<Expected> y(static_cast<std::size_t>(y_size));
    for_each_product(s, [&](index_t ix, index_t iy, index_t iw) {
        y[static_cast<std::size_t>(iy)].add(static_cast<double>(x[ix]) * weight[iw]);
    });
    return y;
}
std::vector<Expected> expected_input_gradient(Shape const& s, Array const& dy, Array const& weight, index_t x_size) {
    std::vector<Expected> dx(static_cast<std::size_t>(x_size));
    for_each_product(s, [&](index_t ix, index_t iy, index_t iw) {
        dx[static_cast<std::size_t>(ix)].add(static_cast<double>(dy[iy]) * weight[iw]);
    });
    return dx;
}
/// `x` and `dy` hold one block each; adds to `dw`.
void expect_weight_gradient(Shape const& s, float const* x, float const* dy, std::vector<Expected>& dw) {
    for_each_product(s, [&](index_t ix, index_t iy, index_t iw) {
        dw[static_cast<std::size_t>(iw)].add(static_cast<double>(dy[iy]) * x[ix]);
    });
}

index_t count_wrong(Array const& actual, std::vector<Expected> const& expected) {
    index_t wrong = 0;
    for (index_t i = 0; i < actual.size(); ++i)
        if (!expected[static_cast<std::size_t>(i)].is(actual[i])) ++wrong;
    return wrong;
}

/// All rows of all channels by a kernel that computes `Kernel::rows` rows of some channels in a call.
template <class Kernel>
Array whole(index_t channels, index_t rows, index_t row_floats, Array const& in, Array const& weight) {
    Array out{channels * rows * row_floats}, space{Kernel::workspace};
    for (index_t begin = 0; begin < rows; begin += Kernel::rows) {
        space.fill(std::numeric_limits<float>::quiet_NaN());
        Kernel::prepare(begin, in.data(), space.data());
        for (index_t task = 0; task < Kernel::tasks; ++task) {
            REQUIRE(Kernel::channel_count(task) > 0);
            REQUIRE(Kernel::channel_count(task) <= Kernel::tile);
            Array tile{Kernel::channel_count(task) * Kernel::rows * row_floats}; // exactly what the task may write
            Kernel::run(task, begin, in.data(), weight.data(), tile.data(), space.data());
            CHECK(tile.intact());
            for (index_t c = 0; c < Kernel::channel_count(task); ++c)
                for (index_t i = 0; i < (std::min)(Kernel::rows, rows - begin) * row_floats; ++i)
                    out[((Kernel::channel_begin(task) + c) * rows + begin) * row_floats + i] =
                        tile[c * Kernel::rows * row_floats + i];
        }
    }
    CHECK(space.intact());
    return out;
}

/// The kernels under test: for some numbers of lanes all rows in one call, for the others a few rows at a time.
template <class P>
using ForwardUnderTest =
    conv2d::Forward<P, P::lanes == 1 || P::lanes == 8 ? P::out_height : std::min<index_t>(3, P::out_height)>;
template <class P>
using InputGradientUnderTest =
    conv2d::InputGradient<P, P::lanes == 2 || P::lanes == 16 ? P::height : std::min<index_t>(4, P::height)>;

template <class P>
Array forward(Array const& x, Array const& weight) {
    return whole<ForwardUnderTest<P>>(P::outputs, P::out_height, P::out_width * P::lanes, x, weight);
}
template <class P>
Array input_gradient(Array const& dy, Array const& weight) {
    return whole<InputGradientUnderTest<P>>(P::channels, P::height, P::width * P::lanes, dy, weight);
}

template <class P>
struct WeightGradients {
    Array dw{P::outputs * P::weights_per_output}, db{P::outputs};
};

template <class P>
void run_weight_gradient(index_t blocks, float const* x, float const* dy, WeightGradients<P>& to, bool accumulate) {
    using Kernel = conv2d::WeightGradient<P>;
    Array space{Kernel::workspace};
    for (index_t task = 0; task < Kernel::tasks; ++task) {
        index_t const count = Kernel::channel_count(task), begin = Kernel::channel_begin(task);
        REQUIRE(count > 0);
        REQUIRE(count <= Kernel::tile);
        Array dw_tile{count * P::weights_per_output}, db_tile{count};
        if (accumulate) {
            for (index_t i = 0; i < dw_tile.size(); ++i) dw_tile[i] = to.dw[begin * P::weights_per_output + i];
            for (index_t i = 0; i < count; ++i) db_tile[i] = to.db[begin + i];
        }
        Kernel::run(task, x, dy, blocks, dw_tile.data(), db_tile.data(), space.data(), accumulate);
        CHECK(dw_tile.intact());
        CHECK(db_tile.intact());
        for (index_t i = 0; i < dw_tile.size(); ++i) to.dw[begin * P::weights_per_output + i] = dw_tile[i];
        for (index_t i = 0; i < count; ++i) to.db[begin + i] = db_tile[i];
    }
    CHECK(space.intact());
}

template <class P>
void check_weight_gradient(std::mt19937& generator) {
    constexpr index_t blocks = 3;
    Array x{blocks * P::x_block}, dy{blocks * P::y_block};
    x.fill_random(generator);
    dy.fill_random(generator);
    std::vector<Expected> dw(static_cast<std::size_t>(P::outputs * P::weights_per_output)),
        db(static_cast<std::size_t>(P::outputs));
    for (index_t b = 0; b < blocks; ++b) {
        expect_weight_gradient(shape_of<P>, x.data() + b * P::x_block, dy.data() + b * P::y_block, dw);
        for (index_t i = 0; i < P::y_block; ++i)
            db[static_cast<std::size_t>(i / (P::y_block / P::outputs))].add(dy[b * P::y_block + i]);
    }
    WeightGradients<P> at_once, in_steps;
    run_weight_gradient<P>(blocks, x.data(), dy.data(), at_once, false);
    CHECK(count_wrong(at_once.dw, dw) == 0);
    CHECK(count_wrong(at_once.db, db) == 0);
    run_weight_gradient<P>(1, x.data(), dy.data(), in_steps, false);
    run_weight_gradient<P>(blocks - 1, x.data() + P::x_block, dy.data() + P::y_block, in_steps, true);
    CHECK(count_wrong(in_steps.dw, dw) == 0);
    CHECK(count_wrong(in_steps.db, db) == 0);
}

/// An image that is full of NaN spoils its own results and no others.
template <class P>
void check_lanes_do_not_mix(Array& x, Array const& weight) {
    if constexpr (P::lanes > 1) {
        constexpr int spoilt = P::lanes / 2;
        Array const before = forward<P>(x, weight);
        for (index_t i = spoilt; i < P::x_block; i += P::lanes) x[i] = std::numeric_limits<float>::quiet_NaN();
        Array const after = forward<P>(x, weight);
        index_t changed = 0;
        for (index_t i = 0; i < P::y_block; ++i)
            if (i % P::lanes != spoilt && std::memcmp(&before.data()[i], &after.data()[i], sizeof(float)) != 0)
                ++changed;
        CHECK(changed == 0);
    }
}

template <class P>
void check() {
    CAPTURE(P::lanes);
    std::mt19937 generator{static_cast<unsigned>(P::x_block * 7 + P::y_block)};
    Array x{P::x_block}, dy{P::y_block}, weight{P::outputs * P::weights_per_output};
    x.fill_random(generator);
    dy.fill_random(generator);
    weight.fill_random(generator);
    Array const y = forward<P>(x, weight), dx = input_gradient<P>(dy, weight);
    CHECK(count_wrong(y, expected_forward(shape_of<P>, x, weight, P::y_block)) == 0);
    CHECK(count_wrong(dx, expected_input_gradient(shape_of<P>, dy, weight, P::x_block)) == 0);
    check_weight_gradient<P>(generator);

    // <conv(x), dy> = <x, dx> = <w, dw>: the three kernels are one bilinear form.
    WeightGradients<P> gradient;
    run_weight_gradient<P>(1, x.data(), dy.data(), gradient, false);
    double const scale = 1e-5 * std::sqrt(dot(y, y) * dot(dy, dy)) + 1e-30;
    CHECK(std::abs(dot(y, dy) - dot(x, dx)) <= scale);
    CHECK(std::abs(dot(y, dy) - dot(weight, gradient.dw)) <= scale);
}

/// The same problem for each number of lanes.
template <index_t... Numbers>
void check_all_lanes() {
    check<conv2d::Problem<1, Numbers...>>();
    check<conv2d::Problem<2, Numbers...>>();
    check<conv2d::Problem<4, Numbers...>>();
    check<conv2d::Problem<8, Numbers...>>();
    check<conv2d::Problem<16, Numbers...>>();
}
/// For few, many and all lanes of a vector.
template <index_t... Numbers>
void check_some_lanes() {
    check<conv2d::Problem<1, Numbers...>>();
    check<conv2d::Problem<4, Numbers...>>();
    check<conv2d::Problem<16, Numbers...>>();
}

} // namespace

// Numbers: channels, height, width, outputs, kernel, stride, padding, dilation (height, width), groups

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

TEST_CASE("conv2d on the CPU: 3x3 with padding") { check_all_lanes<5, 9, 11, 7, 3, 3, 1, 1, 1, 1>(); }
TEST_CASE("conv2d on the CPU: 3x3 with padding, a row of many tiles") {
    check_some_lanes<2, 5, 67, 6, 3, 3, 1, 1, 1, 1>();
}
TEST_CASE("conv2d on the CPU: 3x3 with stride 2 and padding") { check_all_lanes<3, 13, 10, 6, 3, 3, 2, 2, 1, 1>(); }
TEST_CASE("conv2d on the CPU: 7x7 with stride 2 and padding") { check_some_lanes<3, 17, 19, 5, 7, 7, 2, 2, 3, 3>(); }
TEST_CASE("conv2d on the CPU: 1x1") { check_all_lanes<7, 5, 6, 9, 1, 1>(); }
TEST_CASE("conv2d on the CPU: 1x1 with stride 2") { check_some_lanes<4, 7, 5, 3, 1, 1, 2, 2>(); }
TEST_CASE("conv2d on the CPU: everything at once") { check_all_lanes<6, 11, 13, 4, 3, 2, 2, 1, 1, 2, 2, 3, 2>(); }
TEST_CASE("conv2d on the CPU: stride and dilation with a common factor") {
    check_some_lanes<2, 14, 16, 3, 3, 4, 3, 4, 2, 3, 2, 6>();
}
TEST_CASE("conv2d on the CPU: depthwise") { check_all_lanes<5, 8, 9, 5, 3, 3, 1, 1, 1, 1, 1, 1, 5>(); }
TEST_CASE("conv2d on the CPU: depthwise with two outputs a channel") {
    check_some_lanes<3, 9, 8, 6, 3, 3, 2, 2, 1, 1, 1, 1, 3>();
}
TEST_CASE("conv2d on the CPU: a kernel as large as the image") { check_all_lanes<2, 6, 9, 3, 6, 9>(); }
TEST_CASE("conv2d on the CPU: a kernel wider than what is unrolled") {
    check_some_lanes<2, 12, 14, 2, 11, 11, 1, 1, 5, 5>();
}
TEST_CASE("conv2d on the CPU: a kernel larger than the image") { check_some_lanes<3, 1, 1, 2, 3, 3, 1, 1, 1, 1>(); }
TEST_CASE("conv2d on the CPU: one pixel, one channel") { check_all_lanes<1, 1, 1, 1, 1, 1>(); }
TEST_CASE("conv2d on the CPU: one output") { check_some_lanes<3, 7, 30, 1, 3, 5, 1, 1, 0, 2>(); }
TEST_CASE("conv2d on the CPU: pixels between the strides") { check_some_lanes<2, 11, 13, 3, 2, 2, 5, 4>(); }
TEST_CASE("conv2d on the CPU: more padding than image") { check_some_lanes<1, 4, 3, 2, 2, 1, 1, 1, 3, 4>(); }
TEST_CASE("conv2d on the CPU: only padding under some taps") { check_some_lanes<2, 2, 3, 2, 3, 3, 4, 5, 3, 4>(); }
TEST_CASE("conv2d on the CPU: many channels") { check_some_lanes<37, 4, 5, 67, 3, 3, 1, 1, 1, 1>(); }

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
