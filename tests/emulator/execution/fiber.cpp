#include "fiber.hpp"
#include "sanitizer.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <vector>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(begin, end) 0
#endif

namespace emu {
namespace {

// A switch saves the registers that a called function must preserve and changes the stack: about 2 ns, where
// swapcontext makes two system calls.
#if defined(__x86_64__)
constexpr int saved_registers = 6;
__attribute__((naked, noinline)) void switch_stack(void** /*save*/, void* /*load*/) {
    asm("pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
        "movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
        "popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret");
}
#else
#error "the emulator's fibers are written for x86-64: add switch_stack for this processor"
#endif

constexpr std::size_t guard_bytes = 4096;

struct SchedulerSide {
    void* stack_pointer = nullptr;
    void* race_detector = nullptr;
    void* fake_stack = nullptr;
    void const* bottom = nullptr;
    std::size_t size = 0;
};
thread_local SchedulerSide scheduler;
thread_local Fiber* current = nullptr;
thread_local std::vector<char*> free_stacks;

char* take_stack() {
    if (!free_stacks.empty()) {
        char* const stack = free_stacks.back();
        free_stacks.pop_back();
        sanitizer::allow(stack + guard_bytes, Fiber::stack_bytes - guard_bytes);
        return stack;
    }
    void* const memory =
        mmap(nullptr, Fiber::stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        std::fprintf(
            stderr,
            "tenon emulator: no memory for another thread's stack (too many threads in one cooperative launch?)\n");
        std::abort();
    }
    mprotect(memory, guard_bytes, PROT_NONE);
    (void)VALGRIND_STACK_REGISTER(static_cast<char*>(memory) + guard_bytes,
                                  static_cast<char*>(memory) + Fiber::stack_bytes);
    return static_cast<char*>(memory);
}

} // namespace

void Fiber::start(void (*entry)(void*), void* argument) {
    entry_ = entry;
    argument_ = argument;
    if (stack_ == nullptr) stack_ = take_stack();
    fake_stack_ = nullptr;
    if (__tsan_create_fiber && race_detector_ == nullptr) race_detector_ = __tsan_create_fiber(0);
    // The frame that switch_stack pops: the saved registers, then `enter` as the return address. The null above it
    // keeps the stack aligned as after a call and ends a debugger's walk.
    void** top = reinterpret_cast<void**>(stack_ + stack_bytes - 64);
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(&Fiber::enter);
    top -= saved_registers;
    std::memset(static_cast<void*>(top), 0, saved_registers * sizeof(void*));
    stack_pointer_ = top;
}

void Fiber::enter() {
    if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(nullptr, &scheduler.bottom, &scheduler.size);
    current->entry_(current->argument_);
    std::abort();
}

void Fiber::resume() {
    current = this;
    if (__tsan_get_current_fiber) scheduler.race_detector = __tsan_get_current_fiber();
    if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(&scheduler.fake_stack, stack_, stack_bytes);
    if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(race_detector_, 1); // 1: a switch orders nothing
    switch_stack(&scheduler.stack_pointer, stack_pointer_);
    if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(scheduler.fake_stack, nullptr, nullptr);
    current = nullptr;
}

void Fiber::leave(bool for_good) {
    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack_, scheduler.bottom, scheduler.size);
    if (__tsan_switch_to_fiber) __tsan_switch_to_fiber(scheduler.race_detector, 1);
    switch_stack(&stack_pointer_, scheduler.stack_pointer);
    if (__sanitizer_finish_switch_fiber) __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
}

void Fiber::suspend() { leave(false); }

void Fiber::finish() {
    leave(true);
    std::abort();
}

void Fiber::publish(void* object) {
    if (!__tsan_switch_to_fiber || race_detector_ == nullptr) return;
    void* const self = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(race_detector_, 1);
    __tsan_release(object);
    __tsan_switch_to_fiber(self, 1);
}

void Fiber::release() {
    if (race_detector_ && __tsan_destroy_fiber) __tsan_destroy_fiber(race_detector_);
    race_detector_ = nullptr;
    if (stack_) free_stacks.push_back(stack_);
    stack_ = nullptr;
}

} // namespace emu
