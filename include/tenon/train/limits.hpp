/// @file
/// The limits of a machine, beside which explain() puts a plan.
#pragma once

#include <tenon/cpu/machine.hpp>
#include <tenon/cpu/roofline.hpp>

#include <string>

namespace tenon {
namespace training {

struct Limits {
    std::string machine;           ///< "2 threads"
    double flops_per_second = 0;
    double bytes_per_second = 0;   ///< read plus written
};

} // namespace training

namespace cpu {

/// What this computer allows to the machine's threads.
[[nodiscard]] inline training::Limits limits_of(Machine const& machine) {
    Roofline const roofline = measure_roofline();
    return {message({machine.threads(), " threads"}), roofline.flops * machine.threads(), roofline.copy_bandwidth};
}

} // namespace cpu
} // namespace tenon
