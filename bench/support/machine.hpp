/// @file
/// What a figure depends on besides what it measures: the processor and the compiler.
#pragma once

#include <fstream>
#include <string>

namespace bench {

/// The processor as it calls itself, where the system tells; else "unknown".
inline std::string processor_name() {
    std::ifstream file{"/proc/cpuinfo"};
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("model name")) continue;
        std::size_t const begin = line.find_first_not_of(" \t", line.find(':') + 1);
        return begin == std::string::npos ? "unknown" : line.substr(begin);
    }
    return "unknown";
}

/// Name and version of the compiler that made this program.
inline std::string compiler_name() {
#if defined(__clang__)
    return "clang++ " __clang_version__;
#elif defined(__GNUC__)
    return "g++ " __VERSION__;
#else
    return "unknown";
#endif
}

} // namespace bench
