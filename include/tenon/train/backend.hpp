/// @file
/// Where a trainer can run, as a type: what the trainer must know of a device beyond its machine.
#pragma once

#include <tenon/core/precision.hpp>
#include <tenon/cpu/machine.hpp>
#include <tenon/cpu/operations.hpp>

namespace tenon {

/// Where a trainer runs: this computer's processor.
struct Cpu {};

namespace training {

/// For a place to run: its Machine, the Device that graph::make_program takes, the Source that is compiled instead of a given one,
/// the number of samples side by side in memory for a batch, and what the machine is made of.
template <class Where>
struct Backend;

template <>
struct Backend<Cpu> {
    using Machine = cpu::Machine;
    using Device = cpu::Cpu;
    template <class Of, class Factors = float32>
    using Source = Of;

    static constexpr int lanes_for(index_t batch) { return cpu::lanes_for(batch); }

    /// @tparam Compiled the programs that will run
    template <class... Compiled>
    TENON_ALWAYS_INLINE static cpu::Machine::Setup setup(Cpu, int threads) {
        constexpr index_t scratch = (std::max)({cpu::Executor<Compiled>::scratch...});
        return {threads, scratch};
    }
};

/// Is there a backend for it?
template <class Where>
concept Place = requires { typename Backend<Where>::Machine; };

} // namespace training
} // namespace tenon
