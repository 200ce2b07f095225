/// @file
/// The one exception type of the library, and the one way to raise it.
#pragma once

#include <tenon/core/config.hpp>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tenon {

/// Whatever goes wrong at run time. `what()` says what failed, where, and what to do about it.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A piece of a message: text or a number, as it is, so that where a message may arise costs a few instructions. Lives no longer
/// than the expression it stands in.
class MessagePart {
public:
    MessagePart(char const* part) : text_(part) {}        // NOLINT: the short form is the purpose
    MessagePart(std::string const& part) : text_(part) {} // NOLINT
    template <class Number>
        requires std::is_arithmetic_v<Number>
    MessagePart(Number number) : kind_(kind_of<Number>()) { // NOLINT
        if constexpr (std::is_floating_point_v<Number>) real_ = static_cast<double>(number);
        else whole_ = static_cast<long long>(number);
    }

    TENON_COLD void append_to(std::string& whole) const {
        switch (kind_) {
        case Kind::text: whole += text_; return;
        case Kind::real: whole += std::to_string(real_); return;
        case Kind::natural: whole += std::to_string(static_cast<unsigned long long>(whole_)); return;
        case Kind::integer: whole += std::to_string(whole_); return;
        }
    }

private:
    enum class Kind : unsigned char { text, real, natural, integer };

    template <class Number>
    static constexpr Kind kind_of() {
        if (std::is_floating_point_v<Number>) return Kind::real;
        return std::is_unsigned_v<Number> ? Kind::natural : Kind::integer;
    }

    std::string_view text_;
    long long whole_ = 0;
    double real_ = 0;
    Kind kind_ = Kind::text;
};

/// The parts, one after the other. Preferred to `"text" + std::to_string(number)`, of which g++ 12 warns without cause (-Wrestrict)
/// and which costs compile time.
[[nodiscard]] TENON_COLD inline std::string message(std::initializer_list<MessagePart> parts) {
    std::string whole;
    for (MessagePart const& part : parts) part.append_to(whole);
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
