/// @file
/// Files for the tests of data: in a folder that is gone afterwards, as IDX and as gzip made here, byte by byte.
#pragma once

#include <tenon/core/error.hpp>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace tenon::test {

using Bytes = std::vector<std::uint8_t>;

/// A new folder, with a space in its name, removed with all that is in it at the end.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "tenon data XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) fail("no temporary folder can be made as " + name);
        path_ = name;
    }
    TemporaryFolder(TemporaryFolder const&) = delete;
    TemporaryFolder& operator=(TemporaryFolder const&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::string path(std::string const& name = "") const {
        return name.empty() ? path_ : path_ + '/' + name;
    }

    /// Writes a file, with the folders above it, and returns its path.
    std::string write(std::string const& name, Bytes const& bytes) const {
        std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
        std::ofstream file(path(name), std::ios::binary);
        file.write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        if (!file.flush()) fail("cannot write " + path(name));
        return path(name);
    }

private:
    std::string path_;
};

[[nodiscard]] inline Bytes operator+(Bytes left, Bytes const& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

[[nodiscard]] inline Bytes first_bytes(Bytes const& bytes, std::size_t count) {
    return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

[[nodiscard]] inline Bytes big_endian(std::uint32_t value) {
    return {static_cast<std::uint8_t>(value >> 24), static_cast<std::uint8_t>(value >> 16),
            static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
}

[[nodiscard]] inline Bytes little_endian(std::uint32_t value) {
    Bytes const big = big_endian(value);
    return {big.rbegin(), big.rend()};
}

/// An IDX file of unsigned bytes.
[[nodiscard]] inline Bytes idx_file(std::vector<std::uint32_t> const& extents, Bytes const& values) {
    Bytes file = big_endian(0x800 + static_cast<std::uint32_t>(extents.size()));
    for (std::uint32_t const extent : extents) file = file + big_endian(extent);
    return file + values;
}

/// The checksum at a gzip member's end (RFC 1952, section 8), bit by bit.
[[nodiscard]] inline std::uint32_t crc32(Bytes const& bytes) {
    std::uint32_t crc = 0xffffffff;
    for (std::uint8_t const byte : bytes) {
        crc ^= byte;
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
    }
    return ~crc;
}

/// One gzip member that holds `bytes` in blocks without compression, of at most `block` bytes each (RFC 1951, section
/// 3.2.4).
[[nodiscard]] inline Bytes gzip_stored(Bytes const& bytes, std::size_t block = 65535) {
    Bytes file = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    std::size_t at = 0;
    do {
        std::size_t const count = bytes.size() - at < block ? bytes.size() - at : block;
        std::uint32_t const length = static_cast<std::uint32_t>(count);
        file.push_back(at + count == bytes.size() ? 1 : 0);
        file = file + first_bytes(little_endian(length), 2) + first_bytes(little_endian(~length), 2);
        file.insert(file.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    bytes.begin() + static_cast<std::ptrdiff_t>(at + count));
        at += count;
    } while (at < bytes.size());
    return file + little_endian(crc32(bytes)) + little_endian(static_cast<std::uint32_t>(bytes.size()));
}

/// What `gzip -9` makes of idx_file({6}, {1, 2, 3, 4, 5, 5}), without a name and a time: one block with fixed codes.
[[nodiscard]] inline Bytes gzip_of_six_labels() {
    return {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0x63, 0x60, 0xe0, 0x60, 0x64, 0x60, 0x60,
            0x60, 0x63, 0x64, 0x62, 0x66, 0x61, 0x65, 0x05, 0x00, 0xfe, 0x62, 0xd4, 0xdc, 0x0e, 0x00, 0x00, 0x00};
}

/// A path as error messages show it.
[[nodiscard]] inline std::string quoted(std::string const& path) { return "'" + path + "'"; }

/// The message of the tenon::Error that `action` raises; empty when it raises none. Other exceptions pass.
template <class Action>
[[nodiscard]] std::string error_of(Action&& action) {
    try {
        action();
    } catch (Error const& error) {
        return error.what();
    }
    return "";
}

/// Whether `text` holds every one of `parts`.
template <class... Parts>
[[nodiscard]] bool holds(std::string const& text, Parts const&... parts) {
    return (... && (text.find(parts) != std::string::npos));
}

} // namespace tenon::test
