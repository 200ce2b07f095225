#include "failures.hpp"
#include "call.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace emu {
namespace {

constexpr char const* names[] = {"launch", "kernel", "allocation"};
constexpr int kinds = static_cast<int>(Failing::kinds);

/// Until the one that fails; 0: none will.
struct Countdowns {
    long long left[kinds]{};

    bool set(char const* what) {
        for (int k = 0; k < kinds; ++k) left[k] = 0;
        if (*what == 0) return true;
        for (int k = 0; k < kinds; ++k) {
            std::size_t const length = std::strlen(names[k]);
            if (std::strncmp(what, names[k], length) != 0 || what[length] != ':') continue;
            char* end = nullptr;
            left[k] = std::strtoll(what + length + 1, &end, 10);
            return *end == 0 && left[k] > 0;
        }
        return false;
    }
};

Countdowns& countdowns() {
    static Countdowns all = [] {
        Countdowns read;
        if (char const* const what = std::getenv("EMU_FAIL"); what != nullptr && !read.set(what)) {
            std::fprintf(stderr, "tenon emulator: EMU_FAIL=%s: expected launch:N, kernel:N or allocation:N\n", what);
            std::exit(2);
        }
        return read;
    }();
    return all;
}

} // namespace

bool fails(Failing what) {
    std::lock_guard<std::recursive_mutex> const lock(runtime_lock());
    long long& left = countdowns().left[static_cast<int>(what)];
    return left > 0 && --left == 0;
}

} // namespace emu

extern "C" bool emu_fail(char const* what) {
    std::lock_guard<std::recursive_mutex> const lock(emu::runtime_lock());
    return emu::countdowns().set(what);
}
