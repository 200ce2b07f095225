#include "random_tensor.hpp"

#include <tenon/expr/expr.hpp>

#include <doctest/doctest.h>

#include <cmath>

// A program's own functors stand outside the library.
namespace program {

struct Mish {
    constexpr auto operator()(auto x) const { return x * tanh(softplus(x)); }
};
struct Hinge {
    constexpr auto operator()(auto x, auto label) const { return max(1 - x * label, 0.0f); }
};
struct Huber {
    constexpr auto operator()(auto x) const { return select(abs(x) < 1.0, 0.5 * x * x, abs(x) - 0.5); }
};

} // namespace program

using namespace tenon;
using namespace tenon::test;

namespace {

double mish(double x) { return x * std::tanh(std::log1p(std::exp(x))); }

/// Steps of a statement's program, other than loads and stores.
template <class E>
constexpr int steps() {
    using Statement = expr::Statement<float, typename E::shape, strides_of<contiguous_strides(E::shape::dims)>, E>;
    constexpr expr::Plan plan = expr::Lowered<expr::Leaves::merged, Statement>::plan;
    int count = 0;
    for (int i = 0; i < plan.codes; ++i) {
        Fn const fn = Instruction::decode(plan.code[i]).fn;
        count += fn != Fn::load && fn != Fn::store && fn != Fn::constant;
    }
    return count;
}

} // namespace

TEST_CASE("a functor on a scalar works on expressions, by map and by calling it") {
    using S = Shape<5, 19>;
    Tensor<float, S> const x = random_tensor<float, S>(1, -6, 6), b = random_tensor<float, S>(2);
    Tensor y = map(program::Mish{}, x + b);
    Tensor z = program::Mish{}(x + b);
    Tensor h = map(program::Huber{}, x);
    Tensor l = map([](auto v) { return v * v + 1; }, x);
    Tensor hinge = map(program::Hinge{}, x, sign(b));
    for (index_t i = 0; i < 5; ++i)
        for (index_t j = 0; j < 19; ++j) {
            double const v = static_cast<double>(x(i, j)), w = static_cast<double>(x(i, j) + b(i, j));
            CHECK(static_cast<double>(y(i, j)) == doctest::Approx(mish(w)).epsilon(1e-5));
            CHECK(static_cast<double>(z(i, j)) == doctest::Approx(mish(w)).epsilon(1e-5));
            CHECK(static_cast<double>(h(i, j)) ==
                  doctest::Approx(std::fabs(v) < 1 ? 0.5 * v * v : std::fabs(v) - 0.5).epsilon(1e-6));
            CHECK(static_cast<double>(l(i, j)) == doctest::Approx(v * v + 1).epsilon(1e-6));
            CHECK(static_cast<double>(hinge(i, j)) ==
                  doctest::Approx(std::fmax(0, 1 - v * (b(i, j) > 0 ? 1 : -1))).epsilon(1e-6));
        }
}

TEST_CASE("what a functor mentions twice is computed once") {
    Tensor<float, Shape<8>> const x, b;
    // exp(x + b) would be there three times if the operand were copied into the formula
    auto const by_map = map(program::Mish{}, exp(x + b));
    auto const by_call = program::Mish{}(exp(x + b));
    static_assert(steps<std::remove_cvref_t<decltype(by_map)>>() ==
                  2 + 8); // +, exp; relu, abs, neg, exp, log1p, +, tanh, *
    static_assert(steps<std::remove_cvref_t<decltype(by_call)>>() == steps<std::remove_cvref_t<decltype(by_map)>>());
    CHECK(Tensor{by_map}(0) == doctest::Approx(mish(1)));
    CHECK(Tensor{by_call}(0) == doctest::Approx(mish(1)));
}

TEST_CASE("derived functions keep double precision where the tensors have it") {
    Tensor<double, Shape<3>> const x{-3, 0.1, 4};
    Tensor y = gelu(x);
    Tensor t = gelu_tanh(x);
    static_assert(std::is_same_v<decltype(y), Tensor<double, Shape<3>>>);
    for (index_t i = 0; i < 3; ++i) {
        double const v = x(i);
        CHECK(y(i) == doctest::Approx(0.5 * v * (1 + std::erf(v / std::sqrt(2.0)))).epsilon(1e-14));
        CHECK(t(i) == doctest::Approx(
                          0.5 * v * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (v + 0.044715 * v * v * v))))
                          .epsilon(1e-14));
    }
    Tensor<std::int32_t, Shape<2>> const whole{3, -2};
    Tensor s = softplus(whole);
    static_assert(std::is_same_v<decltype(s), Tensor<float, Shape<2>>>);
    CHECK(static_cast<double>(s(1)) == doctest::Approx(std::log1p(std::exp(-2.0))));
}
