#include "random_tensor.hpp"

#include <tenon/expr/expr.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <vector>

using namespace tenon;
using namespace tenon::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// The documented order of a sum: 64 lanes, a tree over each lane's blocks of 256, then the lanes by halves.
float ordered_sum(std::vector<float> const& values) {
    std::size_t const lanes = 64, block = 256;
    std::vector<float> lane(lanes, 0.0f);
    std::vector<std::vector<float>> tree(40);
    std::size_t steps = 0;
    for (std::size_t first = 0; first < values.size(); first += lanes) {
        for (std::size_t l = 0; l < lanes && first + l < values.size(); ++l) lane[l] += values[first + l];
        if (++steps % block == 0) {
            std::size_t level = 0;
            for (; (steps / block - 1) >> level & 1; ++level)
                for (std::size_t l = 0; l < lanes; ++l) lane[l] += tree[level][l];
            tree[level] = lane;
            lane.assign(lanes, 0.0f);
        }
    }
    for (std::size_t level = 0; level < tree.size(); ++level)
        if (steps / block >> level & 1)
            for (std::size_t l = 0; l < lanes; ++l) lane[l] += tree[level][l];
    for (std::size_t half = lanes / 2; half > 0; half /= 2)
        for (std::size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
    return lane[0];
}

template <index_t N>
void check_sum_of() {
    CAPTURE(N);
    Tensor<float, Shape<N>> const x = random_tensor<float, Shape<N>>(static_cast<unsigned>(N), -1, 3);
    float const found = sum(x);
    float const expected = ordered_sum(std::vector<float>(x.begin(), x.end()));
    CHECK(std::bit_cast<std::uint32_t>(found) == std::bit_cast<std::uint32_t>(expected));
    double exact = 0;
    for (float v : x) exact += static_cast<double>(v);
    CHECK(static_cast<double>(found) == doctest::Approx(exact).epsilon(1e-5));
}

/// Each reduction along `Axis` of a 3-axis tensor against loops in double.
template <int Axis, index_t A, index_t B, index_t C>
void check_axis() {
    CAPTURE(Axis);
    using S = Shape<A, B, C>;
    Tensor<float, S> const x = random_tensor<float, S>(31 + Axis);
    constexpr index_t extent[] = {A, B, C};
    using Reduced = std::conditional_t<Axis == 0, Shape<B, C>, std::conditional_t<Axis == 1, Shape<A, C>, Shape<A, B>>>;
    Tensor sums = sum<Axis>(x);
    static_assert(std::is_same_v<decltype(sums), Tensor<float, Reduced>>);
    Tensor means = mean<Axis>(x);
    Tensor most = max<Axis>(x);
    Tensor least = min<Axis - 3>(x); // counted from the last axis
    Tensor products = prod<Axis>(x);
    Tensor where_most = argmax<Axis>(x);
    Tensor where_least = argmin<Axis>(x);
    Tensor logs = logsumexp<Axis>(x);
    static_assert(std::is_same_v<decltype(where_most), Tensor<std::int64_t, Reduced>>);
    index_t element = 0;
    for (index_t i = 0; i < Reduced::dims[0]; ++i)
        for (index_t j = 0; j < Reduced::dims[1]; ++j, ++element) {
            double total = 0, product = 1, exponentials = 0, largest = -1e30, smallest = 1e30;
            index_t at_largest = -1, at_smallest = -1;
            for (index_t k = 0; k < extent[Axis]; ++k) {
                double const v = static_cast<double>(Axis == 0 ? x(k, i, j) : Axis == 1 ? x(i, k, j) : x(i, j, k));
                total += v;
                product *= v;
                exponentials += std::exp(v);
                if (v > largest) {
                    largest = v;
                    at_largest = k;
                }
                if (v < smallest) {
                    smallest = v;
                    at_smallest = k;
                }
            }
            CHECK(static_cast<double>(sums(i, j)) == doctest::Approx(total).epsilon(1e-4).scale(10));
            CHECK(static_cast<double>(means(i, j)) ==
                  doctest::Approx(total / static_cast<double>(extent[Axis])).epsilon(1e-4).scale(1));
            CHECK(static_cast<double>(products(i, j)) == doctest::Approx(product).epsilon(1e-4));
            CHECK(static_cast<double>(most(i, j)) == largest);
            CHECK(static_cast<double>(least(i, j)) == smallest);
            CHECK(where_most(i, j) == at_largest);
            CHECK(where_least(i, j) == at_smallest);
            CHECK(static_cast<double>(logs(i, j)) == doctest::Approx(std::log(exponentials)).epsilon(1e-5));
        }
}

} // namespace

