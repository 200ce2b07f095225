/// @file
/// Reads the reference values that tests/reference/make_reference.py wrote: named tensors, as text.
///
///     test::Reference const reference{"conv2d"};
///     test::ReferenceTensor const& dx = reference.tensor("strided.dx");   // dx.shape, dx.values, dx.as<float>()
///
/// The files are looked for in the folder TENON_REFERENCE_DIR (a string macro) where the build defines it, else in
/// ../reference beside this file's folder.
#pragma once

#include <tenon/core/dims.hpp>
#include <tenon/core/error.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace tenon::test {

/// One tensor, row-major. A scalar has rank 0 and one value.
struct ReferenceTensor {
    std::string name;  ///< with its file, for messages
    std::string dtype; ///< "f64", "f32" or "i64": the precision that the values were computed in
    Dims shape;
    std::vector<double> values;
    std::vector<std::int64_t> integers; ///< of an i64 tensor the same values: a double is exact only up to 2^53

    /// The values converted to T, rounded to nearest.
    template <typename T>
    [[nodiscard]] std::vector<T> as() const {
        std::vector<T> converted;
        converted.reserve(values.size());
        if (dtype == "i64") {
            for (std::int64_t value : integers) converted.push_back(static_cast<T>(value));
        } else {
            for (double value : values) converted.push_back(static_cast<T>(value));
        }
        return converted;
    }

    /// The only value. Fails where there are more.
    [[nodiscard]] double scalar() const {
        if (values.size() != 1)
            fail(name + " holds " + std::to_string(values.size()) + " values where one is expected");
        return values[0];
    }
};

/// The tensors of one data file.
class Reference {
public:
    /// Reads <subject>.txt. Fails where it is missing or its text is not in the format.
    explicit Reference(std::string const& subject) { read(folder() / (subject + ".txt")); }

    /// Reads any file of the format.
    [[nodiscard]] static Reference from_file(std::filesystem::path const& file) {
        Reference reference;
        reference.read(file);
        return reference;
    }

    [[nodiscard]] bool has(std::string const& name) const { return tensors_.contains(name); }

    /// The tensor of that name. Fails where there is none.
    [[nodiscard]] ReferenceTensor const& tensor(std::string const& name) const {
        auto const found = tensors_.find(name);
        if (found == tensors_.end()) fail(file_.string() + " holds no tensor '" + name + "'" + neighbours(name));
        return found->second;
    }

    /// The folder of the data files.
    [[nodiscard]] static std::filesystem::path folder() {
#if defined(TENON_REFERENCE_DIR)
        return TENON_REFERENCE_DIR;
#else
        return std::filesystem::path{__FILE__}.parent_path() / ".." / "reference";
#endif
    }

private:
    Reference() = default;

    void read(std::filesystem::path const& file) {
        file_ = file;
        std::ifstream stream{file};
        if (!stream) {
            fail("no reference values in " + file.string() +
                 ": make them with tests/reference/make_reference.py, or define " +
                 "TENON_REFERENCE_DIR as the folder that holds them");
        }
        std::ostringstream content;
        content << stream.rdbuf();
        text_ = content.str();
        parse();
        text_.clear();
    }

    void parse() {
        while (skip_to_token(), position_ < text_.size()) {
            std::istringstream header{line()};
            ReferenceTensor tensor;
            std::string name;
            header >> name >> tensor.dtype;
            tensor.name = file_.filename().string() + ": " + name;
            if (tensor.dtype != "f64" && tensor.dtype != "f32" && tensor.dtype != "i64")
                malformed("'name dtype extents'", name);
            for (index_t extent = 0; header >> extent;) {
                if (tensor.shape.rank == Dims::max_rank || extent < 0) malformed("up to 6 extents", name);
                tensor.shape.extent[tensor.shape.rank++] = extent;
            }
            if (!header.eof()) malformed("integer extents", name);
            for (index_t i = 0; i < tensor.shape.count(); ++i) read_value(tensor);
            if (!tensors_.emplace(name, std::move(tensor)).second) malformed("each name once", name);
        }
    }

    void read_value(ReferenceTensor& tensor) {
        skip_to_token();
        char const* const begin = text_.c_str() + position_;
        char* end = nullptr;
        if (tensor.dtype == "i64") {
            errno = 0;
            long long const value = std::strtoll(begin, &end, 10);
            if (errno != 0) malformed("a 64-bit integer", tensor.name);
            tensor.integers.push_back(value);
            tensor.values.push_back(static_cast<double>(value));
        } else {
            tensor.values.push_back(std::strtod(begin, &end)); // reads nan and inf, which streams do not
        }
        bool const whole = *end == '\0' || std::isspace(static_cast<unsigned char>(*end)) != 0;
        if (end == begin || !whole) malformed("a value", tensor.name);
        position_ += static_cast<std::size_t>(end - begin);
    }

    void skip_to_token() {
        while (position_ < text_.size()) {
            if (text_[position_] == '#') {
                static_cast<void>(line());
            } else if (std::isspace(static_cast<unsigned char>(text_[position_])) != 0) {
                ++position_;
            } else {
                return;
            }
        }
    }

    /// What is left of the line, which it steps over.
    std::string line() {
        std::size_t const end = (std::min)(text_.find('\n', position_), text_.size());
        std::string found = text_.substr(position_, end - position_);
        position_ = end;
        return found;
    }

    [[noreturn]] void malformed(std::string const& expected, std::string const& name) const {
        auto const lines = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(position_), '\n') + 1;
        fail(file_.string() + ", line " + std::to_string(lines) + ": expected " + expected + " at '" + name + "'");
    }

    /// For the message about a missing name: what else its case holds, or which cases there are.
    [[nodiscard]] std::string neighbours(std::string const& name) const {
        std::string same_case, cases, last;
        std::string const prefix = name.substr(0, name.find('.') + 1);
        for (auto const& [other, tensor] : tensors_) {
            if (!prefix.empty() && other.starts_with(prefix)) same_case += " " + other;
            std::string const group = other.substr(0, other.find('.'));
            if (group != last) cases += " " + group;
            last = group;
        }
        return same_case.empty() ? "; its cases are:" + cases : "; that case holds:" + same_case;
    }

    std::filesystem::path file_;
    std::string text_;
    std::size_t position_ = 0;
    std::map<std::string, ReferenceTensor> tensors_;
};

} // namespace tenon::test
