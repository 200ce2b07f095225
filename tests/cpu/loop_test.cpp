#include <tenon/cpu/loop.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace tenon;

namespace {

constexpr std::uint64_t step(Fn fn, int a = 0, int b = 0, int c = 0) {
    return Instruction{fn, static_cast<std::uint8_t>(a), static_cast<std::uint8_t>(b), static_cast<std::uint8_t>(c), 0}
        .encode();
}
constexpr std::uint64_t operand(Fn fn, unsigned number, int value = 0) {
    return Instruction{fn, static_cast<std::uint8_t>(value), 0, 0, number}.encode();
}
constexpr std::uint64_t constant(float value) {
    return Instruction{Fn::constant, 0, 0, 0, std::bit_cast<std::uint32_t>(value)}.encode();
}

/// y = F(x0, x1, x2), operands 0 to 2, result operand 3.
template <Fn F>
using Apply = Program<operand(Fn::load, 0), operand(Fn::load, 1), operand(Fn::load, 2), step(F, 0, 1, 2),
                      operand(Fn::store, 3, 3)>;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

/// Elements between two guards that no loop may touch.
template <class T>
class Guarded {
public:
    explicit Guarded(std::size_t count) : values_(count + 2 * guard) {
        std::memset(static_cast<void*>(values_.data()), 0x5a, values_.size() * sizeof(T));
    }
    T* data() { return values_.data() + guard; }
    T& operator[](std::size_t i) { return data()[i]; }
    [[nodiscard]] bool guards_intact() const {
        std::vector<unsigned char> const expected(guard * sizeof(T), 0x5a);
        auto const intact = [&](T const* at) { return std::memcmp(at, expected.data(), expected.size()) == 0; };
        return intact(values_.data()) && intact(values_.data() + values_.size() - guard);
    }

private:
    static constexpr std::size_t guard = 64;
    std::vector<T> values_;
};

/// One operand of length N is added to another and the sum is negated: right values, and nothing outside touched.
template <index_t N>
void check_length() {
    using P = Program<operand(Fn::load, 0), operand(Fn::load, 1), step(Fn::add, 0, 1), step(Fn::neg, 2),
                      operand(Fn::store, 2, 3)>;
    std::size_t const n = static_cast<std::size_t>(N);
    std::mt19937 random{static_cast<unsigned>(N)};
    std::uniform_real_distribution<float> uniform{-1, 1};
    Guarded<float> x{n}, y{n}, z{n};
    for (std::size_t i = 0; i < n; ++i) {
        x[i] = uniform(random);
        y[i] = uniform(random);
        z[i] = not_a_number;
    }
    Operand const operands[] = {{x.data()}, {y.data()}, {z.data()}};
    cpu::run_loop<float, P, Extents<N>, Access<float, 1>, Access<float, 1>, Access<float, 1>>(operands);
    for (std::size_t i = 0; i < n; ++i) REQUIRE(z[i] == -(x[i] + y[i]));
    CHECK(x.guards_intact());
    CHECK(y.guards_intact());
    CHECK(z.guards_intact());
}
template <index_t... N>
void check_lengths() {
    (check_length<N>(), ...);
}

/// F on rows of 37 (a vector of any width and a tail) against `expected` of each element.
template <class Compute, Fn F, class Expected>
void check_function(std::vector<Compute> const& a, std::vector<Compute> const& b, Expected expected) {
    constexpr std::size_t n = 37;
    std::vector<Compute> x(n), y(n), z(n), result(n, Compute{7});
    for (std::size_t i = 0; i < n; ++i) {
        x[i] = a[i % a.size()];
        y[i] = b[(i / a.size()) % b.size()];
        z[i] = static_cast<Compute>(i);
    }
    Operand const operands[] = {{x.data()}, {y.data()}, {z.data()}, {result.data()}};
    cpu::run_loop<Compute, Apply<F>, Extents<n>, Access<Compute, 1>, Access<Compute, 1>, Access<Compute, 1>,
                  Access<Compute, 1>>(operands);
    for (std::size_t i = 0; i < n; ++i) {
        CAPTURE(i);
        CAPTURE(x[i]);
        CAPTURE(y[i]);
        Compute const wanted = static_cast<Compute>(expected(x[i], y[i], z[i]));
        if (wanted != wanted) CHECK(result[i] != result[i]);
        else CHECK(result[i] == wanted);
    }
}

} // namespace

