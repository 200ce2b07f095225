/// @file
/// The tables that a translated module registers: what the stand-in for libcudart finds kernels and variables by.
#pragma once

#include <cstddef>
#include <cstdint>

namespace emu {

struct Thread;

struct KernelParameter {
    std::uint32_t size = 0, align = 0;
};

struct SharedArray {
    char const* name = nullptr;
    std::uint32_t offset = 0, size = 0;
};

struct Kernel {
    char const* name = nullptr; ///< mangled
    void (*run)(Thread&, char* const* arguments) = nullptr;
    KernelParameter const* parameters = nullptr;
    std::uint32_t parameter_count = 0;
    SharedArray const* shared_arrays = nullptr;
    std::uint32_t shared_array_count = 0;
    std::uint32_t static_shared = 0; ///< bytes, as nvcc counts them
    std::uint32_t shared_extent = 0; ///< bytes, with the guards between the arrays
    std::uint32_t local_bytes = 0;
    std::uint32_t max_threads = 0; ///< of a block: __launch_bounds__
};

struct Variable {
    char const* name = nullptr;
    void* address = nullptr;
    std::size_t size = 0;
    bool is_constant = false;
};

struct ModuleTable {
    char const* name;
    std::uint64_t fingerprint; ///< of the PTX text: ties the translation to the host object's fatbin
    int arch;                  ///< 90 for sm_90
    char const* const* files;
    int file_count;
    Kernel const* kernels;
    std::size_t kernel_count;
    Variable const* variables;
    std::size_t variable_count;
};

void register_module(ModuleTable const&);

} // namespace emu
