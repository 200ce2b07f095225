// Folders with the four files of MNIST or Fashion-MNIST: found, read, or refused with the reason.
#include "files.hpp"

#include <tenon/data/mnist.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

using namespace tenon::test;
using tenon::Dims;
using tenon::index_t;

namespace {

Bytes const train_images = idx_file({3, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
            train_labels = idx_file({3}, {9, 0, 4});
Bytes const test_images = idx_file({2, 2, 2}, {21, 22, 23, 24, 25, 26, 27, 28}), test_labels = idx_file({2}, {1, 2});

/// Writes the four files into a folder of `folder`, and returns it.
std::string write_set(
    TemporaryFolder const& folder, std::string const& name, std::string const& images = "-images-idx3-ubyte",
    std::string const& labels = "-labels-idx1-ubyte",
    Bytes (*pack)(Bytes const&) = [](Bytes const& bytes) { return bytes; }) {
    folder.write(name + "/train" + images, pack(train_images));
    folder.write(name + "/train" + labels, pack(train_labels));
    folder.write(name + "/t10k" + images, pack(test_images));
    folder.write(name + "/t10k" + labels, pack(test_labels));
    return folder.path(name);
}

std::string error_of_reading(std::string const& folder) {
    return error_of([&] { static_cast<void>(tenon::data::mnist(folder)); });
}

/// Sets an environment variable and restores it.
class Environment {
public:
    Environment(char const* name, std::optional<std::string> const& value) : name_(name) {
        if (char const* const old = std::getenv(name)) old_ = old;
        set(value);
    }
    Environment(Environment const&) = delete;
    Environment& operator=(Environment const&) = delete;
    ~Environment() { set(old_); }

private:
    void set(std::optional<std::string> const& value) const {
        if (value) ::setenv(name_, value->c_str(), 1);
        else ::unsetenv(name_);
    }
    char const* name_;
    std::optional<std::string> old_;
};

/// Works in another folder for a while.
class WorkingFolder {
public:
    explicit WorkingFolder(std::string const& path) { std::filesystem::current_path(path); }
    WorkingFolder(WorkingFolder const&) = delete;
    WorkingFolder& operator=(WorkingFolder const&) = delete;
    ~WorkingFolder() { std::filesystem::current_path(old_); }

private:
    std::filesystem::path old_ = std::filesystem::current_path();
};

} // namespace

TEST_CASE("mnist: four files under each of their names") {
    TemporaryFolder const folder;
    auto const pack = [](Bytes const& bytes) { return gzip_stored(bytes); };
    std::string const folders[] = {
        write_set(folder, "dashes"),
        write_set(folder, "dots", "-images.idx3-ubyte", "-labels.idx1-ubyte"),
        write_set(folder, "dashes packed", "-images-idx3-ubyte.gz", "-labels-idx1-ubyte.gz", pack),
        write_set(folder, "dots packed", "-images.idx3-ubyte.gz", "-labels.idx1-ubyte.gz", pack),
        write_set(folder, "mixed", "-images.idx3-ubyte.gz", "-labels-idx1-ubyte", pack),
        folder.path("dashes") + '/',
    };
    for (std::string const& path : folders) {
        CAPTURE(path);
        auto const [train, test] = tenon::data::mnist(path);
        CHECK(train.size() == 3);
        CHECK(train.shape() == Dims{1, 2, 2});
        CHECK(train.classes() == 10);
        CHECK(train.normalize == tenon::data::Normalize::from(0.5f, 0.5f));
        CHECK(std::equal(train.samples().begin(), train.samples().end(), train_images.begin() + 16));
        CHECK(std::equal(train.labels().begin(), train.labels().end(), train_labels.begin() + 8));
        CHECK(std::equal(test.samples().begin(), test.samples().end(), test_images.begin() + 16));
        CHECK(std::equal(test.labels().begin(), test.labels().end(), test_labels.begin() + 8));
    }
    // A plain file is preferred to a packed one of the same name.
    folder.write("dashes/t10k-labels-idx1-ubyte.gz", {1, 2, 3});
    CHECK(tenon::data::mnist(folder.path("dashes")).test.label(0) == 1);
}

TEST_CASE("mnist: folders and files that do not do") {
    TemporaryFolder const folder;
    CHECK(holds(error_of_reading(folder.path("nowhere")), quoted(folder.path("nowhere")) + " is missing"));
    CHECK(holds(error_of_reading(folder.write("file", {1})), quoted(folder.path("file")) + " is a file"));
    std::filesystem::create_directories(folder.path("bare"));
    CHECK(holds(error_of_reading(folder.path("bare")),
                quoted(folder.path("bare")) +
                    " has no file named t10k-images-idx3-ubyte, t10k-images-idx3-ubyte.gz, t10k-images.idx3-ubyte or "
                    "t10k-images.idx3-ubyte.gz"));

    std::string const set = write_set(folder, "set");
    auto const error_with = [&](std::string const& name, Bytes const& bytes, Bytes const& right) {
        folder.write("set/" + name, bytes);
        std::string error = error_of_reading(set);
        folder.write("set/" + name, right);
        return error;
    };
    REQUIRE(error_of_reading(set) == "");
    CHECK(holds(error_with("train-labels-idx1-ubyte", idx_file({2}, {1, 2}), train_labels),
                "train-images-idx3-ubyte' holds 3 images", "train-labels-idx1-ubyte' 2 labels"));
    CHECK(holds(error_with("t10k-labels-idx1-ubyte", idx_file({3}, {1, 2, 3}), test_labels), "holds 2 images",
                "3 labels"));
    CHECK(holds(error_with("train-labels-idx1-ubyte", idx_file({3}, {9, 0, 10}), train_labels),
                "train-labels-idx1-ubyte': the label of sample 2 is 10, outside [0, 10)"));
    CHECK(holds(error_with("train-images-idx3-ubyte", train_labels, train_images),
                "train-images-idx3-ubyte' begins wrongly"));
    CHECK(holds(error_with("train-labels-idx1-ubyte", train_images, train_labels),
                "train-labels-idx1-ubyte' begins wrongly"));
    CHECK(holds(error_with("train-images-idx3-ubyte", first_bytes(train_images, 20), train_images),
                "train-images-idx3-ubyte' is cut off"));
    CHECK(holds(error_with("train-images-idx3-ubyte", idx_file({3, 1, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
                           train_images),
                "shape 1 x 1 x 4", "1 x 2 x 2"));
    CHECK(holds(error_with("train-images-idx3-ubyte", idx_file({3, 0, 4}, {}), train_images), "3 x 0 x 4"));
    std::filesystem::remove(folder.path("set/train-images-idx3-ubyte"));
    std::filesystem::create_directories(folder.path("set/train-images-idx3-ubyte"));
    CHECK(holds(error_of_reading(set), "train-images-idx3-ubyte' is a folder"));
    folder.write("empty/t10k-images-idx3-ubyte", idx_file({0, 2, 2}, {}));
    folder.write("empty/t10k-labels-idx1-ubyte", idx_file({0}, {}));
    CHECK(holds(error_of_reading(folder.path("empty")), "holds no values", "0 x 2 x 2"));
    CHECK(holds(error_of([&] { static_cast<void>(tenon::data::mnist(write_set(folder, "few"), 9)); }),
                "is 9, outside [0, 9)"));
}

TEST_CASE("mnist: TENON_DATA, ./data and their subfolders are looked into") {
    TemporaryFolder const folder;
    std::string const own = write_set(folder, "own"), below = write_set(folder, "above/fashion-mnist");
    {
        Environment const variable("TENON_DATA", own);
        tenon::data::DataLocation const location = tenon::data::find_fashion_mnist();
        CHECK(location.folder == own);
        CHECK(holds(location.report, own));
        CHECK(tenon::data::fashion_mnist().train.size() == 3);
    }
    {
        Environment const variable("TENON_DATA", folder.path("above"));
        CHECK(tenon::data::find_fashion_mnist().folder == below);
    }
    {
        Environment const variable("TENON_DATA", std::nullopt);
        write_set(folder, "project/data/FashionMNIST/raw");
        WorkingFolder const here(folder.path("project"));
        CHECK(tenon::data::find_fashion_mnist().folder == "data/FashionMNIST/raw");
    }
}

TEST_CASE("mnist: where nothing is found, the report says where it was looked and how to get it") {
    TemporaryFolder const folder;
    folder.write("half/train-images-idx3-ubyte", train_images);
    WorkingFolder const here(folder.path());
    Environment const variable("TENON_DATA", folder.path("half"));
    tenon::data::DataLocation const location = tenon::data::find_fashion_mnist();
    if (location) { // the machine has Debian's package
        CHECK(location.folder == "/usr/share/datasets/fashion-mnist");
        return;
    }
    CHECK(holds(location.report, folder.path("half") + '\n', "  data\n", "  /usr/share/datasets/fashion-mnist\n",
                "apt install dataset-fashion-mnist", "github.com/zalandoresearch/fashion-mnist", "TENON_DATA"));
    CHECK(holds(error_of([] { static_cast<void>(tenon::data::fashion_mnist()); }), "was not found"));
}

TEST_CASE("mnist: the images of Debian's package, where it is installed") {
    std::string const packaged = "/usr/share/datasets/fashion-mnist";
    if (!tenon::data::holds_mnist_files(packaged)) {
        MESSAGE("skipped: dataset-fashion-mnist is not installed");
        return;
    }
    if (std::string const missing = tenon::data::Zlib().missing(); !missing.empty()) {
        MESSAGE("skipped: zlib is not at hand: " << missing);
        return;
    }
    auto const [train, test] = tenon::data::fashion_mnist(packaged);
    CHECK(train.size() == 60'000);
    CHECK(test.size() == 10'000);
    CHECK(train.shape() == Dims{1, 28, 28});
    for (auto const& [set, per_class] : {std::pair{train, 6000}, std::pair{test, 1000}}) {
        std::vector<int> counts(10);
        for (std::uint8_t const label : set.labels()) ++counts[label];
        for (int const count : counts) CHECK(count == per_class); // as the set's authors say
    }
    std::uint64_t sum = 0;
    for (std::uint8_t const value : train.samples()) sum += value;
    // The mean that is in general use for normalising this set.
    CHECK(static_cast<double>(sum) / 255 / 47'040'000 == doctest::Approx(0.2860).epsilon(1e-3));
    CHECK(train.label(0) == 9);
    CHECK(test.label(0) == 9);
}
