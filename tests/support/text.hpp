/// @file
/// What tests ask of printed text.
#pragma once

#include <sstream>
#include <string>

namespace tenon::test {

/// How many lines of `text` hold `part`.
inline int lines_with(std::string const& text, std::string const& part) {
    int n = 0;
    std::istringstream stream{text};
    for (std::string line; std::getline(stream, line);) n += line.find(part) != std::string::npos;
    return n;
}

} // namespace tenon::test
