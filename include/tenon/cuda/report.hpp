/// @file
/// What there is to compute on, as text for a user to read or to report: devices, driver, this program's code, and whether a plan
/// fits. Nothing is allocated for it.
#pragma once

#include <tenon/cuda/device.hpp>
#include <tenon/graph/plan.hpp>

#include <cstdio>
#include <cstdlib>

namespace tenon::cuda {

/// "  activations                      1234567 bytes\n"
[[nodiscard]] inline std::string line_of_memory(char const* what, index_t bytes) {
    char line[96];
    std::snprintf(line, sizeof line, "  %-28s %14lld bytes\n", what, static_cast<long long>(bytes));
    return line;
}

/// The parts of a plan, a line each.
[[nodiscard]] inline std::string describe_memory(graph::Memory const& plan) {
    return line_of_memory("parameters", plan.parameters) + line_of_memory("optimiser state", plan.optimizer_state) +
           line_of_memory("activations", plan.activations) + line_of_memory("input, labels, settings", plan.other);
}

namespace detail {

[[nodiscard]] inline std::string describe_device(DeviceInfo const& d) {
    char text[640];
    std::snprintf(text, sizeof text,
                  "device %d: %s\n"
                  "  compute capability %d.%d, %d multiprocessors, %lld KiB shared memory a block\n"
                  "  memory: %.2f of %.2f GiB free\n"
                  "  tensor cores: %s\n",
                  d.number, d.name.c_str(), d.major, d.minor, d.multiprocessors, static_cast<long long>(d.shared_per_block / 1024),
                  static_cast<double>(d.free) / 0x1p30, static_cast<double>(d.total) / 0x1p30, d.tensor_types());
    std::string const code = d.usable() ? message({"this program has code for it (compute capability ", d.code / 10, ".", d.code % 10,
                                                   ", from PTX of ", d.ptx / 10, ".", d.ptx % 10, ")"})
                                        : d.obstacle;
    return std::string{text} + "  code: " + code + "\n";
}

[[nodiscard]] inline std::string report(graph::Memory const* plan) {
    int driver = 0, runtime = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    std::string text = "CUDA runtime " + version_text(runtime) + ", driver for CUDA " + (driver == 0 ? std::string{"(none)"} : version_text(driver));
    if (char const* const visible = std::getenv("CUDA_VISIBLE_DEVICES")) text += std::string{", CUDA_VISIBLE_DEVICES="} + visible;
    text += "\n";
    if (std::optional<std::string> const reason = obstacle()) return text + *reason + "\n";
    std::vector<DeviceInfo> const all = devices();
    DeviceInfo const* const taken = most_free(all);
    for (DeviceInfo const& d : all) {
        text += describe_device(d);
        if (plan != nullptr) text += message({"  plan: ", plan->total, " bytes, ", plan->total <= d.free ? "fits" : "does not fit", "\n"});
        if (&d == taken && all.size() > 1) text += "  taken unless another is named: the most free memory\n";
    }
    if (plan != nullptr) text += "the plan\n" + describe_memory(*plan);
    return text;
}

} // namespace detail

/// The driver, the runtime, and each GPU that this process may use: name, compute capability, multiprocessors, memory, what its
/// tensor cores multiply, whether this program has code for it. Where there is none: why. Never fails for want of a GPU.
[[nodiscard]] inline std::string device_report() { return detail::report(nullptr); }

/// The same, with the memory of a plan beside what is free: `device_report(decltype(trainer)::memory)`. A trainer takes a little more:
/// losses of past steps and batches in waiting.
[[nodiscard]] inline std::string device_report(graph::Memory const& plan) { return detail::report(&plan); }

} // namespace tenon::cuda
