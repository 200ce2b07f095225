/// @file
/// Messages: what happened, in which kernel, block and thread, and where in the source.
#pragma once

#include "grid.hpp"

#include <string>

namespace emu {

std::string demangle(char const* name);
std::string describe(Site, ModuleTable const*);
/// "shared memory", "array sa of kernel ..." and the like, for an offset into the block's shared memory.
std::string describe_shared(Block const&, std::uint32_t offset);

/// Reports a fault of the running thread; ends the program, or the grid (EMU_ON_FAULT=error).
[[noreturn]] void fail(ThreadState&, Fault, std::string const& message, Site);
/// A fault of the whole block, found by the scheduler.
void report_block(Block const&, std::string const& message);
/// Host code asked for something that cannot be right; the call also returns an error.
void warn(std::string const& message);
/// The emulator cannot go on.
[[noreturn]] void give_up(std::string const& message);

/// While a grid runs: a segmentation fault is reported with the thread that made it.
class CrashReports {
public:
    CrashReports();
    ~CrashReports();
    CrashReports(CrashReports const&) = delete;
    CrashReports& operator=(CrashReports const&) = delete;
};

} // namespace emu
