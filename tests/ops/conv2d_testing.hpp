/// @file
/// The convolution kernels beside a plain sum in double, for the tests of the kernels.
#pragma once

#include "kernel_testing.hpp"

#include <tenon/ops/conv2d/cpu.hpp>

#include <algorithm>
#include <vector>

namespace conv2d_testing {

using kernel_testing::Array, kernel_testing::Expected, kernel_testing::dot;
using tenon::index_t;
namespace conv2d = tenon::conv2d;

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

inline std::vector<Expected> expected_forward(Shape const& s, Array const& x, Array const& weight, index_t y_size) {
    std::vector<Expected> y(static_cast<std::size_t>(y_size));
    for_each_product(s, [&](index_t ix, index_t iy, index_t iw) {
        y[static_cast<std::size_t>(iy)].add(static_cast<double>(x[ix]) * weight[iw]);
    });
    return y;
}
inline std::vector<Expected> expected_input_gradient(Shape const& s, Array const& dy, Array const& weight,
                                                     index_t x_size) {
    std::vector<Expected> dx(static_cast<std::size_t>(x_size));
    for_each_product(s, [&](index_t ix, index_t iy, index_t iw) {
        dx[static_cast<std::size_t>(ix)].add(static_cast<double>(dy[iy]) * weight[iw]);
    });
    return dx;
}
/// `x` and `dy` hold one block each; adds to `dw`.
inline void expect_weight_gradient(Shape const& s, float const* x, float const* dy, std::vector<Expected>& dw) {
    for_each_product(s, [&](index_t ix, index_t iy, index_t iw) {
        dw[static_cast<std::size_t>(iw)].add(static_cast<double>(dy[iy]) * x[ix]);
    });
}

inline index_t count_wrong(Array const& actual, std::vector<Expected> const& expected) {
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

} // namespace conv2d_testing
