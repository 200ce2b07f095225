// The reader of the reference values, and the values themselves where they are known otherwise.

#include "reference.hpp"

#include <tenon/core/random.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <system_error>
#include <vector>

using tenon::Dims;
using tenon::test::Reference;
using tenon::test::ReferenceTensor;

namespace {

/// A file in a temporary folder, gone at the end of the test.
class TemporaryFile {
public:
    explicit TemporaryFile(std::string const& text) { std::ofstream{path_} << text; }
    TemporaryFile(TemporaryFile const&) = delete;
    TemporaryFile& operator=(TemporaryFile const&) = delete;
    ~TemporaryFile() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    [[nodiscard]] std::filesystem::path const& path() const { return path_; }

private:
    std::filesystem::path path_ =
        std::filesystem::temp_directory_path() / ("tenon reference " + std::to_string(std::random_device{}()) + ".txt");
};

/// The message of the Error that reading `text` raises, empty if it raises none.
std::string message_of_reading(std::string const& text) {
    TemporaryFile const file{text};
    try {
        Reference const reference = Reference::from_file(file.path());
    } catch (tenon::Error const& error) {
        return error.what();
    }
    return "";
}

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("reference: names, types, shapes, comments and special values are read") {
    TemporaryFile const file{"# a comment\n"
                             "a.x f64 2 3\n1 -2.5 nan\ninf -inf\n# between values\n1e-300\n\n"
                             "a.scalar f32\n0.100000001\n"
                             "empty i64 0\n"
                             "large i64 2\n9223372036854775807 -3"};
    Reference const reference = Reference::from_file(file.path());

    ReferenceTensor const& x = reference.tensor("a.x");
    CHECK(x.shape == Dims{2, 3});
    CHECK(x.dtype == "f64");
    REQUIRE(x.values.size() == 6);
    CHECK(x.values[0] == 1);
    CHECK(x.values[1] == -2.5);
    CHECK(std::isnan(x.values[2]));
    CHECK(x.values[3] == std::numeric_limits<double>::infinity());
    CHECK(x.values[4] == -std::numeric_limits<double>::infinity());
    CHECK(x.values[5] == 1e-300);
    CHECK(x.as<float>()[1] == -2.5f);

    CHECK(reference.tensor("a.scalar").shape == Dims{});
    CHECK(static_cast<float>(reference.tensor("a.scalar").scalar()) == 0.1f);
    CHECK(reference.tensor("empty").values.empty());
    CHECK(reference.tensor("large").as<std::int64_t>() == std::vector<std::int64_t>{9223372036854775807, -3});
    CHECK(reference.has("empty"));
    CHECK_FALSE(reference.has("a"));
}

TEST_CASE("reference: a missing name or file is named, with what there is") {
    TemporaryFile const file{"a.x f64\n1\na.y f64\n2\nb.x f64 2\n3 4\n"};
    Reference const reference = Reference::from_file(file.path());
    auto const message = [&](std::string const& name) -> std::string {
        try {
            static_cast<void>(reference.tensor(name));
        } catch (tenon::Error const& error) {
            return error.what();
        }
        return "";
    };
    CHECK(contains(message("a.z"), "no tensor 'a.z'; that case holds: a.x a.y"));
    CHECK(contains(message("c.x"), "no tensor 'c.x'; its cases are: a b"));
    CHECK(contains(message("c.x"), file.path().string()));
    CHECK_THROWS_AS(static_cast<void>(reference.tensor("b.x").scalar()), tenon::Error);
    CHECK_THROWS_AS(Reference{"no_such_subject"}, tenon::Error);
}

TEST_CASE("reference: text that is not in the format is refused with its line") {
    CHECK(message_of_reading("a f64 2\n1 2\n") == "");
    CHECK(contains(message_of_reading("a f64 2\n1\n"), "line 3: expected a value"));
    CHECK(contains(message_of_reading("a f64 2\n1 2x\n"), "line 2: expected a value"));
    CHECK(contains(message_of_reading("a f64 2\n1 2 3\n"), "line 2: expected 'name dtype extents'"));
    CHECK(contains(message_of_reading("a f16 2\n1 2\n"), "line 1: expected 'name dtype extents'"));
    CHECK(contains(message_of_reading("a f64 two\n1 2\n"), "line 1: expected integer extents"));
    CHECK(contains(message_of_reading("a f64 -1\n"), "line 1: expected up to 6 extents"));
    CHECK(contains(message_of_reading("a f64 1 1 1 1 1 1 1\n1\n"), "line 1: expected up to 6 extents"));
    CHECK(contains(message_of_reading("a i64 1\n9223372036854775808\n"), "line 2: expected a 64-bit integer"));
    CHECK(contains(message_of_reading("a i64 1\n1.5\n"), "line 2: expected a value"));
    CHECK(contains(message_of_reading("# one\na f64\n1\na f64\n2\n"), "line 5: expected each name once"));
}

TEST_CASE("reference: values that are known otherwise") {
    Reference const cross_entropy{"cross_entropy"};
    CHECK(cross_entropy.tensor("hand.y").scalar() == doctest::Approx(0.479525).epsilon(1e-6));
    CHECK(cross_entropy.tensor("hand_weights.y").scalar() == doctest::Approx(0.503498).epsilon(1e-6));
    CHECK(cross_entropy.tensor("hand_smoothing.y").scalar() == doctest::Approx(0.562859).epsilon(1e-6));
    CHECK(cross_entropy.tensor("hand_everything.y").scalar() == doctest::Approx(0.672186).epsilon(1e-6));

    // d(loss)/d(bias) of a convolution is the sum of dy over images and positions, exactly: all are integers.
    Reference const conv2d{"conv2d"};
    ReferenceTensor const& dy = conv2d.tensor("everything.dy");
    ReferenceTensor const& dbias = conv2d.tensor("everything.dbias");
    REQUIRE(dbias.shape == Dims{dy.shape[1]});
    for (tenon::index_t channel = 0; channel < dy.shape[1]; ++channel) {
        double sum = 0;
        for (tenon::index_t image = 0; image < dy.shape[0]; ++image) {
            for (tenon::index_t position = 0; position < dy.shape.count_from(2); ++position) {
                sum += dy.values[static_cast<std::size_t>((image * dy.shape[1] + channel) * dy.shape.count_from(2) +
                                                          position)];
            }
        }
        CHECK(sum == dbias.values[static_cast<std::size_t>(channel)]);
    }
}

TEST_CASE("reference: random bits and uniforms are those of numpy's Philox, bit for bit") {
    Reference const random{"random"};
    auto const element = random.tensor("element").as<std::uint64_t>();
    for (std::string name : {"zero", "one", "wide_seed", "all_ones", "user"}) {
        CAPTURE(name);
        tenon::RandomSource const source{random.tensor(name + ".seed").as<std::uint64_t>()[0],
                                         random.tensor(name + ".stream").as<std::uint32_t>()[0],
                                         random.tensor(name + ".step").as<std::uint32_t>()[0]};
        auto const bits = random.tensor(name + ".bits").as<std::uint32_t>();
        auto const uniform = random.tensor(name + ".uniform").as<float>();
        REQUIRE(bits.size() == element.size());
        for (std::size_t i = 0; i < element.size(); ++i) {
            CHECK(tenon::random_bits(source, element[i]) == bits[i]);
            CHECK(tenon::uniform(source, element[i]) == uniform[i]);
        }
    }
}

TEST_CASE("reference: LeNet's initial weights and images can be remade from the seed alone") {
    Reference const lenet{"lenet"};
    std::uint64_t const seed = lenet.tensor("batch4.seed").as<std::uint64_t>()[0];
    double const fan_in[] = {25, 25, 500, 500, 800, 800, 500, 500};
    for (std::uint32_t number = 0; number < 8; ++number) {
        CAPTURE(number);
        tenon::RandomSource const source{seed, tenon::random_stream(tenon::RandomPurpose::initial_weights, number)};
        float const bound = static_cast<float>(1 / std::sqrt(fan_in[number]));
        auto const expected = lenet.tensor("start.parameter" + std::to_string(number)).as<float>();
        for (std::size_t i = 0; i < expected.size(); ++i)
            CHECK(bound * (2 * tenon::uniform(source, i) - 1) == expected[i]);
    }

    constexpr std::uint64_t pixels = 28 * 28;
    auto const user_bits = [&](std::uint32_t number, std::uint64_t element) {
        return tenon::random_bits({seed, tenon::random_stream(tenon::RandomPurpose::user, number)}, element);
    };
    auto const labels = lenet.tensor("start.labels").as<std::uint64_t>();
    for (std::uint64_t image = 0; image < labels.size(); ++image) CHECK(user_bits(0, image) % 10 == labels[image]);
    for (std::uint64_t image : {0u, 19u}) {
        auto const expected = lenet.tensor("start.image" + std::to_string(image)).as<std::uint32_t>();
        for (std::uint64_t pixel = 0; pixel < expected.size(); ++pixel) {
            std::uint32_t const prototype = user_bits(1, labels[image] * pixels + pixel) >> 24;
            std::uint32_t const noise = user_bits(2, image * pixels + pixel) >> 24;
            CHECK((3 * prototype + noise) / 4 == expected[pixel]);
        }
    }
}
