// The kernels of pooling against windows visited one element at a time: every number of images in the lanes, windows
// that touch, overlap, leave gaps and reach over the edge, rows that end within a vector, ties, NaN and infinities.
#include "kernel_testing.hpp"

#include <tenon/ops/pool2d/cpu.hpp>

#include <initializer_list>
#include <limits>
#include <vector>

using namespace tenon;
using kernel_testing::Array, kernel_testing::Expected;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr index_t planes = 3;

/// Calls f(tap, index of x) for what window (row, column) of plane p meets, for one image, in order.
template <class P, class F>
void for_each_tap(int lanes, index_t p, index_t row, index_t column, int lane, F f) {
    for (int ky = 0; ky < P::kernel_height; ++ky)
        for (int kx = 0; kx < P::kernel_width; ++kx) {
            index_t const y = row * P::stride_height - P::padding_height + ky;
            index_t const x = column * P::stride_width - P::padding_width + kx;
            if (y < 0 || y >= P::height || x < 0 || x >= P::width) continue;
            f(ky * P::kernel_width + kx, ((p * P::height + y) * P::width + x) * lanes + lane);
        }
}
/// Calls f(plane, row, column, lane, index of y) for every window.
template <class P, class F>
void for_each_window(int lanes, F f) {
    for (index_t p = 0; p < planes; ++p)
        for (index_t row = 0; row < P::out_height; ++row)
            for (index_t column = 0; column < P::out_width; ++column)
                for (int l = 0; l < lanes; ++l)
                    f(p, row, column, l, ((p * P::out_height + row) * P::out_width + column) * lanes + l);
}

/// Few different values, so that elements tie; some NaN, some infinite.
Array difficult(index_t size, std::mt19937& random) {
    Array x{size};
    for (index_t i = 0; i < size; ++i) {
        auto const kind = random() % 40;
        x[i] = kind == 0   ? not_a_number
               : kind < 4  ? -infinity
               : kind == 4 ? infinity
                           : static_cast<float>(random() % 5) - 3;
    }
    return x;
}

bool same(float a, float b) { return a == b || (a != a && b != b); }

template <class P, int Lanes, class Index>
void check_max(std::mt19937& random) {
    CAPTURE(Lanes);
    Array const x = difficult(planes * P::plane * Lanes, random);
    Array y{planes * P::out_plane * Lanes}, y_alone{y.size()}, dy{y.size()}, dx{x.size()};
    std::vector<Index> taps(static_cast<std::size_t>(y.size()), Index{99});
    pool2d::max_forward<P, Lanes>(planes, x.data(), y.data(), taps.data());
    pool2d::max_forward<P, Lanes>(planes, x.data(), y_alone.data(), static_cast<Index*>(nullptr));
    dy.fill_random(random);
    pool2d::max_backward<P, Lanes>(planes, dy.data(), taps.data(), dx.data());

    std::vector<Expected> gradient(static_cast<std::size_t>(x.size()));
    index_t wrong = 0;
    for_each_window<P>(Lanes, [&](index_t p, index_t row, index_t column, int lane, index_t at) {
        int winner = -1;
        index_t from = -1;
        for_each_tap<P>(Lanes, p, row, column, lane, [&](int tap, index_t i) {
            if (winner < 0 || x[i] > x[from] || x[i] != x[i]) winner = tap, from = i;
        });
        if (!same(y[at], x[from]) || !same(y_alone[at], x[from]) || taps[static_cast<std::size_t>(at)] != winner)
            ++wrong;
        gradient[static_cast<std::size_t>(from)].add(dy[at]);
    });
    CHECK(wrong == 0);
    index_t wrong_gradients = 0;
    for (index_t i = 0; i < x.size(); ++i)
        if (!gradient[static_cast<std::size_t>(i)].is(dx[i])) ++wrong_gradients;
    CHECK(wrong_gradients == 0);
    for (Array const* array : std::initializer_list<Array const*>{&x, &y, &y_alone, &dy, &dx}) CHECK(array->intact());
}

