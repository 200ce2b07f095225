// Statements that write more than the caches hold: their stores go past the caches where alignment allows it.

#include "random_tensor.hpp"

#include <tenon/expr/expr.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace tenon;
using namespace tenon::test;

namespace {

constexpr index_t rows = 8'209, columns = 1'031; // 34 MB; a row begins at every place of a vector
using Large = Tensor<float, Shape<rows, columns>>;

Large const& input() {
    static Large const x = random_tensor<float, Shape<rows, columns>>(21);
    return x;
}

/// The largest difference between y and f of the elements of x; NaN counts as infinite.
template <class F>
double worst(Large const& y, Large const& x, F f) {
    double most = 0;
    for (index_t i = 0; i < x.size(); ++i) {
        double const off = std::fabs(static_cast<double>(y.data()[i]) - f(static_cast<double>(x.data()[i])));
        most = off <= most ? most : std::isnan(off) ? HUGE_VAL : off;
    }
    return most;
}

} // namespace

TEST_CASE("a large loop: aligned, in place, several results") {
    Large const& x = input();
    Large y = poisoned<float, Shape<rows, columns>>();
    y = x * 1.25f + 0.5f;
    CHECK(worst(y, x, [](double a) { return a * 1.25 + 0.5; }) < 1e-6);
    Large in_place = x;
    in_place = in_place * in_place - 1.0f;
    CHECK(worst(in_place, x, [](double a) { return a * a - 1; }) < 1e-6);
    Large z = poisoned<float, Shape<rows, columns>>();
    update(y = x + 1.0f, z = y * 2.0f); // z reads what has just been stored
    CHECK(worst(y, x, [](double a) { return a + 1; }) < 1e-6);
    CHECK(worst(z, x, [](double a) { return (a + 1) * 2; }) < 2e-6);
}

TEST_CASE("large loops write to windows that begin anywhere, and only there") {
    Tensor<float, Shape<rows, columns + 9>> y = poisoned<float, Shape<rows, columns + 9>>();
    slice<1, 3, columns + 3>(y) = input() * 2.0f;
    bool outside_is_kept = true, right = true;
    for (index_t i = 0; i < rows; ++i)
        for (index_t j = 0; j < columns + 9; ++j) {
            if (j < 3 || j >= columns + 3) outside_is_kept = outside_is_kept && std::isnan(y(i, j));
            else right = right && y(i, j) == input()(i, j - 3) * 2.0f;
        }
    CHECK(outside_is_kept);
    CHECK(right);
}

TEST_CASE("rows of a large result, with a NaN and infinities in some of them") {
    Large x = input();
    x(5, 1'030) = std::numeric_limits<float>::quiet_NaN();
    x(6, 0) = -std::numeric_limits<float>::infinity();
    x(7, 64) = std::numeric_limits<float>::infinity();
    Large y = poisoned<float, Shape<rows, columns>>();
    y = softmax<1>(x);
    double most = 0;
    for (index_t i = 0; i < rows; ++i) {
        if (i == 5 || i == 7) continue;
        double total = 0;
        for (index_t j = 0; j < columns; ++j) total += std::exp(static_cast<double>(x(i, j)));
        for (index_t j = 0; j < columns; ++j) {
            double const off = std::fabs(static_cast<double>(y(i, j)) - std::exp(static_cast<double>(x(i, j))) / total);
            most = off <= most ? most : std::isnan(off) ? HUGE_VAL : off;
        }
    }
    CHECK(most < 1e-8);
    CHECK(y(6, 0) == 0.0f);
    bool all_nan = true;
    for (index_t j = 0; j < columns; ++j) all_nan = all_nan && std::isnan(y(5, j)) && std::isnan(y(7, j) + y(7, 64));
    CHECK(all_nan);
}
