#include "registry.hpp"

#include <cstring>

namespace emu {
namespace {

std::vector<ModuleTable const*>& registered() {
    static std::vector<ModuleTable const*>* const list =
        new std::vector<ModuleTable const*>; // before any constructor, after any destructor
    return *list;
}

} // namespace

void register_module(ModuleTable const& module) { registered().push_back(&module); }

std::vector<ModuleTable const*> const& modules() { return registered(); }

ModuleTable const* find_module(std::uint64_t fingerprint) {
    for (ModuleTable const* module : registered())
        if (module->fingerprint == fingerprint) return module;
    return nullptr;
}

Kernel const* find_kernel(ModuleTable const& module, char const* name) {
    for (std::size_t i = 0; i < module.kernel_count; ++i)
        if (std::strcmp(module.kernels[i].name, name) == 0) return &module.kernels[i];
    return nullptr;
}

Variable const* find_variable(ModuleTable const& module, char const* name) {
    for (std::size_t i = 0; i < module.variable_count; ++i)
        if (std::strcmp(module.variables[i].name, name) == 0) return &module.variables[i];
    return nullptr;
}

Variable const* find_variable(void const* address, std::size_t size) {
    auto const at = reinterpret_cast<std::uintptr_t>(address);
    for (ModuleTable const* module : registered())
        for (std::size_t i = 0; i < module->variable_count; ++i) {
            Variable const& v = module->variables[i];
            auto const begin = reinterpret_cast<std::uintptr_t>(v.address);
            if (at >= begin && at + size <= begin + v.size) return &v;
        }
    return nullptr;
}

std::uint64_t fingerprint(char const* text, std::size_t size) {
    std::uint64_t value = 0xcbf29ce484222325ull;
    for (std::size_t i = 0; i < size; ++i) value = (value ^ static_cast<unsigned char>(text[i])) * 0x100000001b3ull;
    return value;
}

} // namespace emu
