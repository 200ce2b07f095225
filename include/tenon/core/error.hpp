/// @file
/// The one exception type of the library, and the one way to raise it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace tenon {

/// Whatever goes wrong at run time. `what()` says what failed, where, and what to do about it.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Raises Error; with -fno-exceptions prints the message to stderr and aborts.
[[noreturn]] inline void fail(std::string const& message) {
#if defined(__cpp_exceptions)
    throw Error{message};
#else
    std::fprintf(stderr, "tenon: %s\n", message.c_str());
    std::abort();
#endif
}

} // namespace tenon