TEST_CASE("sums have the bits of the documented order, for every kind of length") {
    check_sum_of<0>();
    check_sum_of<1>();
    check_sum_of<10>();
    check_sum_of<63>();
    check_sum_of<64>();
    check_sum_of<65>();
    check_sum_of<500>();
    check_sum_of<4096>();
    check_sum_of<4097>();
    check_sum_of<16384>();
    check_sum_of<16385>();
    check_sum_of<16384 * 5 + 321>();
    Tensor<float, Shape<4>> const cancelling{1e8f, 1, -1e8f, 1};
    CHECK(sum(cancelling) == ordered_sum({1e8f, 1, -1e8f, 1}));
}

TEST_CASE("a sum's bits do not depend on where its elements lie") {
    using S = Shape<61, 113>;
    Tensor<float, Shape<113, 61>> const flipped = random_tensor<float, Shape<113, 61>>(3);
    Tensor<float, S> x = transpose(flipped);
    Tensor<float, Shape<122, 230>> wide;
    slice<1, 2, 228, 2>(slice<0, 3, 64>(wide)) = x;
    float const expected = ordered_sum(std::vector<float>(x.begin(), x.end()));
    CHECK(sum(x) == expected);
    CHECK(sum(transpose(flipped)) == expected);
    CHECK(sum(slice<1, 2, 228, 2>(slice<0, 3, 64>(wide))) == expected);
    Tensor rows = sum<1>(x);
    CHECK(same_bits(rows, Tensor{sum<1>(transpose(flipped))}));
    Tensor columns = sum<0>(x);
    CHECK(same_bits(columns, Tensor{sum<0>(transpose(flipped))}));
    CHECK(same_bits(columns, Tensor{sum<0>(slice<1, 2, 228, 2>(slice<0, 3, 64>(wide)))}));
    // A row that is added to every row leaves no single run of elements in memory, but the same numbers.
    Tensor<float, Shape<113>> zeros;
    CHECK(sum(x + zeros) == expected);
}

TEST_CASE("long sums do not lose what short ones keep") {
    Tensor<float, Shape<3'000'000>> const ones = full<Shape<3'000'000>>(1.1f);
    double const exact = 3e6 * static_cast<double>(1.1f);
    CHECK(std::fabs(static_cast<double>(sum(ones)) - exact) <
          exact * 4e-6); // one after the other they would be off by 1e-2
    Tensor<float, Shape<300'000, 3>> const tall = full<Shape<300'000, 3>>(1.1f);
    Tensor down = sum<0>(tall);
    for (float v : down) CHECK(std::fabs(static_cast<double>(v) - exact / 10) < exact * 4e-7);
}

TEST_CASE("every axis of every position") {
    check_axis<0, 7, 5, 3>();
    check_axis<1, 7, 5, 3>();
    check_axis<2, 7, 5, 3>();
    check_axis<0, 70, 1, 130>();
    check_axis<2, 3, 2, 201>();
    check_axis<1, 2, 83, 67>();
    check_axis<0, 1, 4, 5>();
}

