// A program compiled without zlib: plain files are read, .gz is refused.
#undef TENON_HAS_ZLIB
#define TENON_HAS_ZLIB 0
#include "files.hpp"

#include <tenon/data/idx.hpp>

#include <doctest/doctest.h>

using namespace tenon::test;

TEST_CASE("zlib: without it .gz is refused, with the way out, and plain files are read") {
    TemporaryFolder const folder;
    CHECK(tenon::data::read_idx(folder.write("labels", idx_file({3}, {1, 0, 2})), 1).values == Bytes{1, 0, 2});
    std::string const path = folder.write("labels.gz", gzip_of_six_labels());
    std::string const error = error_of([&] { static_cast<void>(tenon::data::read_idx(path, 1)); });
    CHECK(holds(error, quoted(path) + " is packed with gzip", "compiled without it", "gunzip --keep '" + path + "'"));
}
