/// @file
/// Fibers: stacks that one operating-system thread switches between. One carries one CUDA thread.
#pragma once

#include <cstddef>

namespace emu {

class Fiber {
public:
    static constexpr std::size_t stack_bytes = std::size_t{256} << 10;

    /// Prepares to run entry(argument) on a stack of its own; `entry` ends by calling finish(), and never returns.
    void start(void (*entry)(void*), void* argument);

    /// Scheduler: runs the fiber until it suspends or finishes.
    void resume();

    /// Fiber: back to the scheduler.
    void suspend();
    [[noreturn]] void finish();

    /// Gives the stack back. The fiber is finished, or is abandoned where it stands.
    void release();

    bool owns(void const* address) const {
        return address >= stack_ && address < static_cast<char const*>(stack_) + stack_bytes;
    }

    /// ThreadSanitizer: orders everything that this fiber did before what the scheduler does after acquiring `object`.
    void publish(void* object);

private:
    static void enter();
    void leave(bool for_good);

    char* stack_ = nullptr;
    void* stack_pointer_ = nullptr;
    void (*entry_)(void*) = nullptr;
    void* argument_ = nullptr;
    void* race_detector_ = nullptr; // ThreadSanitizer's record of this fiber
    void* fake_stack_ = nullptr;    // AddressSanitizer's
};

} // namespace emu
