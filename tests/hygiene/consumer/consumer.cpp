// Uses the library as found by CMake, threads and zlib included.
#include <tenon/core/dims.hpp>

#include <thread>

#ifdef TENON_HAS_ZLIB
#include <zlib.h>
#endif

static_assert(__cplusplus >= 202002L);

int main() {
    int wrong = 1;
    std::thread{[&] { wrong = tenon::Dims{2, 3}.count() == 6 ? 0 : 1; }}.join();
#ifdef TENON_HAS_ZLIB
    wrong += zlibVersion()[0] == ZLIB_VERSION[0] ? 0 : 1;
#endif
    return wrong;
}
