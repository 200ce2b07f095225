// Datasets: what goes in, what comes out, and parts that share memory with the whole.
#include "files.hpp"

#include <tenon/data/blobs.hpp>
#include <tenon/data/dataset.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <type_traits>

using namespace tenon::test;
using tenon::Dims;
using tenon::index_t;
using tenon::data::Dataset;
using tenon::data::Normalize;

namespace {

/// Sample i holds 10 i, 10 i + 1, ...; its label is i % 3.
template <class T, class Label>
Dataset<T, Label> counting_set(index_t count, Dims shape) {
    std::vector<T> samples;
    std::vector<Label> labels;
    for (index_t i = 0; i < count; ++i) {
        for (index_t k = 0; k < shape.count(); ++k) samples.push_back(static_cast<T>(10 * i + k));
        labels.push_back(static_cast<Label>(i % 3));
    }
    return {shape, samples, labels, 3, Normalize{2, -1}};
}

/// The numbers of the samples that a part of a counting set holds.
template <class T, class Label>
std::vector<index_t> numbers_of(Dataset<T, Label> const& set) {
    std::vector<index_t> numbers;
    for (index_t i = 0; i < set.size(); ++i) {
        numbers.push_back(static_cast<index_t>(set.sample(i)[0]) / 10);
        CHECK(set.label(i) == numbers.back() % 3);
        for (std::size_t k = 0; k < set.sample(i).size(); ++k)
            CHECK(set.sample(i)[k] == static_cast<T>(10 * numbers.back()) + static_cast<T>(k));
    }
    return numbers;
}

std::string error_of_making(Dims shape, std::size_t samples, std::vector<int> const& labels, index_t classes) {
    return error_of([&] { Dataset<float, int> const set(shape, std::vector<float>(samples), labels, classes); });
}

} // namespace

TEST_CASE_TEMPLATE("dataset: samples, labels and shape come out as they went in", Type, Dataset<std::uint8_t>,
                   Dataset<float>, Dataset<std::uint8_t, std::int32_t>, Dataset<float, std::int32_t>,
                   Dataset<double, std::int64_t>) {
    Type const set = counting_set<typename Type::value_type, typename Type::label_type>(7, {2, 3});
    CHECK(set.size() == 7);
    CHECK(set.shape() == Dims{2, 3});
    CHECK(set.features() == 6);
    CHECK(set.classes() == 3);
    CHECK(set.normalize == Normalize{2, -1});
    CHECK(set.contiguous());
    CHECK(set.samples().size() == 42);
    CHECK(set.labels().size() == 7);
    CHECK(set.samples().data() + 6 == set.sample(1).data());
    CHECK(numbers_of(set) == std::vector<index_t>{0, 1, 2, 3, 4, 5, 6});

    typename Type::label_type label = 77;
    std::vector<typename Type::value_type> values(6);
    set.fill({.sample = 5}, values, label);
    CHECK(label == 2);
    CHECK(std::equal(values.begin(), values.end(), set.sample(5).begin()));
}

