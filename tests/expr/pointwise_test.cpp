#include "random_tensor.hpp"

#include <tenon/expr/expr.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace tenon;
using namespace tenon::test;

namespace {

template <class E, class V, class S>
constexpr bool gives = std::is_same_v<typename E::value_type, V> && std::is_same_v<typename E::shape, S>;

constexpr index_t R = 5, C = 37;
using Matrix = Tensor<float, Shape<R, C>>;

} // namespace

TEST_CASE("arithmetic, functions and numbers in one loop") {
    Matrix const x = random_tensor<float, Shape<R, C>>(1), y = random_tensor<float, Shape<R, C>>(2, 0.5, 3);
    Matrix z = poisoned<float, Shape<R, C>>();
    z = exp(x) * y - 3 / y + sqrt(y) * 0.5 + pow(y, x) - max(x, y) + min(x, 0.25f);
    for (index_t r = 0; r < R; ++r)
        for (index_t c = 0; c < C; ++c) {
            double const a = static_cast<double>(x(r, c)), b = static_cast<double>(y(r, c));
            double const expected =
                std::exp(a) * b - 3 / b + std::sqrt(b) * 0.5 + std::pow(b, a) - std::max(a, b) + std::min(a, 0.25);
            CHECK(static_cast<double>(z(r, c)) == doctest::Approx(expected).epsilon(1e-5));
        }
}

TEST_CASE("every elementary function reaches the element that it should") {
    Tensor<double, Shape<41>> const x = random_tensor<double, Shape<41>>(3, 0.1, 2.9);
    auto const check = [&](auto const& e, auto const& oracle) {
        Tensor<double, Shape<41>> y = poisoned<double, Shape<41>>();
        y = e;
        for (index_t i = 0; i < 41; ++i) CHECK(y(i) == doctest::Approx(oracle(x(i))).epsilon(1e-14));
    };
    check(-x, [](double a) { return -a; });
    check(abs(1 - x), [](double a) { return std::fabs(1 - a); });
    check(sign(1.5 - x), [](double a) { return a < 1.5 ? 1.0 : -1.0; });
    check(floor(x), [](double a) { return std::floor(a); });
    check(ceil(x), [](double a) { return std::ceil(a); });
    check(round(x), [](double a) { return std::nearbyint(a); });
    check(sqrt(x), [](double a) { return std::sqrt(a); });
    check(exp(x), [](double a) { return std::exp(a); });
    check(expm1(x), [](double a) { return std::expm1(a); });
    check(log(x), [](double a) { return std::log(a); });
    check(log1p(x), [](double a) { return std::log1p(a); });
    check(sin(x), [](double a) { return std::sin(a); });
    check(cos(x), [](double a) { return std::cos(a); });
    check(tanh(x), [](double a) { return std::tanh(a); });
    check(erf(x), [](double a) { return std::erf(a); });
    check(sigmoid(x), [](double a) { return 1 / (1 + std::exp(-a)); });
    check(relu(1 - x), [](double a) { return std::fmax(1 - a, 0); });
    check(fma(x, x, 2), [](double a) { return a * a + 2; });
    check(pow(x, 2.5), [](double a) { return std::pow(a, 2.5); });
    check(square(x), [](double a) { return a * a; });
    check(softplus(x), [](double a) { return std::log1p(std::exp(a)); });
    check(silu(x), [](double a) { return a / (1 + std::exp(-a)); });
    check(gelu(x), [](double a) { return 0.5 * a * (1 + std::erf(a / std::sqrt(2.0))); });
    check(log_sigmoid(x), [](double a) { return -std::log1p(std::exp(-a)); });
    check(clamp(x, 1, 2), [](double a) { return a < 1 ? 1 : a > 2 ? 2 : a; });
}

TEST_CASE("comparisons and logic give truth values, select takes them") {
    Tensor<float, Shape<21>> const x = random_tensor<float, Shape<21>>(4);
    Tensor less = x < 0.5f;
    static_assert(std::is_same_v<decltype(less), Tensor<bool, Shape<21>>>);
    Tensor<float, Shape<21>> y = select((x > 0 && !(x >= 1.0)) || x == -2, x, -x);
    Tensor<bool, Shape<21>> truths = (x <= 0) != (x > 1);
    for (index_t i = 0; i < 21; ++i) {
        CHECK(less(i) == (x(i) < 0.5f));
        CHECK(y(i) == ((x(i) > 0 && x(i) < 1) || x(i) == -2 ? x(i) : -x(i)));
        CHECK(truths(i) == ((x(i) <= 0) != (x(i) > 1)));
    }
    float const nan = std::numeric_limits<float>::quiet_NaN();
    Tensor<float, Shape<3>> const with_nan{nan, -1, 2};
    Tensor found = is_nan(with_nan);
    CHECK(found(0));
    CHECK(!found(1));
    Tensor positive = relu(with_nan);
    CHECK(std::isnan(positive(0)));
    CHECK(positive(1) == 0);
}

