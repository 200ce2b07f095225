/// @file
/// What explain() must know of a GPU.
#pragma once

#include <tenon/cuda/machine.hpp>
#include <tenon/cuda/roofline.hpp>
#include <tenon/train/limits.hpp>

namespace tenon::cuda {

/// What the trainer's GPU allows, measured on the trainer's stream.
[[nodiscard]] inline training::Limits limits_of(Machine const& machine) {
    training::Limits limits;
    machine.with_device([&] {
        cudaDeviceProp properties{};
        check(cudaGetDeviceProperties(&properties, machine.device()), "asking for the properties of device", machine.device());
        Roofline const roofline = measure_roofline(properties.multiProcessorCount, machine.stream());
        limits = {message({"device ", machine.device(), " (", properties.name, "), float"}), roofline.flops, roofline.copy_bandwidth};
    });
    return limits;
}

} // namespace tenon::cuda
