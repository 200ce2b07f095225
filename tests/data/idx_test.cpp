// IDX files, plain and packed, and every way in which they can be wrong.
#include "files.hpp"

#include <tenon/core/random.hpp>
#include <tenon/data/idx.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>

using namespace tenon::test;
using tenon::Dims;
using tenon::data::Idx;
using tenon::data::read_idx;

namespace {

Bytes random_bytes(std::size_t count, std::uint64_t seed) {
    Bytes bytes(count);
    for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(tenon::random_bits({seed}, i) >> 24);
    return bytes;
}

std::string error_of_reading(std::string const& path, int rank) {
    return error_of([&] { static_cast<void>(read_idx(path, rank)); });
}

} // namespace

TEST_CASE("idx: values and extents come out as they went in, plain and packed, of every rank") {
    TemporaryFolder const folder;
    std::vector<std::vector<std::uint32_t>> const shapes = {
        {7}, {1}, {3, 5}, {11, 5, 3}, {2, 3, 4, 5}, {2, 1, 3, 1, 2, 5}, {0}, {4, 0, 3}, {301, 29, 31}};
    for (std::size_t s = 0; s < shapes.size(); ++s) {
        CAPTURE(s);
        Dims dims;
        for (std::uint32_t const extent : shapes[s]) dims.extent[dims.rank++] = extent;
        Bytes const values = random_bytes(static_cast<std::size_t>(dims.count()), s);
        Bytes const file = idx_file(shapes[s], values);
        for (std::string const& path : {folder.write("plain", file), folder.write("packed.gz", gzip_stored(file)),
                                        folder.write("many blocks.gz", gzip_stored(file, 1009)),
                                        folder.write("named plain but packed", gzip_stored(file)),
                                        folder.write("named packed but plain.gz", file)}) {
            CAPTURE(path);
            for (int const rank : {0, dims.rank}) {
                Idx const idx = read_idx(path, rank);
                CHECK(idx.dims == dims);
                CHECK(idx.values == values);
            }
        }
    }
}

TEST_CASE("idx: codes of gzip, several members, and optional fields of their headers") {
    TemporaryFolder const folder;
    CHECK(read_idx(folder.write("fixed.gz", gzip_of_six_labels()), 1).values == Bytes{1, 2, 3, 4, 5, 5});

    Bytes const values = random_bytes(1000, 1);
    Bytes const file = idx_file({1000}, values);
    Bytes members;
    for (std::size_t at = 0; at < file.size(); at += 63) // cut inside the header too
        members = members +
                  gzip_stored({file.begin() + static_cast<std::ptrdiff_t>(at),
                               file.begin() + static_cast<std::ptrdiff_t>(std::min(at + 63, file.size()))}) +
                  gzip_stored({});
    CHECK(read_idx(folder.write("members.gz", members), 1).values == values);

    Bytes named = gzip_stored(file);
    named[3] = 8 | 4; // flags: a name, an extra field
    Bytes const optional = {3, 0, 'x', 'y', 'z', 'a', ' ', 'n', 'a', 'm', 'e', 0};
    named.insert(named.begin() + 10, optional.begin(), optional.end());
    CHECK(read_idx(folder.write("named.gz", named), 1).values == values);
}

