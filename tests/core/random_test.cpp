#include <tenon/core/random.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>

using namespace tenon;

namespace {

constexpr bool equal(PhiloxBlock const& block, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    return block.word[0] == a && block.word[1] == b && block.word[2] == c && block.word[3] == d;
}

// Known answers of the Random123 library (kat_vectors, philox4x32 10).
static_assert(equal(philox({{0, 0, 0, 0}}, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
static_assert(equal(philox({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffffffffffff), 0x408f276d,
                    0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
static_assert(equal(philox({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822), 0xd16cfe09,
                    0x94fdcceb, 0x5001e420, 0x24126ea1));

static_assert(random_stream(RandomPurpose::initial_weights) == 0);
static_assert(random_stream(RandomPurpose::dropout, 5) == 0x02000005);
static_assert(uniform_from_bits(0) == 0.0f);
static_assert(uniform_from_bits(0xffffffff) == 1 - 0x1p-24f);
static_assert(uniform_from_bits(0x80000000) == 0.5f);

} // namespace

TEST_CASE("an element's number is its word of the block that four elements share") {
    RandomSource const source{0x0123456789abcdef, random_stream(RandomPurpose::user, 3), 17};
    for (std::uint64_t element : {0ull, 1ull, 2ull, 3ull, 4ull, 1000003ull, (1ull << 34) + 5}) {
        std::uint64_t const block = element / 4;
        PhiloxBlock const words =
            philox({{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), source.stream, 17}},
                   source.seed);
        CHECK(random_bits(source, element) == words.word[element % 4]);
        CHECK(uniform(source, element) == static_cast<float>(words.word[element % 4] >> 8) / 16777216.0f);
    }
    CHECK(random_bits(source, 5) != random_bits(source, 5 + (1ull << 34))); // the block number's high word counts
}

TEST_CASE("seed, stream and step each give other numbers") {
    RandomSource const source{1, 2, 3};
    CHECK(random_bits(source, 0) != random_bits({2, 2, 3}, 0));
    CHECK(random_bits(source, 0) != random_bits({1 + (1ull << 32), 2, 3}, 0));
    CHECK(random_bits(source, 0) != random_bits({1, 3, 3}, 0));
    CHECK(random_bits(source, 0) != random_bits({1, 2, 4}, 0));
}

TEST_CASE("uniform numbers have the moments of the uniform distribution") {
    RandomSource const source{42};
    int const n = 200'000;
    double sum = 0, squares = 0, products = 0, before = 0;
    for (int i = 0; i < n; ++i) {
        double const u = static_cast<double>(uniform(source, static_cast<std::uint64_t>(i)));
        REQUIRE(u >= 0);
        REQUIRE(u < 1);
        sum += u;
        squares += u * u;
        products += u * before;
        before = u;
    }
    double const deviation = 5 / std::sqrt(12.0 * n); // five standard deviations of the mean
    CHECK(std::fabs(sum / n - 0.5) < deviation);
    CHECK(std::fabs(squares / n - 1.0 / 3) < 2 * deviation);
    CHECK(std::fabs(products / n - 0.25) < 2 * deviation); // neighbours are uncorrelated
}