TEST_CASE("lengths around vectors and unrolled trips are exact") {
    check_lengths<0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 15, 16, 17, 18, 24, 30, 31, 32, 33, 47, 63, 64, 65, 79, 80, 95,
                  127, 128, 129, 191, 200>();
}

TEST_CASE("comparisons, logic, min, max, relu and select treat NaN as PyTorch does") {
    std::vector<float> const a{not_a_number, -1, 0, 2, infinity, -infinity, -0.0f}, b{0, 2, not_a_number, -1};
    check_function<float, Fn::relu>(a, b, [](float x, float, float) { return x < 0 ? 0 : x; });
    check_function<float, Fn::max>(a, b, [](float x, float y, float) {
        return x != x ? x : y != y ? y : x > y ? x : y;
    });
    check_function<float, Fn::min>(a, b, [](float x, float y, float) {
        return x != x ? x : y != y ? y : x < y ? x : y;
    });
    check_function<float, Fn::less>(a, b, [](float x, float y, float) { return x < y; });
    check_function<float, Fn::less_equal>(a, b, [](float x, float y, float) { return x <= y; });
    check_function<float, Fn::equal>(a, b, [](float x, float y, float) { return x == y; });
    check_function<float, Fn::not_equal>(a, b, [](float x, float y, float) { return x != y; });
    check_function<float, Fn::logical_and>(a, b, [](float x, float y, float) { return x != 0 && y != 0; });
    check_function<float, Fn::logical_or>(a, b, [](float x, float y, float) { return x != 0 || y != 0; });
    check_function<float, Fn::logical_not>(a, b, [](float x, float, float) { return x == 0; });
    check_function<float, Fn::is_nan>(a, b, [](float x, float, float) { return x != x; });
    check_function<float, Fn::select>(a, b, [](float x, float y, float z) { return x != 0 ? y : z; });
    check_function<float, Fn::sign>(a, b, [](float x, float, float) { return x > 0 ? 1 : x < 0 ? -1 : x; });
    check_function<float, Fn::abs>(a, b, [](float x, float, float) { return std::fabs(x); });
    check_function<float, Fn::neg>(a, b, [](float x, float, float) { return -x; });
}

