/// @file
/// What environment variables choose (README.md lists them), read once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace emu {

enum class ThreadOrder { ascending, descending, random };

struct Settings {
    ThreadOrder order = ThreadOrder::ascending; ///< EMU_ORDER = asc | desc | rand:N
    std::uint64_t seed = 1;
    bool lazy_streams = false;     ///< EMU_STREAMS = eager | lazy
    bool abort_on_fault = true;    ///< EMU_ON_FAULT = abort | error
    bool allow_early_exit = false; ///< EMU_EARLY_EXIT = error | allow
    /// EMU_UNWRITTEN = allow | report (checked build). Not by default: nvcc hoists loads of shared memory out of
    /// branches, and what it then reads too early is not used.
    bool report_unwritten = false;
    bool report_races = true;   ///< EMU_RACES = report | allow (checked build)
    int device_count = 1;       ///< EMU_DEVICES
    int arch = 0;               ///< EMU_ARCH: compute capability, 75 ... 120; 0: that of the program's code
    int multiprocessors = 8;    ///< EMU_MULTIPROCESSORS
    int driver_version = 13000; ///< EMU_DRIVER = none | 12040 ...
    std::size_t device_memory = std::size_t{8} << 30; ///< EMU_MEMORY: bytes, with K, M or G
};

Settings const& settings();

} // namespace emu
