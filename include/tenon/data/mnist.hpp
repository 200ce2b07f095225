/// @file
/// MNIST and Fashion-MNIST: four IDX files in a folder, plain or .gz. Both sets use the same file names and shapes.
/// Sources: LeCun, Cortes, Burges, "The MNIST database of handwritten digits"; Xiao, Rasul, Vollgraf, "Fashion-MNIST",
/// arXiv 1708.07747.
#pragma once

#include <tenon/core/config.hpp>

#include <tenon/data/dataset.hpp>
#include <tenon/data/idx.hpp>

#include <cstdlib>

namespace tenon::data {

/// (x / 255 - 0.5) / 0.5: bytes to [-1, 1], as PyTorch's tutorials do it.
inline constexpr Normalize to_plus_minus_one = Normalize::from(0.5f, 0.5f);

/// A dataset from a file of images (IDX of rank 3: count, rows, columns) and one of labels (rank 1). Samples have shape
/// {1, rows, columns}. Errors: tenon::Error naming the file, on anything but two complete files that fit together, with
/// labels in [0, classes).
[[nodiscard]] TENON_COLD inline Dataset<std::uint8_t> read_idx_images(std::string const& images_path,
                                                           std::string const& labels_path, index_t classes = 10,
                                                           Normalize normalize = to_plus_minus_one) {
    Idx labels = read_idx(labels_path, 1); // first: it is small
    check_labels(labels.values, classes, message({"'", labels_path, "': "}));
    Idx images = read_idx(images_path, 3);
    if (images.dims[0] != labels.dims[0])
        refuse({"'", images_path, "' holds ", images.dims[0], " images and '", labels_path, "' ", labels.dims[0],
                " labels: these files do not belong together"});
    if (images.values.empty())
        refuse({"'", images_path, "' holds no values: its extents are ", describe_extents(images.dims)});
    return {Dims{1, images.dims[1], images.dims[2]}, std::move(images.values), std::move(labels.values), classes,
            normalize};
}

/// The names by which a file of the set goes: `part` is "train" or "t10k", `kind` "images-idx3" or "labels-idx1".
[[nodiscard]] TENON_COLD inline std::vector<std::string> mnist_file_names(std::string const& part, std::string kind) {
    std::string const dashed = part + '-' + kind + "-ubyte";
    kind[kind.rfind('-')] = '.';
    std::string const dotted = part + '-' + kind + "-ubyte";
    return {dashed, dashed + ".gz", dotted, dotted + ".gz"};
}

/// The path of the first of these files that `folder` has, or "".
[[nodiscard]] TENON_COLD inline std::string find_file(std::string const& folder, std::vector<std::string> const& names) {
    for (std::string const& name : names)
        if (path_kind(join_path(folder, name)) != PathKind::missing) return join_path(folder, name);
    return {};
}

/// Whether `folder` has, under one of its names, each of the four files.
[[nodiscard]] TENON_COLD inline bool holds_mnist_files(std::string const& folder) {
    for (char const* part : {"train", "t10k"})
        for (char const* kind : {"images-idx3", "labels-idx1"})
            if (find_file(folder, mnist_file_names(part, kind)).empty()) return false;
    return true;
}

/// Reads MNIST, or any set with its file names, from `folder`: `auto [train, test] = data::mnist("data")`.
/// Labels lie in [0, classes), samples have shape {1, rows, columns}, 28 x 28 in the originals; normalised to [-1, 1].
/// Errors: tenon::Error naming the folder, or the file, and what is wrong with it.
[[nodiscard]] TENON_COLD inline TrainTest mnist(std::string const& folder, index_t classes = 10,
                                     Normalize normalize = to_plus_minus_one) {
    if (path_kind(folder) != PathKind::folder)
        refuse({"'", folder, "' is ", path_kind(folder) == PathKind::file ? "a file" : "missing",
                ": the folder that holds train-images-idx3-ubyte[.gz] and its three companions is expected"});
    auto const path = [&](char const* part, char const* kind) {
        std::vector<std::string> const names = mnist_file_names(part, kind);
        std::string found = find_file(folder, names);
        if (found.empty())
            refuse({"'", folder, "' has no file named ", names[0], ", ", names[1], ", ", names[2], " or ", names[3]});
        return found;
    };
    auto const part = [&](char const* name) {
        std::string const images = path(name, "images-idx3"), labels = path(name, "labels-idx1");
        return read_idx_images(images, labels, classes, normalize);
    };
    TrainTest sets;
    sets.test = part("t10k"); // first: a missing or wrong file shows before the large one is read
    sets.train = part("train");
    if (sets.train.shape() != sets.test.shape())
        refuse({"in '", folder, "' the training images have shape ", describe_extents(sets.train.shape()),
                " and the test images ", describe_extents(sets.test.shape()), ": these files do not belong together"});
    return sets;
}

/// Where a data set was found, or where it was looked for.
struct DataLocation {
    std::string folder; ///< empty: not found
    std::string report; ///< one line when found; else where it was looked for and how to get it, some lines

    explicit operator bool() const { return !folder.empty(); }
};

/// Looks for the four files in $TENON_DATA, in ./data and in the folder of Debian's package, in subfolders that are
/// named after the set as well. The files of MNIST have the same names: whoever keeps both gives each a folder of its
/// own.
[[nodiscard]] TENON_COLD inline DataLocation find_fashion_mnist() {
    std::string tried;
    auto const holds = [&](std::string const& folder) {
        tried += "  " + folder + '\n';
        return holds_mnist_files(folder);
    };
    auto const found = [](std::string const& folder) {
        return DataLocation{folder, "Fashion-MNIST found in " + folder + '\n'};
    };

    char const* const variable = std::getenv("TENON_DATA");
    if (variable == nullptr || *variable == '\0') tried += "  (the environment variable TENON_DATA is not set)\n";
    for (std::string const& base : {std::string(variable == nullptr ? "" : variable), std::string("data")}) {
        if (base.empty()) continue;
        for (char const* subfolder : {"fashion-mnist", "FashionMNIST/raw", ""})
            if (std::string const folder = *subfolder == '\0' ? base : join_path(base, subfolder); holds(folder))
                return found(folder);
    }
    std::string const packaged = "/usr/share/datasets/fashion-mnist";
    if (holds(packaged)) return found(packaged);
    return {{},
            "Fashion-MNIST was not found. Looked for train-images-idx3-ubyte, train-labels-idx1-ubyte, "
            "t10k-images-idx3-ubyte and\n"
            "t10k-labels-idx1-ubyte, plain or .gz, in\n" +
                tried +
                "To get it: on Debian, sudo apt install dataset-fashion-mnist; elsewhere fetch these four files from\n"
                "github.com/zalandoresearch/fashion-mnist (its folder data/fashion) into ./data, or set TENON_DATA to "
                "their folder.\n"};
}

/// Reads Fashion-MNIST from `folder`: 60,000 training and 10,000 test images of 1 x 28 x 28, ten classes, normalised to
/// [-1, 1].
[[nodiscard]] TENON_COLD inline TrainTest fashion_mnist(std::string const& folder) { return mnist(folder); }

/// Reads Fashion-MNIST from where find_fashion_mnist() finds it. Errors: tenon::Error with its report.
[[nodiscard]] TENON_COLD inline TrainTest fashion_mnist() {
    DataLocation const location = find_fashion_mnist();
    if (!location) refuse({location.report});
    return fashion_mnist(location.folder);
}

} // namespace tenon::data