TEST_CASE("several axes, all axes, kept and dropped ones") {
    using S = Shape<4, 3, 5, 6>;
    Tensor<double, S> const x = random_tensor<double, S>(7);
    Tensor outer = sum<0, 2, 3>(x);
    static_assert(std::is_same_v<decltype(outer), Tensor<double, Shape<3>>>);
    Tensor inner = sum<1, -1>(x);
    static_assert(std::is_same_v<decltype(inner), Tensor<double, Shape<4, 5>>>);
    Tensor kept = sum<1, 3>(x, keep);
    static_assert(std::is_same_v<decltype(kept), Tensor<double, Shape<4, 1, 5, 1>>>);
    double total = 0;
    for (index_t b = 0; b < 3; ++b) {
        double expected = 0;
        for (index_t a = 0; a < 4; ++a)
            for (index_t c = 0; c < 5; ++c)
                for (index_t d = 0; d < 6; ++d) expected += x(a, b, c, d);
        CHECK(outer(b) == doctest::Approx(expected));
        total += expected;
    }
    for (index_t a = 0; a < 4; ++a)
        for (index_t c = 0; c < 5; ++c) {
            double expected = 0;
            for (index_t b = 0; b < 3; ++b)
                for (index_t d = 0; d < 6; ++d) expected += x(a, b, c, d);
            CHECK(inner(a, c) == doctest::Approx(expected));
            CHECK(kept(a, 0, c, 0) == inner(a, c));
        }
    CHECK(sum(x) == doctest::Approx(total));
    CHECK(mean(x) == doctest::Approx(total / 360));
    Tensor<std::int64_t, Shape<3>> where = argmax<0, 2, 3>(x); // the index counts the reduced elements in their order
    for (index_t b = 0; b < 3; ++b) {
        index_t const a = where(b) / 30, c = where(b) / 6 % 5, d = where(b) % 6;
        CHECK(x(a, b, c, d) == Tensor{max<0, 2, 3>(x)}(b));
    }
}

TEST_CASE("a reduction remembers its axis beside a value of the original rank, and has lost it beside others") {
    using S = Shape<4, 4>; // square: the wrong axis would fit too
    Tensor<float, S> const x = random_tensor<float, S>(8);
    Tensor<float, Shape<4>> const b = random_tensor<float, Shape<4>>(9);
    Tensor rows = x - max<1>(x);
    Tensor columns = x - max<0>(x);
    Tensor reduced = max<1>(x) - b;
    static_assert(std::is_same_v<decltype(reduced), Tensor<float, Shape<4>>>);
    Tensor two = max<1>(x) - mean<1>(x);
    static_assert(std::is_same_v<decltype(two), Tensor<float, Shape<4>>>);
    Tensor spread = max<1>(x) - max<0>(x);
    static_assert(std::is_same_v<decltype(spread), S> || std::is_same_v<decltype(spread), Tensor<float, S>>);
    Tensor dropped = x - max<1>(x, drop); // as numpy: the row of maxima is subtracted from every row
    Tensor nested = sum<0>(max<1>(x));    // axis 0 of what is left
    static_assert(std::is_same_v<decltype(nested), Tensor<float, Shape<>>>);
    float largest[4], largest_of_column[4], total = 0;
    for (index_t i = 0; i < 4; ++i) {
        largest[i] = std::max({x(i, 0), x(i, 1), x(i, 2), x(i, 3)});
        largest_of_column[i] = std::max({x(0, i), x(1, i), x(2, i), x(3, i)});
        total += largest[i];
    }
    for (index_t i = 0; i < 4; ++i) {
        CHECK(reduced(i) == largest[i] - b(i));
        CHECK(two(i) == doctest::Approx(largest[i] - (x(i, 0) + x(i, 1) + x(i, 2) + x(i, 3)) / 4));
        for (index_t j = 0; j < 4; ++j) {
            CHECK(rows(i, j) == x(i, j) - largest[i]);
            CHECK(columns(i, j) == x(i, j) - largest_of_column[j]);
            CHECK(spread(i, j) == largest[i] - largest_of_column[j]);
            CHECK(dropped(i, j) == x(i, j) - largest[j]);
        }
    }
    CHECK(nested.item() == doctest::Approx(total));
}

