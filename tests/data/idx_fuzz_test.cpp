// Random damage to IDX files: whatever the bytes, reading gives a consistent result or a tenon::Error that names the
// file. Under AddressSanitizer and UBSan this looks for more; TENON_FUZZ_ROUNDS=1000000 in the environment goes on for
// longer.
#include "files.hpp"

#include <tenon/core/random.hpp>
#include <tenon/data/idx.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>

using namespace tenon::test;

namespace {

/// Numbers for one round.
class Numbers {
public:
    explicit Numbers(std::uint64_t round) : source_{round} {}
    std::size_t below(std::size_t limit) { return tenon::random_bits(source_, element_++) % limit; }

private:
    tenon::RandomSource source_;
    std::uint64_t element_ = 0;
};

Bytes damaged(Bytes bytes, Numbers& numbers) {
    std::uint8_t const telling[] = {0, 1, 0x7f, 0x80, 0xff, 3, 8, 0x1f, 0x8b};
    for (std::size_t change = 0, changes = 1 + numbers.below(4); change < changes && !bytes.empty(); ++change) {
        // Half of the changes hit the front, where the headers are.
        std::size_t const at =
            numbers.below(numbers.below(2) == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 24));
        auto const place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
        switch (numbers.below(6)) {
        case 0: *place = static_cast<std::uint8_t>(*place ^ 1 << numbers.below(8)); break;
        case 1: *place = telling[numbers.below(sizeof telling)]; break;
        case 2: *place = static_cast<std::uint8_t>(numbers.below(256)); break;
        case 3: bytes.erase(place, place + static_cast<std::ptrdiff_t>(1 + numbers.below(bytes.size() - at))); break;
        case 4: bytes.insert(place, numbers.below(40), static_cast<std::uint8_t>(numbers.below(256))); break;
        default: { // a piece of the file once more
            std::size_t const from = numbers.below(bytes.size());
            Bytes const piece(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                              bytes.begin() + static_cast<std::ptrdiff_t>(from + numbers.below(bytes.size() - from)));
            bytes.insert(place, piece.begin(), piece.end());
        }
        }
    }
    return bytes;
}

} // namespace

TEST_CASE("idx: random damage ends in a consistent result or in an error that names the file") {
    TemporaryFolder const folder;
    Bytes values(200);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<std::uint8_t>(tenon::random_bits({7}, i) >> 24);
    Bytes const images = idx_file({8, 5, 5}, values);
    Bytes const originals[] = {images, gzip_stored(images), gzip_stored(images, 64),
                               gzip_stored(first_bytes(images, 30)) + gzip_stored({images.begin() + 30, images.end()}),
                               gzip_of_six_labels()};

    char const* const setting = std::getenv("TENON_FUZZ_ROUNDS");
    std::uint64_t const rounds = setting != nullptr ? std::strtoull(setting, nullptr, 10) : 3000;
    std::uint64_t accepted = 0, refused = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        Numbers numbers(round);
        std::size_t const which = numbers.below(std::size(originals));
        Bytes const file = damaged(originals[which], numbers);
        std::string const path = folder.write("file", file);
        std::string const error = error_of([&] {
            tenon::data::Idx const idx = tenon::data::read_idx(path, static_cast<int>(numbers.below(4)));
            ++accepted;
            std::size_t const count = static_cast<std::size_t>(idx.dims.count());
            if (idx.values.size() != count)
                FAIL("round " << round << ": " << idx.values.size() << " values for extents of " << count);
            // A plain file is accepted as what it says, byte for byte; a packed one only as it was, because of its
            // checksum.
            bool const packed = file[0] == 0x1f;
            Bytes const labels = {1, 2, 3, 4, 5, 5};
            Bytes const& before = which == 4 ? labels : values;
            if (idx.values != (packed ? before : Bytes(file.end() - static_cast<std::ptrdiff_t>(count), file.end())))
                FAIL("round " << round << ": values that are not the file's");
        });
        if (error.empty()) continue;
        ++refused;
        if (!holds(error, quoted(path))) FAIL("round " << round << ": " << error);
    }
    CHECK(accepted + refused == rounds);
    // Both happen: a fuzz that always fails, or never, would test nothing.
    CHECK(accepted > rounds / 50);
    CHECK(refused > rounds / 2);
}