TEST_CASE("arithmetic in every type that values can have in registers") {
    std::vector<std::int32_t> const a{-7, 3, 0, 100000}, b{2, -5, 9};
    check_function<std::int32_t, Fn::add>(a, b, [](int x, int y, int) { return x + y; });
    check_function<std::int32_t, Fn::mul>(a, b, [](int x, int y, int) { return x * y; });
    check_function<std::int32_t, Fn::div>(a, b, [](int x, int y, int) { return x / y; });
    check_function<std::int32_t, Fn::fma>(a, b, [](int x, int y, int z) { return x * y + z; });
    std::vector<std::int64_t> const c{-7, 3, 0, 10'000'000'000}, d{2, -5, 9};
    check_function<std::int64_t, Fn::sub>(c, d, [](std::int64_t x, std::int64_t y, std::int64_t) { return x - y; });
    check_function<std::int64_t, Fn::mul>(c, d, [](std::int64_t x, std::int64_t y, std::int64_t) { return x * y; });
    check_function<std::int64_t, Fn::max>(c, d,
                                          [](std::int64_t x, std::int64_t y, std::int64_t) { return x > y ? x : y; });
    std::vector<double> const e{-0.1, 3.5, 1e300}, f{2, 1e-3};
    check_function<double, Fn::mul>(e, f, [](double x, double y, double) { return x * y; });
    check_function<double, Fn::exp>(f, e, [](double x, double, double) { return std::exp(x); });
    check_function<double, Fn::sigmoid>(f, e, [](double x, double, double) { return 1 / (1 + std::exp(-x)); });
}

TEST_CASE("a nest with broadcast, transposed and gathered operands visits every element once") {
    // y[c][p][l] = bias[c] + x[l][c][p] * w[p], x transposed
    constexpr index_t C = 5, P = 7, L = 19;
    using Multiply = Program<operand(Fn::load, 0), operand(Fn::load, 1), operand(Fn::load, 2), step(Fn::mul, 1, 2),
                             step(Fn::add, 0, 3), operand(Fn::store, 3, 4)>;
    std::vector<float> bias(C), x(C * P * L), w(P);
    Guarded<float> y{C * P * L};
    std::mt19937 random{3};
    std::uniform_int_distribution<int> whole{-9, 9}; // small whole numbers: exact in any order and with or without fma
    for (auto* v : {&bias, &x, &w})
        for (float& value : *v) value = static_cast<float>(whole(random));
    Operand const operands[] = {{bias.data()}, {x.data()}, {w.data()}, {y.data()}};
    cpu::run_loop<float, Multiply, Extents<C, P, L>, Access<float, 1, 0, 0>, Access<float, P, 1, C * P>,
                  Access<float, 0, 1, 0>, Access<float, P * L, L, 1>>(operands);
    for (index_t c = 0; c < C; ++c)
        for (index_t p = 0; p < P; ++p)
            for (index_t l = 0; l < L; ++l) {
                auto const at = [](index_t i) { return static_cast<std::size_t>(i); };
                REQUIRE(y[at((c * P + p) * L + l)] == bias[at(c)] + x[at((l * C + c) * P + p)] * w[at(p)]);
            }
    CHECK(y.guards_intact());
}

TEST_CASE("stores with a stride write their elements and no others") {
    using Copy = Program<operand(Fn::load, 0), operand(Fn::store, 1, 0)>;
    std::vector<float> x(23), y(69, -1.0f);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    Operand const operands[] = {{x.data()}, {y.data()}};
    cpu::run_loop<float, Copy, Extents<23>, Access<float, 1>, Access<float, 3>>(operands);
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == (i % 3 == 0 ? static_cast<float>(i / 3) : -1.0f));
    Operand const backwards[] = {{x.data() + 22}, {y.data()}};
    cpu::run_loop<float, Copy, Extents<23>, Access<float, -1>, Access<float, 1>>(backwards);
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(y[i] == static_cast<float>(22 - i));
}

TEST_CASE("loads and stores convert") {
    using Scale = Program<operand(Fn::load, 0), operand(Fn::load, 1), step(Fn::mul, 0, 1), operand(Fn::load, 2),
                          step(Fn::add, 2, 3), operand(Fn::store, 3, 4), operand(Fn::store, 4, 4), step(Fn::less, 0, 3),
                          operand(Fn::store, 5, 7), operand(Fn::store, 6, 7)>;
    constexpr std::size_t n = 43;
    std::vector<std::uint8_t> a(n);
    std::vector<std::int64_t> b(n);
    std::vector<std::int32_t> c(n), to_int(n, 99);
    std::vector<double> to_double(n, 99);
    std::array<bool, n> to_bool{};
    std::vector<float> to_float(n, 99);
    for (std::size_t i = 0; i < n; ++i) {
        a[i] = static_cast<std::uint8_t>(5 * i);
        b[i] = static_cast<std::int64_t>(i) - 20;
        c[i] = 1000 - static_cast<std::int32_t>(i * i);
    }
    Operand const operands[] = {{a.data()},         {b.data()},       {c.data()},       {to_int.data()},
                                {to_double.data()}, {to_bool.data()}, {to_float.data()}};
    cpu::run_loop<float, Scale, Extents<n>, Access<std::uint8_t, 1>, Access<std::int64_t, 1>, Access<std::int32_t, 1>,
                  Access<std::int32_t, 1>, Access<double, 1>, Access<bool, 1>, Access<float, 1>>(operands);
    for (std::size_t i = 0; i < n; ++i) {
        int const expected = a[i] * static_cast<int>(b[i]) + c[i];
        CHECK(to_int[i] == expected);
        CHECK(to_double[i] == expected);
        CHECK(to_bool[i] == (a[i] < c[i]));
        CHECK(to_float[i] == (a[i] < c[i] ? 1 : 0));
    }
}