TEST_CASE("softmax row by row, by hand and by name, along either axis") {
    using S = Shape<9, 501>;
    Tensor<float, S> const x = random_tensor<float, S>(10, -20, 20);
    Tensor by_hand = exp(x - max<1>(x)) / sum<1>(exp(x - max<1>(x)));
    Tensor by_name = softmax<1>(x);
    Tensor logs = log_softmax<-1>(x);
    Tensor down = softmax<0>(x);
    for (index_t i = 0; i < 9; ++i) {
        double total = 0;
        for (index_t j = 0; j < 501; ++j) total += std::exp(static_cast<double>(x(i, j)));
        for (index_t j = 0; j < 501; ++j) {
            double const expected = std::exp(static_cast<double>(x(i, j))) / total;
            CHECK(static_cast<double>(by_hand(i, j)) == doctest::Approx(expected).epsilon(2e-5));
            CHECK(static_cast<double>(by_name(i, j)) == doctest::Approx(expected).epsilon(2e-5));
            CHECK(static_cast<double>(logs(i, j)) == doctest::Approx(std::log(expected)).epsilon(2e-5));
        }
    }
    for (index_t j = 0; j < 501; ++j) {
        double total = 0;
        for (index_t i = 0; i < 9; ++i) total += std::exp(static_cast<double>(x(i, j)));
        for (index_t i = 0; i < 9; ++i)
            CHECK(static_cast<double>(down(i, j)) ==
                  doctest::Approx(std::exp(static_cast<double>(x(i, j))) / total).epsilon(2e-5));
    }
}

TEST_CASE("reductions of reductions, of broadcasts and inside longer expressions") {
    using S = Shape<6, 35>;
    Tensor<float, S> const x = random_tensor<float, S>(11, 1, 2);
    Tensor<float, Shape<35>> const row = random_tensor<float, Shape<35>>(12);
    Tensor<float, Shape<6, 1>> const column = random_tensor<float, Shape<6, 1>>(13);
    // both axes are reduced in one statement
    Tensor normalised = x / sum<1>(x) - mean<0>(x);
    Tensor outer = sum<1>(row * column);            // of something that no tensor holds
    float const norm = sqrt(sum(x * x));            // all axes
    Tensor scaled = x / sqrt(sum(x * x)) * row;
    Tensor<float, S> z = (x - mean<1>(x)) / sqrt(mean<1>(square(x - mean<1>(x))) + 1e-5f); // layer normalisation
    for (index_t i = 0; i < 6; ++i) {
        double total = 0, of_row = 0;
        for (index_t j = 0; j < 35; ++j) {
            total += static_cast<double>(x(i, j));
            of_row += static_cast<double>(row(j)) * static_cast<double>(column(i, 0));
        }
        double variance = 0;
        for (index_t j = 0; j < 35; ++j) variance += std::pow(static_cast<double>(x(i, j)) - total / 35, 2) / 35;
        CHECK(static_cast<double>(outer(i)) == doctest::Approx(of_row).epsilon(1e-5).scale(1));
        for (index_t j = 0; j < 35; ++j) {
            double down = 0;
            for (index_t k = 0; k < 6; ++k) down += static_cast<double>(x(k, j)) / 6;
            CHECK(static_cast<double>(normalised(i, j)) ==
                  doctest::Approx(static_cast<double>(x(i, j)) / total - down).epsilon(1e-5));
            CHECK(static_cast<double>(scaled(i, j)) ==
                  doctest::Approx(static_cast<double>(x(i, j) / norm * row(j))).epsilon(1e-5));
            CHECK(static_cast<double>(z(i, j)) ==
                  doctest::Approx((static_cast<double>(x(i, j)) - total / 35) / std::sqrt(variance + 1e-5))
                      .epsilon(1e-4)
                      .scale(1));
        }
    }
    Tensor twice = max<0>(sum<2>(Tensor<float, Shape<3, 4, 5>>(full<Shape<3, 4, 5>>(2.0f)) * 1.0f));
    static_assert(std::is_same_v<decltype(twice), Tensor<float, Shape<4>>>);
    CHECK(twice(3) == 10);
    Tensor centred = sum<0>(x - mean<1>(x)); // the inner reduction is not along the outer one's axis
    for (index_t j = 0; j < 35; ++j) {
        double expected = 0;
        for (index_t i = 0; i < 6; ++i) {
            double total = 0;
            for (index_t k = 0; k < 35; ++k) total += static_cast<double>(x(i, k));
            expected += static_cast<double>(x(i, j)) - total / 35;
        }
        CHECK(static_cast<double>(centred(j)) == doctest::Approx(expected).epsilon(1e-4).scale(1));
    }
}