template <class P, int Lanes>
void check_average(std::mt19937& random) {
    CAPTURE(Lanes);
    Array x{planes * P::plane * Lanes}, y{planes * P::out_plane * Lanes}, dy{y.size()}, dx{x.size()};
    x.fill_random(random);
    dy.fill_random(random);
    pool2d::average_forward<P, Lanes>(planes, x.data(), y.data());
    pool2d::average_backward<P, Lanes>(planes, dy.data(), dx.data());

    double const area = P::kernel_height * P::kernel_width;
    std::vector<Expected> gradient(static_cast<std::size_t>(x.size()));
    index_t wrong = 0;
    for_each_window<P>(Lanes, [&](index_t p, index_t row, index_t column, int lane, index_t at) {
        Expected mean;
        for_each_tap<P>(Lanes, p, row, column, lane, [&](int, index_t i) {
            mean.add(x[i] / area);
            gradient[static_cast<std::size_t>(i)].add(dy[at] / area);
        });
        if (!mean.is(y[at])) ++wrong;
    });
    CHECK(wrong == 0);
    index_t wrong_gradients = 0;
    for (index_t i = 0; i < x.size(); ++i)
        if (!gradient[static_cast<std::size_t>(i)].is(dx[i])) ++wrong_gradients;
    CHECK(wrong_gradients == 0);
    for (Array const* array : std::initializer_list<Array const*>{&x, &y, &dy, &dx}) CHECK(array->intact());
}

/// Blocks of images never exceed a vector; see lanes_for.
template <class P, int Lanes, class Index>
void check_lanes(std::mt19937& random) {
    if constexpr (Lanes <= cpu::native_lanes<float>) check_max<P, Lanes, Index>(random), check_average<P, Lanes>(random);
}

template <index_t H, index_t W, int KH, int KW, int SH, int SW, int PH = 0, int PW = 0, class Index = std::uint8_t>
void check() {
    using P = pool2d::Problem<H, W, KH, KW, SH, SW, PH, PW>;
    std::mt19937 random{static_cast<unsigned>(H * 100 + W)};
    check_lanes<P, 1, Index>(random);
    check_lanes<P, 2, Index>(random);
    check_lanes<P, 4, Index>(random);
    check_lanes<P, 8, Index>(random);
    check_lanes<P, 16, Index>(random);
}

} // namespace

TEST_CASE("windows side by side, in rows of every length about a vector's") {
    check<24, 24, 2, 2, 2, 2>();
    check<8, 8, 2, 2, 2, 2>();
    check<5, 2, 2, 2, 2, 2>();
    check<4, 7, 2, 2, 2, 2>();
    check<3, 13, 2, 2, 2, 2>();
    check<2, 33, 2, 2, 2, 2>();
    check<2, 71, 2, 2, 2, 2>();
}

TEST_CASE("windows that overlap, and windows with gaps between them") {
    check<7, 19, 3, 3, 2, 2>();
    check<5, 37, 3, 3, 1, 1>();
    check<9, 26, 2, 2, 3, 3>();
    check<6, 41, 1, 1, 2, 2>();
    check<6, 21, 2, 1, 2, 1>();
    check<4, 50, 1, 3, 2, 4>();
    check<4, 45, 2, 4, 1, 2>();
}

TEST_CASE("windows that reach over the edge") {
    check<7, 19, 3, 3, 2, 2, 1, 1>();
    check<6, 35, 2, 2, 2, 2, 1, 1>();
    check<5, 5, 5, 5, 1, 1, 2, 2>();
    check<8, 22, 1, 4, 1, 1, 0, 2>();
    check<8, 22, 4, 1, 3, 2, 2, 0>();
    check<2, 3, 4, 6, 1, 1, 2, 3>();
}

TEST_CASE("windows of more than 256 taps") { check<18, 30, 17, 17, 1, 2, 0, 0, std::int32_t>(); }
