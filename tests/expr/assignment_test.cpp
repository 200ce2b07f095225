#include "random_tensor.hpp"

#include <tenon/expr/expr.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <map>

using namespace tenon;
using namespace tenon::test;

namespace {

/// Counts how often each address is read and written, by the element.
struct Traffic {
    static inline std::map<void const*, int> reads, writes;
    static void read(void const* at, std::size_t) { ++reads[at]; }
    static void write(void const* at, std::size_t) { ++writes[at]; }
    static void forget() {
        reads.clear();
        writes.clear();
    }
};

/// How often every element of a tensor was touched, or -1 where some were touched more often than others.
template <class T>
int times(std::map<void const*, int> const& touched, T const& tensor) {
    int common = -2;
    for (auto const& element : tensor) {
        auto const found = touched.find(&element);
        int const count = found == touched.end() ? 0 : found->second;
        if (common == -2) common = count;
        if (count != common) return -1;
    }
    return common;
}

/// Carries out assignments and counts.
template <class... A>
void count(A&&... assignment) {
    Traffic::forget();
    expr::compute_together<Traffic>(assignment...);
}

using S = Shape<13, 70>;
using Matrix = Tensor<float, S>;

} // namespace

TEST_CASE("an assignment is one loop: each element is read once and written once") {
    Matrix x = random_tensor<float, S>(1), y = random_tensor<float, S>(2), z;
    Tensor<float, Shape<70>> b;
    count(z = relu(x * 2 + b) - exp(y) / 3);
    CHECK(times(Traffic::reads, x) == 1);
    CHECK(times(Traffic::reads, y) == 1);
    CHECK(times(Traffic::reads, z) == 0);
    CHECK(times(Traffic::writes, z) == 1);
    CHECK(Traffic::writes.size() == static_cast<std::size_t>(z.size())); // and nothing else: no temporary
}

TEST_CASE("momentum is one loop: three tensors are read once, two are written once") {
    Matrix v = random_tensor<float, S>(3), g = random_tensor<float, S>(4), p = random_tensor<float, S>(5);
    Matrix const v0 = v, p0 = p;
    float const mu = 0.9f, lr = 0.1f;
    count(v = mu * v + g, p = p - lr * v);
    CHECK(times(Traffic::reads, g) == 1);
    CHECK(times(Traffic::reads, p) == 1);
    CHECK(times(Traffic::reads, v) == 2); // once more, from the register's copy in the cache
    CHECK(times(Traffic::writes, v) == 1);
    CHECK(times(Traffic::writes, p) == 1);
    CHECK(Traffic::writes.size() == static_cast<std::size_t>(v.size() + p.size()));
    for (index_t i = 0; i < v.size(); ++i) {
        CHECK(v.data()[i] == doctest::Approx(mu * v0.data()[i] + g.data()[i]).epsilon(1e-6));
        CHECK(p.data()[i] == doctest::Approx(p0.data()[i] - lr * v.data()[i]).epsilon(1e-6));
    }
}

TEST_CASE("reductions along rows read memory once a pass and leave nothing of full size") {
    Matrix x = random_tensor<float, S>(6), y;
    Tensor<float, Shape<13>> r;
    count(r = sum<1>(exp(x - max<1>(x))));
    CHECK(times(Traffic::reads, x) == 2); // the second time from the first-level cache
    CHECK(times(Traffic::writes, r) == 1);
    std::size_t const on_the_side = Traffic::writes.size() - static_cast<std::size_t>(r.size());
    CHECK(on_the_side <= 2 * 70 + 2); // buffers of a row
    count(y = softmax<1>(x));
    CHECK(times(Traffic::reads, x) == 2); // exp(x - max) is in the row's buffer by the third time
    CHECK(times(Traffic::writes, y) == 1);
}

TEST_CASE("what is written twice is computed once, if it is the same at run time") {
    Matrix x = random_tensor<float, S>(7), other = random_tensor<float, S>(8), y;
    auto const e = exp(x);
    count(y = e / (1 + e));
    CHECK(times(Traffic::reads, x) == 1); // one load feeds both
    for (index_t i = 0; i < x.size(); ++i)
        CHECK(y.data()[i] == doctest::Approx(1 / (1 + std::exp(-static_cast<double>(x.data()[i])))).epsilon(1e-5));
    count(y = exp(x) / (1 + exp(other))); // the same type, other elements
    CHECK(times(Traffic::reads, other) == 1);
    for (index_t i = 0; i < x.size(); ++i)
        CHECK(static_cast<double>(y.data()[i]) == doctest::Approx(std::exp(static_cast<double>(x.data()[i])) /
                                                                  (1 + std::exp(static_cast<double>(other.data()[i]))))
                                                      .epsilon(1e-5));
    auto const scaled = [&](float factor) { return tanh(x * factor); };
    y = scaled(2) * scaled(2) + scaled(3);
    for (index_t i = 0; i < x.size(); ++i) {
        double const a = std::tanh(2 * static_cast<double>(x.data()[i])),
                     b = std::tanh(3 * static_cast<double>(x.data()[i]));
        CHECK(static_cast<double>(y.data()[i]) == doctest::Approx(a * a + b).epsilon(1e-5).scale(1));
    }
}

