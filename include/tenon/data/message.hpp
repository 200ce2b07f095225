/// @file
/// How this part of the library refuses what it is given.
#pragma once

#include <tenon/core/config.hpp>

#include <tenon/core/error.hpp>


namespace tenon::data {

/// Raises tenon::Error with "data: " and the parts.
[[noreturn]] TENON_COLD inline void refuse(std::initializer_list<MessagePart> parts) { fail("data: " + message(parts)); }

} // namespace tenon::data