TEST_CASE("dataset: ranges share memory, and may be taken of ranges") {
    Dataset<float> part;
    float const* where = nullptr;
    {
        auto const set = counting_set<float, std::uint8_t>(20, {4});
        where = set.sample(0).data();
        part = set.range(5, 15);
    } // the part keeps the storage
    CHECK(numbers_of(part) == std::vector<index_t>{5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    CHECK(part.samples().data() == where + 20);
    CHECK(part.samples().size() == 40);
    CHECK(part.labels()[1] == 0);
    CHECK(part.shape() == Dims{4});
    CHECK(part.normalize == Normalize{2, -1});
    CHECK(numbers_of(part.first(2)) == std::vector<index_t>{5, 6});
    CHECK(part.first(1000).size() == 10);
    CHECK(numbers_of(part.range(3, 6)) == std::vector<index_t>{8, 9, 10});
    CHECK(part.range(10, 10).empty());
    CHECK(holds(error_of([&] { static_cast<void>(part.range(3, 11)); }), "samples [3, 11) of 10"));
    CHECK_THROWS_AS(static_cast<void>(part.range(-1, 3)), tenon::Error);
    CHECK_THROWS_AS(static_cast<void>(part.range(4, 3)), tenon::Error);
    CHECK_THROWS_AS(static_cast<void>(part.first(-1)), tenon::Error);
    CHECK(holds(error_of([&] { static_cast<void>(part.sample(10)); }), "sample 10", "[0, 10)"));
    CHECK_THROWS_AS(static_cast<void>(part.label(-1)), tenon::Error);
}

TEST_CASE("dataset: selections, of parts as well, and their compact copies") {
    auto const set = counting_set<std::uint8_t, std::int32_t>(20, {4});
    auto const picked = set.range(5, 15).select({9, 0, 0, 4});
    CHECK(numbers_of(picked) == std::vector<index_t>{14, 5, 5, 9});
    CHECK(picked.sample(0).data() == set.sample(14).data());
    CHECK_FALSE(picked.contiguous());
    CHECK(holds(error_of([&] { static_cast<void>(picked.samples()); }), "compact()"));
    CHECK_THROWS_AS(static_cast<void>(picked.labels()), tenon::Error);
    CHECK(numbers_of(picked.range(1, 4).select({2, 1})) == std::vector<index_t>{9, 5});
    CHECK_THROWS_AS(static_cast<void>(set.select({0, 20})), tenon::Error);

    auto const copy = picked.compact();
    CHECK(copy.contiguous());
    CHECK(numbers_of(copy) == numbers_of(picked));
    CHECK(copy.sample(0).data() != picked.sample(0).data());
    CHECK(copy.normalize == picked.normalize);
    CHECK(copy.shape() == picked.shape());
}

TEST_CASE("dataset: a split has each sample once, and depends on the seed alone") {
    auto const set = counting_set<float, std::uint8_t>(1000, {1});
    auto const [train, validation] = set.split(700, 250, 3);
    std::vector<index_t> const in_train = numbers_of(train), in_validation = numbers_of(validation);
    CHECK(in_train.size() == 700);
    CHECK(in_validation.size() == 250);
    std::set<index_t> all(in_train.begin(), in_train.end());
    all.insert(in_validation.begin(), in_validation.end());
    CHECK(all.size() == 950);
    CHECK_FALSE(std::is_sorted(in_train.begin(), in_train.end()));

    CHECK(numbers_of(set.split(700, 250, 3).train) == in_train);
    CHECK(numbers_of(set.split(700, 250, 4).train) != in_train);
    CHECK(numbers_of(set.split(1000, 0, 3).train).size() == 1000);
    CHECK(set.split(0, 1000, 3).train.empty());
    CHECK(holds(error_of([&] { static_cast<void>(set.split(700, 301, 3)); }), "1000 samples into 700 and 301"));
    CHECK_THROWS_AS(static_cast<void>(set.split(-1, 3, 3)), tenon::Error);
    // Of a part: only what the part holds.
    for (index_t const number : numbers_of(set.range(100, 200).split(60, 40, 1).train))
        CHECK((number >= 100 && number < 200));
}

TEST_CASE("dataset: sizes that disagree, shapes without elements and labels outside the classes are refused") {
    CHECK(error_of_making({2, 2}, 12, {0, 1, 2}, 3) == "");
    CHECK(error_of_making({2, 2}, 0, {}, 3) == "");
    CHECK(holds(error_of_making({2, 2}, 11, {0, 1, 2}, 3), "3 labels and samples of 4 values", "3 * 4 values, got 11"));
    CHECK(holds(error_of_making({2, 2}, 16, {0, 1, 2}, 3), "got 16"));
    CHECK(holds(error_of_making({2, 2}, 0, {0}, 3), "got 0"));
    CHECK(holds(error_of_making({2, 2}, 12, {0, 1, 3}, 3), "label of sample 2 is 3, outside [0, 3)"));
    CHECK(holds(error_of_making({2, 2}, 12, {0, -1, 3}, 3), "label of sample 1 is -1, outside [0, 3)"));
    CHECK(holds(error_of_making({2, 2}, 4, {0}, 0), "label of sample 0 is 0, outside [0, 0)"));
    CHECK(holds(error_of_making({2, 0}, 0, {0}, 1), "axis 1", "extent 0"));
    CHECK(holds(error_of_making({2, -2}, 8, {0}, 1), "axis 1", "extent -2"));
    // A product that would wrap round to 4.
    CHECK(holds(error_of_making({index_t{1} << 33, (index_t{1} << 31) + 4, 1}, 4, {0}, 1), "at most 2^40"));
    CHECK(holds(
        error_of([] { Dataset<float> const set({1}, std::vector<float>(1), std::vector<std::uint8_t>{255}, 10); }),
        "is 255, outside [0, 10)"));
}

TEST_CASE("dataset: an empty one answers") {
    Dataset<std::uint8_t> const none;
    CHECK(none.empty());
    CHECK(none.samples().empty());
    CHECK(none.labels().empty());
    CHECK(none.first(3).empty());
    CHECK(none.compact().empty());
    CHECK(none.split(0, 0, 1).train.empty());
    CHECK_THROWS_AS(static_cast<void>(none.sample(0)), tenon::Error);
}

TEST_CASE("normalize: bytes to [-1, 1]") {
    constexpr Normalize how = Normalize::from(0.5f, 0.5f);
    for (int x = 0; x < 256; ++x) CHECK(std::abs(double{how(static_cast<float>(x))} - (x / 255.0 - 0.5) / 0.5) < 2e-7);
    CHECK(how(0) == -1);
    constexpr Normalize mnist = Normalize::from(0.1307f, 0.3081f);
    for (int x = 0; x < 256; ++x)
        CHECK(std::abs(double{mnist(static_cast<float>(x))} - (x / 255.0 - 0.1307) / 0.3081) < 1e-6);
    CHECK(std::abs(double{Normalize::from(3, 2, 1)(7)} - 2) < 1e-6);
    CHECK(std::isnan(how(std::nanf(""))));
}

TEST_CASE("blobs: classes that can be told apart, the same for any count") {
    tenon::data::BlobOptions const options{.features = 5, .classes = 4, .spread = 0.1f, .seed = 3};
    Dataset<float> const set = tenon::data::blobs(4000, options);
    CHECK(set.shape() == Dims{5});
    CHECK(set.classes() == 4);
    Dataset<float> const less = tenon::data::blobs(100, options),
                         other = tenon::data::blobs(
                             100, {.features = 5, .classes = 4, .spread = 0.1f, .seed = 3, .part = 1});
    CHECK(std::equal(less.samples().begin(), less.samples().end(), set.samples().begin()));
    CHECK_FALSE(std::equal(other.samples().begin(), other.samples().end(), set.samples().begin()));

    std::vector<double> mean(20), variance(20);
    std::vector<int> count(4);
    for (index_t i = 0; i < set.size(); ++i) ++count[set.label(i)];
    for (int const c : count) CHECK(std::abs(c - 1000) < 6 * 28);
    for (index_t i = 0; i < set.size(); ++i)
        for (std::size_t f = 0; f < 5; ++f)
            mean[5 * set.label(i) + f] += double{set.sample(i)[f]} / count[set.label(i)];
    for (index_t i = 0; i < set.size(); ++i)
        for (std::size_t f = 0; f < 5; ++f)
            variance[5 * set.label(i) + f] +=
                std::pow(double{set.sample(i)[f]} - mean[5 * set.label(i) + f], 2) / count[set.label(i)];
    for (double const v : variance) CHECK(std::abs(v - 0.01) < 0.0015);
    for (double const m : mean) CHECK(std::abs(m) < 1.02);
    // Another part has the same centres.
    for (index_t i = 0; i < other.size(); ++i)
        for (std::size_t f = 0; f < 5; ++f)
            CHECK(std::abs(double{other.sample(i)[f]} - mean[5 * other.label(i) + f]) < 0.4);
    CHECK_THROWS_AS(static_cast<void>(tenon::data::blobs(-1)), tenon::Error);
    CHECK_THROWS_AS(static_cast<void>(tenon::data::blobs(1, {.classes = 257})), tenon::Error);
}
