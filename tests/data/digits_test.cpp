// The digits that the program draws: the same everywhere, of all classes, neither trivial nor hopeless.
#include <tenon/data/digits.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

using tenon::Dims;
using tenon::index_t;
using tenon::data::Dataset;

namespace {

/// Softmax regression by plain stochastic gradient descent, in double; the part of `test` that it gets right.
double linear_accuracy(Dataset<> const& train, Dataset<> const& test, int epochs) {
    std::vector<double> weights(10 * 785), score(10), x(785);
    auto const look = [&](Dataset<> const& set, index_t i) {
        for (std::size_t k = 0; k < 784; ++k) x[k] = set.sample(i)[k] / 255.0;
        x[784] = 1;
        for (std::size_t c = 0; c < 10; ++c) {
            score[c] = 0;
            for (std::size_t k = 0; k < 785; ++k) score[c] += weights[c * 785 + k] * x[k];
        }
    };
    for (int epoch = 0; epoch < epochs; ++epoch) {
        for (index_t i = 0; i < train.size(); ++i) {
            look(train, i);
            double sum = 0;
            for (double& s : score) sum += s = std::exp(s);
            for (std::size_t c = 0; c < 10; ++c) {
                double const gradient = score[c] / sum - (c == train.label(i) ? 1 : 0);
                for (std::size_t k = 0; k < 785; ++k) weights[c * 785 + k] -= 0.01 * gradient * x[k];
            }
        }
    }
    int right = 0;
    for (index_t i = 0; i < test.size(); ++i) {
        look(test, i);
        right += std::max_element(score.begin(), score.end()) - score.begin() == test.label(i);
    }
    return right / static_cast<double>(test.size());
}

} // namespace

TEST_CASE("digits: shape, classes and normalisation are those of the sets that they stand in for") {
    Dataset<> const set = tenon::data::digits(5000, 3);
    CHECK(set.size() == 5000);
    CHECK(set.shape() == Dims{1, 28, 28});
    CHECK(set.classes() == 10);
    CHECK(set.normalize == tenon::data::Normalize::from(0.5f, 0.5f));
    std::vector<int> counts(10);
    for (std::uint8_t const label : set.labels()) ++counts[label];
    for (int const count : counts) CHECK(std::abs(count - 500) < 6 * 22);
    CHECK(tenon::data::digits(0, 1).empty());
    CHECK_THROWS_AS(static_cast<void>(tenon::data::digits(-1, 1)), tenon::Error);
}

TEST_CASE("digits: a sample depends on seed and number alone, and is the same on every machine") {
    Dataset<> const set = tenon::data::digits(200, 9), fewer = tenon::data::digits(50, 9),
                    other = tenon::data::digits(200, 10);
    CHECK(std::equal(fewer.samples().begin(), fewer.samples().end(), set.samples().begin()));
    CHECK(std::equal(fewer.labels().begin(), fewer.labels().end(), set.labels().begin()));
    int same = 0;
    for (index_t i = 0; i < 200; ++i)
        same += std::equal(set.sample(i).begin(), set.sample(i).end(), other.sample(i).begin());
    CHECK(same == 0);

    std::vector<int> const expected = {7, 4, 6, 0, 0, 7, 3, 9, 2, 7, 5, 2, 0, 0, 9, 1, 4, 7, 7, 9};
    for (index_t i = 0; i < 20; ++i) CHECK(set.label(i) == expected[static_cast<std::size_t>(i)]);
    std::uint64_t hash = 0xcbf29ce484222325; // FNV-1a of all bytes
    for (std::uint8_t const byte : set.samples()) hash = (hash ^ byte) * 0x100000001b3;
    for (std::uint8_t const byte : set.labels()) hash = (hash ^ byte) * 0x100000001b3;
    CHECK(hash == 0xd096325544af255b);
}

TEST_CASE("digits: every image holds ink, on a ground that is mostly dark") {
    Dataset<> const set = tenon::data::digits(3000, 1);
    for (index_t i = 0; i < set.size(); ++i) {
        auto const bright =
            std::count_if(set.sample(i).begin(), set.sample(i).end(), [](int value) { return value > 100; });
        CHECK((bright > 12 && bright < 350));
        // The ink stays off the image's edge, nearly always: digits are not cut in two.
        auto const edge =
            std::count_if(set.sample(i).begin(), set.sample(i).begin() + 28, [](int value) { return value > 100; });
        CHECK(edge < 16);
    }
}

TEST_CASE("digits: a linear model learns much, and not all") {
    double const accuracy = linear_accuracy(tenon::data::digits(6000, 1), tenon::data::digits(1000, 2), 4);
    CAPTURE(accuracy);
    CHECK(accuracy > 0.75);
    CHECK(accuracy < 0.95);
}
