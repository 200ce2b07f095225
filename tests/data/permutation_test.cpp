// The keyed permutation: every number once, in an order that looks random, another one in every epoch.
#include <tenon/data/permutation.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

using tenon::index_t;
using tenon::data::Permutation;

namespace {

std::vector<index_t> order_of(Permutation const& permutation) {
    std::vector<index_t> order;
    for (index_t i = 0; i < permutation.size(); ++i) order.push_back(permutation(i));
    return order;
}

bool is_bijection(Permutation const& permutation) {
    std::vector<bool> seen(static_cast<std::size_t>(permutation.size()));
    for (index_t i = 0; i < permutation.size(); ++i) {
        index_t const number = permutation(i);
        if (number < 0 || number >= permutation.size() || seen[static_cast<std::size_t>(number)]) return false;
        seen[static_cast<std::size_t>(number)] = true;
    }
    return true;
}

/// Sum over cells of (count - expected)^2 / expected.
double chi_square(std::vector<index_t> const& counts, double expected) {
    double sum = 0;
    for (index_t const count : counts)
        sum += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected) / expected;
    return sum;
}

/// Within six standard deviations of what chance gives: the mean is the degrees of freedom d, the variance 2 d.
void check_chance(double statistic, double degrees) {
    CAPTURE(statistic);
    CAPTURE(degrees);
    CHECK((statistic - degrees) * (statistic - degrees) < 36 * 2 * degrees);
}

} // namespace

TEST_CASE("permutation: each number once, for every size") {
    for (index_t size = 0; size <= 300; ++size)
        for (std::uint32_t epoch = 0; epoch < 3; ++epoch) REQUIRE(is_bijection(Permutation(size, 5, epoch)));
    for (index_t const size :
         {1023, 1024, 1025, 4095, 4096, 4097, 10'000, 60'000, 65'535, 65'536, 65'537, 262'144, 262'145, 1'000'003})
        CHECK(is_bijection(Permutation(size, 0xfedcba9876543210, 7)));
}

TEST_CASE("permutation: sizes whose table would not fit") {
    for (index_t const size :
         {(index_t{1} << 32) - 1, (index_t{1} << 32) + 1, index_t{1} << 40, (index_t{1} << 40) + 1, index_t{1} << 62}) {
        CAPTURE(size);
        Permutation const permutation(size, 3, 1);
        std::set<index_t> seen;
        index_t const begins[] = {0, size / 3, size - 20'000};
        for (index_t const begin : begins) {
            for (index_t i = begin; i < begin + 20'000; ++i) {
                index_t const number = permutation(i);
                REQUIRE(number >= 0);
                REQUIRE(number < size);
                REQUIRE(seen.insert(number).second);
            }
        }
    }
}

TEST_CASE("permutation: a plain order, an empty one, and sizes that make no sense") {
    Permutation const plain = Permutation::in_order(1000);
    CHECK(plain.size() == 1000);
    for (index_t i = 0; i < 1000; ++i) CHECK(plain(i) == i);
    CHECK(Permutation().size() == 0);
    CHECK(Permutation(0, 1, 1).size() == 0);
    CHECK(Permutation(1, 1, 1)(0) == 0);
    CHECK_THROWS_AS(Permutation(-1, 1, 1), tenon::Error);
    CHECK_THROWS_AS(Permutation((index_t{1} << 62) + 1, 1, 1), tenon::Error);
    CHECK_THROWS_AS(static_cast<void>(Permutation::in_order(-1)), tenon::Error);
}

TEST_CASE("permutation: the same order from the same key, on every machine") {
    CHECK(order_of(Permutation(1000, 11, 4)) == order_of(Permutation(1000, 11, 4)));
    CHECK(order_of(Permutation(10, 1, 0)) == std::vector<index_t>{8, 5, 3, 9, 2, 0, 1, 6, 4, 7});
    Permutation const middle(60'000, 1, 3), large(index_t{1} << 40, 42, 5);
    std::vector<index_t> some;
    for (index_t i = 0; i < 6; ++i) some.push_back(middle(i * 10'000));
    for (index_t i = 0; i < 4; ++i) some.push_back(large((index_t{1} << 38) * i + i));
    CHECK(some == std::vector<index_t>{53359, 33137, 58642, 37244, 31607, 40140, 980933034303, 853117935173,
                                       835181493779, 913703873629});
}

TEST_CASE("permutation: another epoch, seed or number is another order") {
    index_t const size = 60'000;
    Permutation const base(size, 1, 0);
    for (Permutation const& other : {Permutation(size, 1, 1), Permutation(size, 1, 2), Permutation(size, 2, 0),
                                     Permutation(size, 1 + (std::uint64_t{1} << 32), 0), Permutation(size, 1, 0, 1),
                                     Permutation::in_order(size)}) {
        index_t same = 0;
        for (index_t i = 0; i < size; ++i) same += base(i) == other(i);
        CHECK(same < 10); // chance: 1 on average
    }
}

TEST_CASE("permutation: every number is as likely at every position") {
    for (index_t const size : {2, 5, 16, 37}) {
        CAPTURE(size);
        index_t const epochs = 20'000;
        std::vector<index_t> counts(static_cast<std::size_t>(size * size));
        for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
            Permutation const permutation(size, 99, epoch);
            for (index_t i = 0; i < size; ++i) ++counts[static_cast<std::size_t>(i * size + permutation(i))];
        }
        double const expected = static_cast<double>(epochs) / static_cast<double>(size);
        // Each row and each column sums to `epochs`; in that case (n - 1)/n times the statistic has (n - 1)^2 degrees
        // of freedom.
        double const n = static_cast<double>(size);
        check_chance(chi_square(counts, expected) * (n - 1) / n, (n - 1) * (n - 1));
    }
}

TEST_CASE("permutation: every order of four numbers is as likely") {
    std::vector<index_t> counts(256);
    index_t const epochs = 48'000;
    for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
        Permutation const p(4, 123, epoch);
        ++counts[static_cast<std::size_t>(p(0) + 4 * p(1) + 16 * p(2) + 64 * p(3))];
    }
    std::vector<index_t> orders;
    for (index_t const count : counts)
        if (count != 0) orders.push_back(count);
    REQUIRE(orders.size() == 24);
    check_chance(chi_square(orders, static_cast<double>(epochs) / 24), 23);
}

TEST_CASE("permutation: neighbours in the order have nothing to do with each other") {
    for (index_t const size : {60'000, 65'536, 100'000}) {
        CAPTURE(size);
        constexpr index_t bins = 64;
        std::vector<index_t> steps(bins), pairs(bins * bins), by_position(bins * bins);
        std::uint32_t const epochs = 8;
        for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
            Permutation const permutation(size, 17, epoch);
            for (index_t i = 0; i < size; ++i) {
                index_t const number = permutation(i), next = permutation((i + 1) % size);
                ++steps[static_cast<std::size_t>((next - number + size) % size * bins / size)];
                ++pairs[static_cast<std::size_t>(number * bins / size * bins + next * bins / size)];
                ++by_position[static_cast<std::size_t>(i * bins / size * bins + number * bins / size)];
            }
        }
        double const total = static_cast<double>(size) * epochs;
        check_chance(chi_square(steps, total / bins), bins - 1);
        check_chance(chi_square(pairs, total / (bins * bins)), (bins - 1) * (bins - 1));
        check_chance(chi_square(by_position, total / (bins * bins)), (bins - 1) * (bins - 1));
    }
}