TEST_CASE("NaN, infinities, ties and empty sets") {
    Tensor<float, Shape<5>> const ties{2, 3, 0, 3, 3};
    CHECK(argmax(ties) == 1);
    CHECK(argmin(Tensor<float, Shape<5>>{2, 0, 5, 0, 0}) == 1);
    Tensor<float, Shape<4>> const with_nan{1, not_a_number, 7, not_a_number};
    CHECK(argmax(with_nan) == 1); // the first NaN wins, as in PyTorch
    CHECK(argmin(with_nan) == 1);
    CHECK(std::isnan(static_cast<float>(max(with_nan))));
    CHECK(std::isnan(static_cast<float>(min(with_nan))));
    CHECK(std::isnan(static_cast<float>(sum(with_nan))));
    Tensor<float, Shape<3>> const minus{-infinity, -infinity, -infinity};
    CHECK(argmax(minus) == 0);
    CHECK(max(minus) == -infinity);
    CHECK(logsumexp(minus) == -infinity);
    CHECK(logsumexp(Tensor<float, Shape<2>>{infinity, 0}) == infinity);
    CHECK(logsumexp(Tensor<float, Shape<2>>{-1000, -1000}) == doctest::Approx(-999.3068528194400547));

    // long rows: the place of a NaN and of ties in any lane and block
    Tensor<float, Shape<1000>> x = random_tensor<float, Shape<1000>>(14);
    for (index_t at : {0, 1, 63, 64, 65, 500, 999}) {
        float const before = x(at);
        x(at) = 5;
        CHECK(argmax(x) == at);
        x(999) = 5;
        CHECK(argmax(x) == at);
        x(999) = not_a_number;
        CHECK(argmax(x) == 999);
        x(at) = not_a_number;
        CHECK(argmax(x) == at);
        x(at) = before;
        x(999) = 0;
    }
    // down the columns too
    Tensor<float, Shape<3, 2>> const columns{{1, 4}, {not_a_number, 4}, {2, 3}};
    Tensor where = argmax<0>(columns);
    CHECK(where(0) == 1);
    CHECK(where(1) == 0);

    Tensor<float, Shape<0, 3>> const empty;
    Tensor none = mean<0>(empty);
    Tensor nothing = sum<0>(empty);
    for (index_t j = 0; j < 3; ++j) {
        CHECK(none(j) == 0);
        CHECK(nothing(j) == 0);
    }
    CHECK(prod(empty) == 1);
    CHECK(mean(empty) == 0);
    Tensor<float, Shape<0>> still_empty = max<1>(empty, drop);
    CHECK(still_empty.size() == 0);
}

TEST_CASE("sums of whole numbers and truth values are exact 64-bit counts") {
    Tensor<std::int32_t, Shape<3>> const large{2'000'000'000, 2'000'000'000, 5};
    static_assert(std::is_same_v<decltype(sum(large))::value_type, std::int64_t>);
    CHECK(sum(large) == 4'000'000'005);
    Tensor<std::uint8_t, Shape<1000>> const bytes = full<Shape<1000>>(255);
    CHECK(sum(bytes) == 255'000);
    CHECK(mean(bytes) == 255.0f);
    Tensor<float, Shape<64, 10>> const scores = random_tensor<float, Shape<64, 10>>(15);
    Tensor<std::int64_t, Shape<64>> labels;
    for (index_t i = 0; i < 64; ++i) labels(i) = i % 10;
    std::int64_t const correct = sum(argmax<1>(scores) == labels);
    std::int64_t expected = 0;
    for (index_t i = 0; i < 64; ++i) {
        index_t best = 0;
        for (index_t j = 1; j < 10; ++j)
            if (scores(i, j) > scores(i, best)) best = j;
        expected += best == i % 10;
    }
    CHECK(correct == expected);
    CHECK(max(large) == 2'000'000'000);
}
