#include <tenon/core/math.hpp>
#include <tenon/cpu/vector.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

using namespace tenon;

namespace {

constexpr int lanes = cpu::native_lanes<float>;
using V = cpu::Vec<float, lanes>;
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Distance in units in the last place of `expected`; 1e9 where NaN, infinity or the sign of zero disagree.
double distance(float found, double expected) {
    float const rounded = static_cast<float>(expected);
    if (std::isnan(expected) || std::isnan(found)) return std::isnan(expected) && std::isnan(found) ? 0 : 1e9;
    if (found == 0 && rounded == 0) return std::signbit(found) == std::signbit(rounded) ? 0 : 1e9;
    if (std::isinf(found) || std::isinf(rounded)) {
        if (found == rounded) return 0;
        float const finite = std::isinf(found) ? rounded : found;
        return std::fabs(finite) > 3.4028e38f && std::signbit(found) == std::signbit(rounded) ? 1 : 1e9;
    }
    return std::fabs(static_cast<double>(found) - expected) /
           std::ldexp(1.0, std::max(std::ilogb(expected), -126) - 23);
}

/// The largest distance over floats of every exponent and sign, for vectors and for scalars.
template <class Function, class Oracle>
double worst(Function function, Oracle oracle) {
    double most = 0;
    std::uint32_t const step = 9973; // a prime: all mantissas' bits move
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += std::uint64_t{step} * lanes) {
        V x{};
        for (int i = 0; i < lanes; ++i)
            x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits + step * static_cast<std::uint32_t>(i)));
        V const y = function(x);
        for (int i = 0; i < lanes; ++i) {
            double const expected = oracle(static_cast<double>(x[i]));
            most = std::max({most, distance(y[i], expected), distance(function(static_cast<float>(x[i])), expected)});
        }
    }
    return most;
}

#define CHECK_FUNCTION(name, oracle, bound)                                                                            \
    CHECK(worst([](auto x) { return math::name(x); }, [](double x) { return oracle; }) < bound)

} // namespace

TEST_CASE("elementary functions are within a few units in the last place everywhere") {
    CHECK_FUNCTION(exp, std::exp(x), 1.6);
    CHECK_FUNCTION(expm1, std::expm1(x), 2.6);
    CHECK_FUNCTION(log, std::log(x), 1.6);
    CHECK_FUNCTION(log1p, std::log1p(x), 2.6);
    CHECK_FUNCTION(tanh, std::tanh(x), 2.6);
    CHECK_FUNCTION(erf, std::erf(x), 2.6);
    CHECK_FUNCTION(sigmoid, 1 / (1 + std::exp(-x)), 3.1);
    CHECK_FUNCTION(sin, std::sin(x), 2.1);
    CHECK_FUNCTION(cos, std::cos(x), 2.1);
    CHECK_FUNCTION(sqrt, std::sqrt(x), 0.51);
    CHECK_FUNCTION(floor, std::floor(x), 0.01);
    CHECK_FUNCTION(ceil, std::ceil(x), 0.01);
    CHECK_FUNCTION(round, std::nearbyint(x), 0.01);
}

TEST_CASE("special values come out as in C") {
    for (float x : {0.0f,  -0.0f, 1.0f,   -1.0f,   inf,     -inf,    not_a_number, 1e-45f, -1e-45f, 1e-39f,
                    88.7f, 88.8f, -87.4f, -103.9f, -104.5f, 3.4e38f, 0.5f,         1.5f,   2.5f,    -2.5f}) {
        CAPTURE(x);
        double const wide = static_cast<double>(x);
        CHECK(distance(math::exp(x), std::exp(wide)) < 2);
        CHECK(distance(math::expm1(x), std::expm1(wide)) < 3);
        CHECK(distance(math::log(x), std::log(wide)) < 2);
        CHECK(distance(math::log1p(x), std::log1p(wide)) < 3);
        CHECK(distance(math::tanh(x), std::tanh(wide)) < 3);
        CHECK(distance(math::erf(x), std::erf(wide)) < 3);
        CHECK(distance(math::sin(x), std::sin(wide)) < 3);
        CHECK(distance(math::cos(x), std::cos(wide)) < 3);
        CHECK(distance(math::round(x), std::nearbyint(wide)) == 0);
        CHECK(distance(math::floor(x), std::floor(wide)) == 0);
        CHECK(distance(math::ceil(x), std::ceil(wide)) == 0);
    }
}

TEST_CASE("pow is within a unit in the last place and knows C's special cases") {
    std::uint64_t state = 1;
    auto const random = [&] {
        return static_cast<std::uint32_t>((state = state * 6364136223846793005ull + 1442695040888963407ull) >> 32);
    };
    double most = 0;
    for (int i = 0; i < 300'000; ++i) {
        float const any = std::bit_cast<float>(random()), other = std::bit_cast<float>(random());
        float const base = static_cast<float>(random()) * 1e-9f,
                    exponent = static_cast<float>(static_cast<std::int32_t>(random())) * 2e-8f;
        most = std::max(
            most, distance(math::pow(any, other), std::pow(static_cast<double>(any), static_cast<double>(other))));
        most = std::max(most, distance(math::pow(base, exponent),
                                       std::pow(static_cast<double>(base), static_cast<double>(exponent))));
    }
    CHECK(most < 0.6);

    float const special[] = {0.0f,  -0.0f, 1.0f, -1.0f, inf,    -inf,    not_a_number, 2.0f,        3.0f,
                             -2.0f, -3.0f, 0.5f, -0.5f, 1e-40f, -1e-40f, 3e38f,        16777217.0f, -2.5f};
    for (float x : special)
        for (float y : special) {
            CAPTURE(x);
            CAPTURE(y);
            CHECK(distance(math::pow(x, y), std::pow(static_cast<double>(x), static_cast<double>(y))) < 0.6);
            V const vector = math::pow(V{} + x, V{} + y);
            if (!std::signbit(x) && !std::signbit(y))
                CHECK(distance(vector[lanes - 1], std::pow(static_cast<double>(x), static_cast<double>(y))) < 0.6);
        }
}

TEST_CASE("double goes through the C library, lane by lane") {
    constexpr int n = cpu::native_lanes<double>;
    cpu::Vec<double, n> x{};
    for (int i = 0; i < n; ++i) x[i] = 0.37 * (i + 1);
    cpu::Vec<double, n> const e = math::exp(x), s = math::sqrt(x), p = math::pow(x, x), g = math::sigmoid(x);
    for (int i = 0; i < n; ++i) {
        CHECK(e[i] == std::exp(x[i]));
        CHECK(s[i] == std::sqrt(x[i]));
        CHECK(p[i] == std::pow(x[i], x[i]));
        CHECK(g[i] == doctest::Approx(1 / (1 + std::exp(-x[i]))).epsilon(1e-15));
    }
}

TEST_CASE("a value in every lane keeps the sign of zero") {
    V const zero = math::all<V>(-0.0f);
    for (int i = 0; i < lanes; ++i) CHECK(std::signbit(zero[i]));
}
