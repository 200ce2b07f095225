#include "settings.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace emu {
namespace {

/// The index of the variable's value among `choices`; 0 where it is not set. A misspelt value must not pass for the
/// default.
int choice(char const* name, char const* first, char const* second) {
    char const* const value = std::getenv(name);
    if (value == nullptr || *value == 0 || std::strcmp(value, first) == 0) return 0;
    if (std::strcmp(value, second) == 0) return 1;
    std::fprintf(stderr, "tenon emulator: %s=%s: expected %s or %s\n", name, value, first, second);
    std::exit(2);
}

long long number(char const* name, long long otherwise) {
    char const* const value = std::getenv(name);
    if (value == nullptr || *value == 0) return otherwise;
    char* end = nullptr;
    long long result = std::strtoll(value, &end, 10);
    switch (*end) {
    case 'G': result <<= 10; [[fallthrough]];
    case 'M': result <<= 10; [[fallthrough]];
    case 'K':
        result <<= 10;
        ++end;
        break;
    default: break;
    }
    if (end == value || *end != 0 || result < 0) {
        std::fprintf(stderr, "tenon emulator: %s=%s: expected a number\n", name, value);
        std::exit(2);
    }
    return result;
}

void read_order(Settings& s) {
    char const* const value = std::getenv("EMU_ORDER");
    if (value == nullptr || *value == 0 || std::strcmp(value, "asc") == 0) return;
    if (std::strcmp(value, "desc") == 0) {
        s.order = ThreadOrder::descending;
    } else if (std::strncmp(value, "rand", 4) == 0 && (value[4] == 0 || value[4] == ':')) {
        s.order = ThreadOrder::random;
        // Seeds that differ in one bit must not give similar streams.
        s.seed = 0x9e3779b97f4a7c15ull * (2 * (value[4] ? std::strtoull(value + 5, nullptr, 10) : 0) + 1);
    } else {
        std::fprintf(stderr, "tenon emulator: EMU_ORDER=%s: expected asc, desc or rand:N\n", value);
        std::exit(2);
    }
}

Settings read() {
    Settings s;
    read_order(s);
    s.lazy_streams = choice("EMU_STREAMS", "eager", "lazy") == 1;
    s.abort_on_fault = choice("EMU_ON_FAULT", "abort", "error") == 0;
    s.allow_early_exit = choice("EMU_EARLY_EXIT", "error", "allow") == 1;
    s.report_unwritten = choice("EMU_UNWRITTEN", "allow", "report") == 1;
    s.report_races = choice("EMU_RACES", "report", "allow") == 0;
    s.device_count = static_cast<int>(number("EMU_DEVICES", s.device_count));
    s.arch = static_cast<int>(number("EMU_ARCH", s.arch));
    s.multiprocessors = static_cast<int>(number("EMU_MULTIPROCESSORS", s.multiprocessors));
    s.device_memory = static_cast<std::size_t>(number("EMU_MEMORY", static_cast<long long>(s.device_memory)));
    char const* const driver = std::getenv("EMU_DRIVER");
    s.driver_version =
        driver && std::strcmp(driver, "none") == 0 ? 0 : static_cast<int>(number("EMU_DRIVER", s.driver_version));
    return s;
}

} // namespace

Settings const& settings() {
    static Settings const s = read();
    return s;
}

} // namespace emu
