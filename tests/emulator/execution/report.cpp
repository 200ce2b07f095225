#include "report.hpp"
#include "memory.hpp"
#include "sanitizer.hpp"
#include "settings.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <unistd.h>

namespace emu {
namespace {

std::string coordinates(std::uint32_t const* v) {
    return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) + ")";
}

void print(std::string const& text) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", text.c_str());
    std::fflush(stderr);
}

std::string heading(Block const& block) {
    return "  kernel " + demangle(block.grid->request.kernel->name) + ", launch " + std::to_string(block.grid->number);
}

struct sigaction previous_handler;

/// Not safe in every state of the program, but it is about to end, and the message is what its author needs.
void on_crash(int signal, siginfo_t* info, void*) {
    sigaction(signal, &previous_handler, nullptr);
    void const* const address = info->si_addr;
    std::string message = "memory fault at address " + std::to_string(reinterpret_cast<std::uintptr_t>(address));
    if (ThreadState const* t = current_thread()) {
        if (t->fiber.owns(address)) message = "stack overflow (a thread has 256 KiB of local memory)";
        print("tenon emulator: ERROR: " + message + "\n" + heading(*t->block) + "\n  block " + coordinates(t->ctaid) +
              " thread " + coordinates(t->tid) + "\n  build with --mode checked to learn where");
    } else if (heap().in_device_range(address)) {
        print("tenon emulator: ERROR: host code touches device memory");
    }
}

/// The handler needs a stack of its own where the fiber's has overflowed.
void install_handler(struct sigaction* previous) {
    static char stack[65536];
    stack_t alternative{};
    alternative.ss_sp = stack;
    alternative.ss_size = sizeof stack;
    sigaltstack(&alternative, nullptr);
    struct sigaction action {};
    action.sa_sigaction = &on_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, previous);
}

#if defined(EMU_CHECKED)
/// Device memory is closed to the host: say so where a test has no handler of its own.
[[gnu::constructor]] void watch_host() {
    if (!sanitizer::address_sanitizer() && !sanitizer::thread_sanitizer()) install_handler(&previous_handler);
}
#endif

} // namespace

std::string demangle(char const* name) {
    int status = 0;
    std::unique_ptr<char, void (*)(void*)> const readable(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                          &std::free);
    return status == 0 ? readable.get() : name;
}

std::string describe(Site site, ModuleTable const* module) {
    std::string text;
    if (site.line() && module && site.file() < module->file_count)
        text = std::string(module->files[site.file()]) + ":" + std::to_string(site.line()) + " ";
    return text + "(PTX line " + std::to_string(site.ptx_line()) + ")";
}

std::string describe_shared(Block const& block, std::uint32_t offset) {
    Kernel const& kernel = *block.grid->request.kernel;
    SharedArray const* before = nullptr;
    for (std::uint32_t i = 0; i < kernel.shared_array_count; ++i)
        if (kernel.shared_arrays[i].offset <= offset) before = &kernel.shared_arrays[i];
    std::uint32_t const dynamic = block.threads.front().dynamic_shared;
    if (offset >= dynamic && block.threads.front().dynamic_shared_bytes)
        return "byte " + std::to_string(offset - dynamic) + " of dynamic shared memory (" +
               std::to_string(block.threads.front().dynamic_shared_bytes) + " bytes)";
    if (!before)
        return "offset " + std::to_string(offset) + " of shared memory (" + std::to_string(block.shared_bytes) +
               " bytes)";
    return "byte " + std::to_string(offset - before->offset) + " of the shared array " + demangle(before->name) + " (" +
           std::to_string(before->size) + " bytes)";
}

void fail(ThreadState& t, Fault fault, std::string const& message, Site site) {
    Grid& grid = *t.block->grid;
    print("tenon emulator: ERROR: " + message + "\n" + heading(*t.block) + "\n  block " + coordinates(t.ctaid) +
          " thread " + coordinates(t.tid) + "\n  at " + describe(site, grid.request.module));
    if (settings().abort_on_fault) std::abort();
    grid.fault = fault;
    t.fiber.suspend(); // the scheduler sees the fault and abandons the grid
    std::abort();
}

void report_block(Block const& block, std::string const& message) {
    print("tenon emulator: ERROR: " + message + "\n" + heading(block) + "\n  block " +
          coordinates(block.threads.front().ctaid));
    if (settings().abort_on_fault) std::abort();
}

void warn(std::string const& message) { print("tenon emulator: " + message); }

void give_up(std::string const& message) {
    print("tenon emulator: " + message);
    std::abort();
}

CrashReports::CrashReports() {
    if (!sanitizer::address_sanitizer() && !sanitizer::thread_sanitizer()) install_handler(&previous_handler);
}

CrashReports::~CrashReports() {
    if (!sanitizer::address_sanitizer() && !sanitizer::thread_sanitizer())
        sigaction(SIGSEGV, &previous_handler, nullptr);
}

// ---- faults that translated code finds by itself

void bad_shared_address(Thread& t, std::uint32_t offset, std::uint32_t size, Site site) {
    fail(state_of(t), Fault::illegal_address,
         std::to_string(size) + " bytes at " + describe_shared(*state_of(t).block, offset) +
             ": past the end of the block's shared memory",
         site);
}

void bad_alignment(Thread& t, std::uint64_t address, std::uint32_t size, Site site) {
    fail(state_of(t), Fault::misaligned_address,
         "an access of " + std::to_string(size) + " bytes at an address that is no multiple of " +
             std::to_string(size) + " (" + std::to_string(address) + ")",
         site);
}

void bad_branch(Thread& t, Site site) {
    fail(state_of(t), Fault::other, "brx.idx: the index is past the end of the table of targets", site);
}

void trap(Thread& t, Site site) { fail(state_of(t), Fault::trap, "trap", site); }

} // namespace emu
