/// @file
/// Error messages put together from text and numbers. Not by `"text" + std::to_string(number)`: g++ 12 warns of that
/// without cause (-Wrestrict, at -O2), and long chains of it cost compile time.
#pragma once

#include <tenon/core/config.hpp>

#include <tenon/core/error.hpp>

#include <concepts>
#include <initializer_list>
#include <string>
#include <utility>

namespace tenon::data {

/// A piece of a message: text, or an integer.
struct MessagePart {
    std::string text;

    MessagePart(char const* part) : text(part) {}
    MessagePart(std::string part) : text(std::move(part)) {}
    template <std::integral Integer>
    MessagePart(Integer number) : text(std::to_string(number)) {}
};

/// The parts, one after the other.
[[nodiscard]] TENON_COLD inline std::string message(std::initializer_list<MessagePart> parts) {
    std::string whole;
    for (MessagePart const& part : parts) whole += part.text;
    return whole;
}

/// Raises tenon::Error with "data: " and the parts.
[[noreturn]] TENON_COLD inline void refuse(std::initializer_list<MessagePart> parts) { fail("data: " + message(parts)); }

} // namespace tenon::data