TEST_CASE("index and random follow their own strides and base") {
    using P = Program<operand(Fn::random, 0), operand(Fn::index, 1), step(Fn::add, 0, 1), operand(Fn::store, 2, 2)>;
    constexpr index_t R = 6, C = 21;
    std::vector<float> y(R * C, not_a_number);
    RandomSource const source{11, random_stream(RandomPurpose::user, 2), 5};
    Operand const operands[] = {{const_cast<RandomSource*>(&source), 3}, {nullptr, 100}, {y.data()}};
    cpu::run_loop<float, P, Extents<R, C>, IndexAccess<C, 1>, IndexAccess<1, R>, Access<float, C, 1>>(operands);
    for (index_t r = 0; r < R; ++r)
        for (index_t c = 0; c < C; ++c)
            CHECK(y[static_cast<std::size_t>(r * C + c)] ==
                  uniform(source, static_cast<std::uint64_t>(3 + r * C + c)) + static_cast<float>(100 + r + R * c));
}

TEST_CASE("an update in place reads each element before it writes it, and a later load sees the store") {
    // v = 0.5 v + g; p = p - v (read again)
    using P = Program<operand(Fn::load, 0), operand(Fn::load, 1), constant(0.5f), step(Fn::mul, 0, 2),
                      step(Fn::add, 3, 1), operand(Fn::store, 0, 4), operand(Fn::load, 2), operand(Fn::load, 0),
                      step(Fn::sub, 6, 7), operand(Fn::store, 2, 8)>;
    constexpr std::size_t n = 101;
    std::vector<float> v(n), g(n), p(n), v0, p0;
    for (std::size_t i = 0; i < n; ++i) {
        v[i] = static_cast<float>(i);
        g[i] = static_cast<float>(2 * i + 1);
        p[i] = static_cast<float>(i * i);
    }
    v0 = v;
    p0 = p;
    Operand const operands[] = {{v.data()}, {g.data()}, {p.data()}};
    cpu::run_loop<float, P, Extents<n>, Access<float, 1>, Access<float, 1>, Access<float, 1>>(operands);
    for (std::size_t i = 0; i < n; ++i) {
        CHECK(v[i] == 0.5f * v0[i] + g[i]);
        CHECK(p[i] == p0[i] - v[i]);
    }
}

TEST_CASE("a nest without elements does nothing, one of a single element does one") {
    using Copy = Program<operand(Fn::load, 0), operand(Fn::store, 1, 0)>;
    float x = 3, y = 4;
    Operand const operands[] = {{&x}, {&y}};
    cpu::run_loop<float, Copy, Extents<5, 0, 3>, Access<float, 3, 3, 1>, Access<float, 3, 3, 1>>(operands);
    CHECK(y == 4);
    cpu::run_loop<float, Copy, Extents<>, Access<float>, Access<float>>(operands);
    CHECK(y == 3);
}

TEST_CASE("an element's bits do not depend on where it stands in its row") {
    using P = Program<operand(Fn::load, 0), step(Fn::exp, 0), step(Fn::tanh, 1), step(Fn::log1p, 2),
                      operand(Fn::store, 1, 3)>;
    constexpr std::size_t n = 77;
    std::vector<float> x(n), y(n), z(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = 0.037f * static_cast<float>(i) - 1.5f;
    Operand const all[] = {{x.data()}, {y.data()}};
    cpu::run_loop<float, P, Extents<n>, Access<float, 1>, Access<float, 1>>(all);
    for (std::size_t i = 0; i < n; ++i) {
        Operand const one[] = {{x.data() + i}, {z.data() + i}};
        cpu::run_loop<float, P, Extents<1>, Access<float, 1>, Access<float, 1>>(one);
        REQUIRE(std::bit_cast<std::uint32_t>(y[i]) == std::bit_cast<std::uint32_t>(z[i]));
    }
}
