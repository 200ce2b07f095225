// zlib looked up at run time, which a program gets that is compiled without a word about zlib.
#undef TENON_HAS_ZLIB
#include "files.hpp"

#include <tenon/data/idx.hpp>

#include <doctest/doctest.h>

using namespace tenon::test;

#if TENON_LOADS_ZLIB

TEST_CASE("zlib: found at run time, and .gz read") {
    tenon::data::Zlib const zlib;
    REQUIRE(zlib.missing() == "");
    TemporaryFolder const folder;
    CHECK(tenon::data::read_idx(folder.write("labels.gz", gzip_of_six_labels()), 1).values == Bytes{1, 2, 3, 4, 5, 5});
}

TEST_CASE("zlib: not found, or not zlib: the file, the reason and two ways out are named") {
    TemporaryFolder const folder;
    std::string const path = folder.write("labels.gz", gzip_of_six_labels());
    auto const error_with = [&](char const* library) {
        return error_of([&] {
            tenon::data::File file(path);
            tenon::data::GzipReader const reader(file, library);
        });
    };
    CHECK(holds(error_with("libz-that-nobody-has.so.7"), quoted(path), "libz-that-nobody-has.so.7 cannot be loaded",
                "apt install zlib1g", "gunzip --keep '" + path + "'"));
    CHECK(holds(error_with("libc.so.6"), quoted(path), "libc.so.6 is not zlib"));
}

#endif