TEST_CASE("shapes broadcast by the usual rules, also deep inside") {
    Matrix const x = random_tensor<float, Shape<R, C>>(5);
    Tensor<float, Shape<C>> const row = random_tensor<float, Shape<C>>(6);
    Tensor<float, Shape<R, 1>> const column = random_tensor<float, Shape<R, 1>>(7);
    Tensor<float, Shape<>> const number{3};
    Tensor y = (x + row) * (column - row) + number;
    static_assert(std::is_same_v<decltype(y), Matrix>);
    Tensor outer = column * row;
    static_assert(std::is_same_v<decltype(outer), Matrix>);
    Matrix repeated;
    repeated = row; // an assignment broadcasts too
    for (index_t r = 0; r < R; ++r)
        for (index_t c = 0; c < C; ++c) {
            CHECK(y(r, c) == doctest::Approx((x(r, c) + row(c)) * (column(r, 0) - row(c)) + 3).epsilon(1e-6));
            CHECK(outer(r, c) == column(r, 0) * row(c));
            CHECK(repeated(r, c) == row(c));
        }
    Tensor<float, Shape<2, 1, 3>> const a = random_tensor<float, Shape<2, 1, 3>>(8);
    Tensor<float, Shape<4, 1>> const b = random_tensor<float, Shape<4, 1>>(9);
    Tensor z = a - b;
    static_assert(std::is_same_v<decltype(z), Tensor<float, Shape<2, 4, 3>>>);
    for (index_t i = 0; i < 2; ++i)
        for (index_t j = 0; j < 4; ++j)
            for (index_t k = 0; k < 3; ++k) CHECK(z(i, j, k) == a(i, 0, k) - b(j, 0));
}

TEST_CASE("element types combine as in PyTorch, and numbers adapt to tensors") {
    Tensor<float, Shape<3>> const f;
    Tensor<double, Shape<3>> const d;
    Tensor<std::int32_t, Shape<3>> const i;
    Tensor<std::int64_t, Shape<3>> const l;
    Tensor<std::uint8_t, Shape<3>> const u;
    Tensor<bool, Shape<3>> const b;
    using S = Shape<3>;
    static_assert(gives<decltype(f * 2.5), float, S> && gives<decltype(f + d), double, S> &&
                  gives<decltype(f * l), float, S> && gives<decltype(i + l), std::int64_t, S>);
    static_assert(gives<decltype(i * 2.5), float, S> && gives<decltype(i * 2), std::int32_t, S> &&
                  gives<decltype(i / i), float, S> && gives<decltype(exp(i)), float, S>);
    static_assert(gives<decltype(u + 1), std::uint8_t, S> && gives<decltype(u / 255.0f), float, S> &&
                  gives<decltype(b + b), std::int32_t, S> && gives<decltype(f < d), bool, S>);
    static_assert(gives<decltype(b && b), bool, S> && gives<decltype(select(b, f, d)), double, S> &&
                  gives<decltype(select(b, l, 0)), std::int64_t, S>);
}

TEST_CASE("whole numbers stay exact, beside fractions too") {
    Tensor<std::int64_t, Shape<4>> const large{(std::int64_t{1} << 53) + 1, -(std::int64_t{1} << 60), 7, 0};
    Tensor more = large + 1;
    CHECK(more(0) == (std::int64_t{1} << 53) + 2);
    CHECK(more(1) == -(std::int64_t{1} << 60) + 1);
    Tensor<std::int32_t, Shape<4>> const labels{16777217, 16777216, 3, 5}; // 2^24 + 1 is no float
    Tensor<float, Shape<4>> y = select(labels == 16777217, 1.5f, 0.5f);
    CHECK(y(0) == 1.5f);
    CHECK(y(1) == 0.5f);
    Tensor<std::int32_t, Shape<2>> const pair{7, -7};
    Tensor half = pair / 2;
    CHECK(half(1) == -3.5f);
    Tensor<std::uint8_t, Shape<3>> const pixels{0, 128, 255};
    Tensor<float, Shape<3>> normal = (pixels / 255.0f - 0.5f) / 0.5f;
    CHECK(normal(0) == -1);
    CHECK(normal(2) == 1);
}

TEST_CASE("an expression of one element is a number") {
    Tensor<float, Shape<>> const a{2}, b{5};
    float const product = a * b;
    CHECK(product == 10);
    Tensor<float, Shape<3>> const x{1, 2, 3};
    CHECK(sum(x) == 6.0f);
    double const mean_of_squares = mean(x * x);
    CHECK(mean_of_squares == doctest::Approx(14.0 / 3));
}

TEST_CASE("temporaries are owned by the expression that they go into") {
    auto const make = [] { return random_tensor<float, Shape<33>>(10); };
    auto const expression = make() * 2 + make(); // both tensors would be gone without ownership
    Tensor y = expression;
    Tensor const x = make();
    for (index_t i = 0; i < 33; ++i) CHECK(y(i) == 3 * x(i));
    Tensor z = sum(make() * 1.0f);
    CHECK(z.item() == doctest::Approx(static_cast<double>(sum(x))));
}

TEST_CASE("names do not clash with the C library's") {
    using std::exp; // both are visible
    Tensor<float, Shape<2>> const x{0, 1};
    Tensor y = exp(x);
    CHECK(y(0) == 1);
    CHECK(exp(0.0) == 1.0);
    CHECK(std::max(1, 2) == 2);
    float const number = exp(1.0f) + sqrtf(4.0f) + powf(2.0f, 3.0f) + static_cast<float>(abs(-1));
    CHECK(number == doctest::Approx(2.7182818 + 2 + 8 + 1));
    CHECK(square(3.0f) == 9.0f);
    CHECK(softplus(0.0f) == doctest::Approx(std::log(2.0)));
    CHECK(gelu(1.0) == doctest::Approx(0.8413447460685429).epsilon(1e-7));
    CHECK(clamp(5, 1, 3) == 3);
}

TEST_CASE("products of C++ numbers and tensors of many types compile and agree") {
    Tensor<float, Shape<2>> const x{1, 2};
    Tensor a = x * 2;
    Tensor b = 2u * x;
    Tensor c = x * 2ll;
    Tensor d = x * true;
    CHECK(a(1) == 4);
    CHECK(b(1) == 4);
    CHECK(c(1) == 4);
    CHECK(d(1) == 2);
}