TEST_CASE("idx: a file that is not there, is a folder, is empty, or is something else") {
    TemporaryFolder const folder;
    std::string const missing = folder.path("no such file");
    CHECK(holds(error_of_reading(missing, 3), quoted(missing) + " cannot be opened: No such file or directory"));
    CHECK(holds(error_of_reading(folder.path(), 3), quoted(folder.path()) + " is a folder"));
    CHECK(holds(error_of_reading("", 3), "cannot be opened"));

    std::string const empty = folder.write("empty", {});
    CHECK(holds(error_of_reading(empty, 3), quoted(empty) + " is empty"));
    std::string const nothing = folder.write("nothing.gz", gzip_stored({}));
    CHECK(holds(error_of_reading(nothing, 3), quoted(nothing) + " unpacks to nothing"));

    std::string const labels = folder.write("labels", idx_file({2}, {1, 2}));
    CHECK(holds(error_of_reading(labels, 3), quoted(labels), "expected the magic number 0x00000803", "found 0x00000801",
                "exchanged"));
    std::string const page =
        folder.write("page", {'<', '!', 'd', 'o', 'c', 't', 'y', 'p', 'e', ' ', 'h', 't', 'm', 'l', '>'});
    CHECK(holds(error_of_reading(page, 1), quoted(page), "expected the magic number 0x00000801", "found 0x3c21646f",
                "not an IDX file"));
    for (Bytes const& magic : {Bytes{0, 0, 9, 1}, Bytes{0, 0, 13, 1}, Bytes{0, 0, 8, 0}, Bytes{0, 0, 8, 7},
                               Bytes{0, 0, 8, 255}, Bytes{0, 1, 8, 1}, Bytes{1, 0, 8, 1}})
        for (int const rank : {0, 1})
            CHECK(holds(error_of_reading(folder.write("magic", magic + Bytes{0, 0, 0, 1, 5}), rank),
                        "magic number 0x00000801", "not an IDX"));
    for (std::size_t count : {1u, 2u, 3u})
        CHECK(holds(error_of_reading(folder.write("short", first_bytes({0, 0, 8, 3}, count)), 3),
                    std::string("found only ") + std::to_string(count) + " bytes"));
}

