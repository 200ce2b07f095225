/// @file
/// Reads IDX, the format of MNIST and of the sets made in its likeness: a magic number (0, 0, element type, rank), the
/// extents as big-endian 32-bit numbers, the elements with the last axis innermost. Source:
/// http://yann.lecun.com/exdb/mnist (at its end).
#pragma once

#include <tenon/core/describe.hpp>
#include <tenon/core/config.hpp>

#include <tenon/core/dims.hpp>
#include <tenon/data/gzip.hpp>

namespace tenon::data {

/// An IDX file's contents.
struct Idx {
    Dims dims;
    std::vector<std::uint8_t> values; ///< dims.count() bytes, the last axis innermost
};

/// What a header says, and how errors speak of it.
struct IdxHeader {
    Dims dims;
    std::uint64_t bytes = 0;  ///< of header and values together
    std::uint64_t values = 0; ///< bytes of the values
};

[[nodiscard]] constexpr std::uint32_t big_endian32(std::uint8_t const* bytes) {
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

/// "0x00000803"
[[nodiscard]] TENON_COLD inline std::string hex32(std::uint32_t value) {
    std::string text = "0x";
    for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[value >> shift & 0xf];
    return text;
}

/// Raises the error for a file whose first four bytes are not as expected, or fewer; `found` says what they are.
[[noreturn]] TENON_COLD inline void refuse_magic(std::string const& file, std::string const& found, int found_rank, int rank) {
    std::string advice = "This is not an IDX file of bytes";
    if (found_rank != 0)
        advice =
            message({"Its rank is ", found_rank, ": are the files of images (rank 3) and labels (rank 1) exchanged?"});
    refuse({file, "begins wrongly: expected the magic number ", hex32(0x800 + static_cast<std::uint32_t>(rank)),
            " (IDX, unsigned bytes, rank ", rank, "), found ", found, ". ", advice});
}

/// Reads and checks the magic number; returns the rank. `rank` 0 takes any.
[[nodiscard]] TENON_COLD inline int read_idx_magic(ByteReader& reader, int rank) {
    std::string const file = message({"'", reader.path(), "' "});
    std::uint8_t bytes[4] = {};
    std::size_t const count = reader.read(bytes, sizeof bytes);
    if (count == 0)
        refuse({file, reader.packed() ? "unpacks to nothing" : "is empty",
                ": an IDX file is expected. Fetch the file again"});
    int const found_rank = bytes[3];
    bool const is_idx = count == 4 && bytes[0] == 0 && bytes[1] == 0 && bytes[2] == 8 && found_rank >= 1 &&
                        found_rank <= Dims::max_rank;
    if (!is_idx || (rank != 0 && rank != found_rank))
        refuse_magic(file, count == 4 ? hex32(big_endian32(bytes)) : message({"only ", count, " bytes"}),
                     is_idx ? found_rank : 0, rank != 0 ? rank : 1);
    return found_rank;
}

/// Reads and checks magic number and extents; `rank` 0 takes any.
[[nodiscard]] TENON_COLD inline IdxHeader read_idx_header(ByteReader& reader, int rank) {
    std::string const file = message({"'", reader.path(), "' "});
    int const found_rank = read_idx_magic(reader, rank);
    std::uint8_t bytes[4 * Dims::max_rank] = {};
    std::size_t const extent_bytes = 4 * static_cast<std::size_t>(found_rank);
    std::size_t const got = reader.read(bytes, extent_bytes);
    if (got < extent_bytes)
        refuse({file, "is cut off inside its header: expected ", 4 + extent_bytes, " bytes, found ", 4 + got,
                ". Fetch the file again"});

    IdxHeader header;
    header.dims.rank = found_rank;
    header.values = 1;
    bool too_large = false;
    for (int axis = 0; axis < found_rank; ++axis) {
        std::uint32_t const extent = big_endian32(bytes + 4 * axis);
        header.dims.extent[axis] = extent;
        too_large = too_large || (extent != 0 && header.values > (std::uint64_t{1} << 62) / extent);
        if (!too_large) header.values *= extent;
    }
    if (too_large || header.values > static_cast<std::size_t>(-1) / 2)
        refuse({file, "is damaged: its header claims ", describe_extents(header.dims),
                " values, more than any file holds. Fetch the file again"});
    header.bytes = 4 + extent_bytes + header.values;
    return header;
}

/// Reads an IDX file of unsigned bytes, plain or gzip. `rank` is the number of axes that the file must have: 3 for
/// images, 1 for labels, 0 for any. Errors: tenon::Error naming the file, with the bytes expected and found, for
/// whatever is not exactly one complete IDX file. Memory is taken as data arrive, never because a header asks for it.
[[nodiscard]] TENON_COLD inline Idx read_idx(std::string const& path, int rank = 0) {
    ByteReader reader(path);
    IdxHeader const header = read_idx_header(reader, rank);
    std::string const file = message({"'", path, "' "});
    auto const check_length = [&](std::uint64_t found, bool at_least) {
        if (found == header.bytes) return;
        refuse({file, found < header.bytes ? "is cut off" : "has bytes after its end", ": its header (",
                describe_extents(header.dims), ") calls for ", header.bytes, " bytes, ",
                reader.packed() ? "unpacked it has " : "the file has ", at_least ? "at least " : "", found,
                ". Fetch the file again"});
    };
    if (reader.size() >= 0) check_length(static_cast<std::uint64_t>(reader.size()), false);

    Idx idx{header.dims, {}};
    std::size_t const count = static_cast<std::size_t>(header.values);
    std::size_t const begin = static_cast<std::size_t>(header.bytes - header.values);
    // A plain file has been found to be as long as it should; of a packed one, twice its own length is a modest first
    // guess.
    std::uint64_t const length = reader.file_size() > 0 ? static_cast<std::uint64_t>(reader.file_size()) : 0;
    std::size_t step = static_cast<std::size_t>(reader.size() >= 0 ? length : 2 * length + 65536);
    for (std::size_t got = 0; got < count; step = 2 * idx.values.size()) {
        idx.values.resize(count < step ? count : step);
        std::size_t const more = reader.read(idx.values.data() + got, idx.values.size() - got);
        bool const ended = more < idx.values.size() - got;
        got += more;
        if (ended) check_length(begin + got, false);
    }
    std::vector<std::uint8_t> rest(4096);
    std::size_t const extra = reader.read(rest.data(), rest.size()); // also has a packed file's checksum compared
    check_length(header.bytes + extra, extra == rest.size());
    return idx;
}

} // namespace tenon::data
