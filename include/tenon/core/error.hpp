/// @file
/// The one exception type of the library, and the one way to raise it.
#pragma once

#include <tenon/core/config.hpp>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace tenon {

/// Whatever goes wrong at run time. `what()` says what failed, where, and what to do about it.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A piece of a message: text or a number. Messages are put together from a list of pieces rather than by
/// `"text" + std::to_string(number)`, of which g++ 12 warns without cause (-Wrestrict) and which costs compile time.
struct MessagePart {
    std::string text;

    MessagePart(char const* part) : text(part) {}            // NOLINT: the short form is the purpose
    MessagePart(std::string part) : text(std::move(part)) {} // NOLINT
    template <class Number>
        requires std::is_arithmetic_v<Number>
    MessagePart(Number number) : text(std::to_string(number)) {} // NOLINT
};

/// The parts, one after the other.
[[nodiscard]] TENON_COLD inline std::string message(std::initializer_list<MessagePart> parts) {
    std::string whole;
    for (MessagePart const& part : parts) whole += part.text;
    return whole;
}

/// Raises Error; with -fno-exceptions prints the message to stderr and aborts.
[[noreturn]] TENON_COLD inline void fail(std::string const& text) {
#if defined(__cpp_exceptions)
    throw Error{text};
#else
    std::fprintf(stderr, "tenon: %s\n", text.c_str());
    std::abort();
#endif
}
[[noreturn]] TENON_COLD inline void fail(std::initializer_list<MessagePart> parts) { fail(message(parts)); }

} // namespace tenon