TEST_CASE("idx: cut off anywhere, or with bytes too many, plain") {
    TemporaryFolder const folder;
    Bytes const file = idx_file({3, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    REQUIRE(file.size() == 28);
    for (std::size_t length = 4; length < file.size(); ++length) {
        std::string const path = folder.write("cut", first_bytes(file, length));
        std::string const found = std::to_string(length) + ".";
        if (length < 16)
            CHECK(holds(error_of_reading(path, 3),
                        quoted(path) + " is cut off inside its header: expected 16 bytes, found " + found));
        else
            CHECK(holds(error_of_reading(path, 3), quoted(path) + " is cut off", "3 x 2 x 2",
                        "calls for 28 bytes, the file has " + found));
    }
    for (std::size_t extra : {1u, 5u, 100'000u}) {
        std::string const path = folder.write("long", file + Bytes(extra, 0));
        CHECK(holds(error_of_reading(path, 3), quoted(path) + " has bytes after its end",
                    std::string("calls for 28 bytes, the file has ") + std::to_string(28 + extra) + "."));
    }
}

TEST_CASE("idx: cut off anywhere, damaged, or with bytes too many, packed") {
    TemporaryFolder const folder;
    Bytes const file = idx_file({300}, random_bytes(300, 2));
    Bytes const packed = gzip_stored(file, 100);
    for (std::size_t length = 2; length < packed.size(); ++length) {
        std::string const path = folder.write("cut.gz", first_bytes(packed, length));
        CHECK(holds(error_of_reading(path, 1), quoted(path) + " is cut off",
                    std::string("after ") + std::to_string(length) + " packed"));
    }
    Bytes const compressed = gzip_of_six_labels();
    for (std::size_t length = 2; length < compressed.size(); ++length) {
        std::string const path = folder.write("cut.gz", first_bytes(compressed, length));
        CHECK(holds(error_of_reading(path, 1), quoted(path) + " is cut off"));
    }
    // The stream is whole, its contents are not.
    std::string const less = folder.write("less.gz", gzip_stored(first_bytes(file, 200)));
    CHECK(holds(error_of_reading(less, 1), quoted(less) + " is cut off", "calls for 308 bytes, unpacked it has 200."));
    std::string const more = folder.write("more.gz", gzip_stored(file + Bytes(7, 0)));
    CHECK(holds(error_of_reading(more, 1), quoted(more) + " has bytes after its end",
                "calls for 308 bytes, unpacked it has 315."));
    std::string const much_more = folder.write("much more.gz", gzip_stored(file + Bytes(1'000'000, 0)));
    CHECK(holds(error_of_reading(much_more, 1), "calls for 308 bytes, unpacked it has at least 4404."));

    // Bytes after the stream: gunzip only warns of them.
    for (Bytes const& rest : {Bytes{0}, Bytes{0x1f}, Bytes{0x1f, 0x8c}, Bytes(70'000, 'x')}) {
        std::string const path = folder.write("rest.gz", packed + rest);
        CHECK(holds(error_of_reading(path, 1), quoted(path) + " has bytes after the end of its gzip data, from byte " +
                                                   std::to_string(packed.size())));
    }
    // One flipped bit anywhere in checksum and length, and in the values.
    for (std::size_t byte = packed.size() - 8; byte < packed.size(); ++byte) {
        for (int bit = 0; bit < 8; ++bit) {
            Bytes damaged = packed;
            damaged[byte] = static_cast<std::uint8_t>(damaged[byte] ^ 1 << bit);
            std::string const path = folder.write("damaged.gz", damaged);
            CHECK(holds(error_of_reading(path, 1), quoted(path) + " is damaged",
                        byte < packed.size() - 4 ? "incorrect data check" : "incorrect length check"));
        }
    }
    Bytes damaged = packed;
    damaged[50] ^= 1;
    CHECK(holds(error_of_reading(folder.write("damaged.gz", damaged), 1), "is damaged", "incorrect data check"));
    damaged = packed;
    damaged[10] = 7; // the block's type
    CHECK(holds(error_of_reading(folder.write("damaged.gz", damaged), 1), "is damaged", "invalid block type"));
}

TEST_CASE("idx: a header that claims too much is refused without taking the memory") {
    // The largest of these would be 3.4 TB, or more than 64 bits can count: nothing but an early refusal ends in
    // tenon::Error.
    TemporaryFolder const folder;
    Bytes const some(1000, 1);
    Bytes const all_images = idx_file({0xffffffff, 28, 28}, some);
    for (std::string const& path :
         {folder.write("plain", all_images), folder.write("packed.gz", gzip_stored(all_images))})
        CHECK(holds(error_of_reading(path, 3), quoted(path) + " is cut off", "4294967295 x 28 x 28",
                    "calls for 3367254359296 bytes", "has 1016."));
    Bytes const all_labels = idx_file({0xffffffff}, some);
    for (std::string const& path :
         {folder.write("plain", all_labels), folder.write("packed.gz", gzip_stored(all_labels))})
        CHECK(holds(error_of_reading(path, 1), "calls for 4294967303 bytes", "has 1008."));
    for (Bytes const& file :
         {idx_file({0xffffffff, 0xffffffff, 0xffffffff}, some), idx_file({0x80000000, 0x80000000, 4}, some),
          idx_file({0x80000000, 0x80000000, 8}, some), idx_file({65536, 65536, 65536, 65536, 1, 1}, some)}) {
        for (std::string const& path : {folder.write("plain", file), folder.write("packed.gz", gzip_stored(file))})
            CHECK(holds(error_of_reading(path, 0), quoted(path) + " is damaged: its header claims",
                        "more than any file holds"));
    }
}

TEST_CASE("idx: a pipe, whose length nobody knows before its end") {
    TemporaryFolder const folder;
    Bytes const values = random_bytes(200'000, 3);
    std::string const file = folder.write("file", idx_file({200'000}, values));
    std::string const pipe = folder.path("pipe");
    REQUIRE(std::system(("mkfifo '" + pipe + "'").c_str()) == 0);
    REQUIRE(std::system(("cat '" + file + "' > '" + pipe + "' &").c_str()) == 0);
    CHECK(read_idx(pipe, 1).values == values);
    REQUIRE(std::system(("head -c 100000 '" + file + "' > '" + pipe + "' &").c_str()) == 0);
    CHECK(holds(error_of_reading(pipe, 1), "calls for 200008 bytes, the file has 100000."));
}
