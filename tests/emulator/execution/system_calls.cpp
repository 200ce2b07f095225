// What CUDA's device library leaves to the driver: printf, assert, malloc.
#include "memory.hpp"
#include "report.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace emu::system_call {
namespace {

template <class T>
T argument(char const* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

/// One conversion of a format at a time, its argument aligned to its size in the buffer, as device code writes it.
std::string format_one(std::string const& conversion, char const*& from) {
    auto const take = [&](std::size_t size) {
        auto address = (reinterpret_cast<std::uintptr_t>(from) + size - 1) / size * size;
        from = reinterpret_cast<char const*>(address + size);
        return reinterpret_cast<char const*>(address);
    };
    char text[512];
    char const kind = conversion.back();
    bool const is_long = conversion.find('l') != std::string::npos || conversion.find('z') != std::string::npos;
    if (kind == 's') std::snprintf(text, sizeof text, conversion.c_str(), argument<char const*>(take(8)));
    else if (kind == 'p') std::snprintf(text, sizeof text, conversion.c_str(), argument<void*>(take(8)));
    else if (std::strchr("eEfFgGaA", kind))
        std::snprintf(text, sizeof text, conversion.c_str(), argument<double>(take(8)));
    else if (is_long) std::snprintf(text, sizeof text, conversion.c_str(), argument<long long>(take(8)));
    else std::snprintf(text, sizeof text, conversion.c_str(), argument<int>(take(4)));
    return text;
}

} // namespace

void vprintf(Thread&, Site, char* result, char* format, char* arguments) {
    char const* at = argument<char const*>(format);
    char const* from = argument<char const*>(arguments);
    std::string text;
    while (*at) {
        if (*at != '%') {
            text += *at++;
        } else if (at[1] == '%') {
            text += '%';
            at += 2;
        } else {
            std::size_t const length = std::strcspn(at + 1, "diouxXeEfFgGaAcsp") + 2;
            text += format_one(std::string(at, length), from);
            at += length;
        }
    }
    std::fputs(text.c_str(), stdout);
    int const count = static_cast<int>(text.size());
    std::memcpy(result, &count, sizeof count);
}

void assertfail(Thread& t, Site site, char* message, char* file, char* line, char* function, char*) {
    fail(state_of(t), Fault::assertion,
         std::string("assertion failed: ") + argument<char const*>(message) + " (" + argument<char const*>(file) + ":" +
             std::to_string(argument<std::uint32_t>(line)) + ", " + argument<char const*>(function) + ")",
         site);
}

void malloc(Thread& t, Site site, char*, char*) {
    fail(state_of(t), Fault::other, "malloc in a kernel is not emulated", site);
}

void free(Thread& t, Site site, char*) { fail(state_of(t), Fault::other, "free in a kernel is not emulated", site); }

} // namespace emu::system_call