TEST_CASE("a value that reads elements which the assignment overwrites is still right") {
    using Q = Shape<37, 37>;
    Tensor<float, Q> x = random_tensor<float, Q>(9);
    Tensor<float, Q> const before = x;
    x = x + transpose(x);
    for (index_t i = 0; i < 37; ++i)
        for (index_t j = 0; j < 37; ++j) CHECK(x(i, j) == before(i, j) + before(j, i));

    Tensor<float, Shape<100>> line = random_tensor<float, Shape<100>>(10);
    Tensor<float, Shape<100>> const line_before = line;
    slice<0, 1, 100>(line) = slice<0, 0, 99>(line) * 2.0f; // one further
    for (index_t i = 1; i < 100; ++i) CHECK(line(i) == 2 * line_before(i - 1));

    x = before;
    x = x / sum(x); // the whole tensor is needed before the first element changes
    float const total = sum(before);
    CHECK(x(36, 36) == doctest::Approx(before(36, 36) / total));
    x = before;
    x = x - max<0>(x);
    x += sum<1>(x, keep);
    Tensor<float, Q> const centred = before - max<0>(before);
    Tensor<float, Q> const expected = centred + sum<1>(centred);
    CHECK(same_bits(x, expected));
    at<0>(x, 0) = sum<0>(x); // a row that is part of what is summed
    Tensor sums = sum<0>(expected);
    for (index_t j = 0; j < 37; ++j) CHECK(x(0, j) == sums(j));
    x *= at<0>(x, 1); // broadcast from a row of itself
    for (index_t i = 2; i < 37; ++i)
        for (index_t j = 0; j < 37; ++j) CHECK(x(i, j) == expected(i, j) * expected(1, j));
}

TEST_CASE("an update behaves as its assignments one after the other, whatever they share") {
    Tensor<float, Shape<50>> a = random_tensor<float, Shape<50>>(11), b = random_tensor<float, Shape<50>>(12);
    Tensor<float, Shape<50>> const a0 = a, b0 = b;
    update(a = a + b, b = a - b, a = a * 2.0f);
    for (index_t i = 0; i < 50; ++i) {
        CHECK(b(i) == (a0(i) + b0(i)) - b0(i));
        CHECK(a(i) == 2 * (a0(i) + b0(i)));
    }
    a = a0;
    b = b0;
    // b needs another element of a than the one that is being written
    Tensor<float, Shape<50>> c;
    update(a = b * 3.0f, c = broadcast_to<Shape<50>>(slice<0, 49, 50>(a)));
    for (index_t i = 0; i < 50; ++i) CHECK(c(i) == 3 * b0(49));
    // reductions have loops of their own
    update(a = b / sum(b), c = a * 2.0f);
    float const total = sum(b0);
    for (index_t i = 0; i < 50; ++i) CHECK(c(i) == doctest::Approx(2 * b0(i) / total));
    update(c = a, a = b); // plain copies keep their order too
    for (index_t i = 0; i < 50; ++i) {
        CHECK(a(i) == b0(i));
        CHECK(c(i) == doctest::Approx(b0(i) / total));
    }
    update(a = 1.0f, b = a + 1.0f);
    CHECK(b(49) == 2);
}

TEST_CASE("compound assignment, conversion on assignment, numbers, and results as operands") {
    Tensor<float, Shape<9>> x;
    x = 2;
    x += 1.0f;
    x *= x;
    x -= Tensor<float, Shape<9>>(full<Shape<9>>(1.0f));
    x /= 2;
    CHECK(x(8) == 4);
    Tensor<std::int32_t, Shape<9>> whole;
    whole = x * 1.7f;
    CHECK(whole(0) == 6);
    Tensor<bool, Shape<9>> truths;
    truths = x > 3;
    CHECK(truths(3));
    Tensor<double, Shape<9>> wide = x;
    CHECK(wide(2) == 4);
    wide = 0.1;
    CHECK(wide(2) == 0.1);
    Tensor<std::uint8_t, Shape<9>> bytes;
    bytes = 200;
    CHECK(bytes(1) == 200);
    Tensor y = (x = x + 1.0f) * 2.0f;
    CHECK(x(0) == 5);
    CHECK(y(0) == 10);
}

TEST_CASE("random numbers and indices are functions of the place") {
    RandomSource const source{123, random_stream(RandomPurpose::user, 1), 4};
    using Q = Shape<11, 23>;
    Tensor u = uniform<Q>(source);
    static_assert(std::is_same_v<decltype(u), Tensor<float, Q>>);
    Tensor turned = transpose(uniform<Q>(source));
    Tensor i = iota<Q>();
    static_assert(std::is_same_v<decltype(i), Tensor<std::int64_t, Q>>);
    Tensor<float, Q> scaled = (2 * uniform<Q>(source) - 1) * 0.1f;
    for (index_t r = 0; r < 11; ++r)
        for (index_t c = 0; c < 23; ++c) {
            float const expected = tenon::uniform(source, static_cast<std::uint64_t>(23 * r + c));
            CHECK(u(r, c) == expected);
            CHECK(turned(c, r) == expected);
            CHECK(i(r, c) == 23 * r + c);
            CHECK(scaled(r, c) == doctest::Approx((2 * expected - 1) * 0.1f));
        }
    using Long = Shape<100'000>;
    Tensor n = normal<Long>(source);
    CHECK(std::fabs(static_cast<float>(mean(n))) < 5 / std::sqrt(1e5f));
    CHECK(static_cast<float>(mean(square(n))) == doctest::Approx(1).epsilon(0.03));
    CHECK(static_cast<float>(mean(square(square(n)))) == doctest::Approx(3).epsilon(0.1));
}
