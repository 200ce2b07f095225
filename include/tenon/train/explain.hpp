/// @file
/// Prints a trainer's planned step as a table.
#pragma once

#include <tenon/train/core.hpp>
#include <tenon/train/limits.hpp>

#if defined(__CUDACC__)
#include <tenon/cuda/explain.hpp>
#endif

#include <cstdio>
#include <string>

namespace tenon {

namespace detail {

TENON_COLD inline std::string shape_text(Dims const& shape) {
    std::string text = "[";
    for (int axis = 0; axis < shape.rank; ++axis) text += message({axis == 0 ? "" : " ", shape[axis]});
    return text + "]";
}

/// "conv2d + 1 pointwise + max_pool2d": the anchor, and how many elementary functions follow it.
template <class Kernel>
TENON_COLD std::string stage_text(graph::ProgramStage<Kernel> const& stage) {
    std::string text = stage.anchor == nullptr ? "pointwise" : stage.anchor;
    auto const add_functions = [&](int n) { text += n > 0 ? message({" + ", n, " pointwise"}) : std::string{}; };
    if (stage.companion != nullptr) text += std::string{" + "} + stage.companion;
    add_functions(stage.functions[0]);
    if (stage.pool != nullptr) text += std::string{" + "} + stage.pool;
    add_functions(stage.functions[1]);
    return text;
}

} // namespace detail

/// The plan of one full step: each stage with its layer, result shape, floating-point operations, bytes, the time that the
/// machine's peak and bandwidth would allow (on a CPU of the trainer's threads), and, for a trainer with Options::measure_stages,
/// the mean time it took. A stage that is part of the kernel before it, on a GPU, has its time there. Measuring the machine takes
/// about 0.2 s.
template <class Loss, class Optimizer, class Machine>
[[nodiscard]] TENON_COLD std::string explain(training::TrainerCore<Loss, Optimizer, Machine> const& trainer) {
    auto const& program = trainer.program();
    index_t const samples = program.capacity;
    training::Limits const limits = limits_of(trainer.machine());
    double const flops_per_second = limits.flops_per_second, bytes_per_second = limits.bytes_per_second;
    char line[256];
    std::string text;
    auto const add = [&](auto... values) {
        std::snprintf(line, sizeof line, values...);
        text += line;
    };
    add("step of %lld samples, %s, %.0f GFLOP/s, %.1f GB/s\n", static_cast<long long>(samples), limits.machine.c_str(), flops_per_second * 1e-9, bytes_per_second * 1e-9);
    add("%3s %-17s %-62s %-16s %10s %10s %9s %9s\n", "", "layer", "stage", "result", "kFLOP", "kB", "bound us", "took us");
    graph::Cost total;
    double bound_total = 0, took_total = 0;
    for (int s = 0; s < static_cast<int>(program.stages.size()); ++s) {
        auto const& stage = program.stages[static_cast<std::size_t>(s)];
        graph::Cost const& cost = stage.cost;
        double const compute = static_cast<double>(cost.flops) / flops_per_second, traffic = static_cast<double>(cost.bytes) / bytes_per_second;
        double const bound = 1e6 * (compute > traffic ? compute : traffic), took = 1e6 * trainer.stage_seconds(s);
        total += cost;
        bound_total += bound;
        took_total += took;
        add("%3d %-17s %-62s %-16s %10.1f %10.1f %9.2f ", s, trainer.layer_name(stage.layer).c_str(), detail::stage_text(stage).c_str(),
            detail::shape_text(stage.result).c_str(), 1e-3 * static_cast<double>(cost.flops), 1e-3 * static_cast<double>(cost.bytes), bound);
        if (took > 0) add("%9.2f\n", took);
        else if (!Machine::launches(stage)) add("%9s\n", "with it");
        else add("%9s\n", "-");
    }
    add("%3s %-17s %-62s %-16s %10.1f %10.1f %9.2f ", "", "", "total", "", 1e-3 * static_cast<double>(total.flops), 1e-3 * static_cast<double>(total.bytes), bound_total);
    if (took_total > 0) add("%9.2f\n", took_total);
    else add("%9s\n", "-");
    graph::Memory const& m = program.memory;
    add("arena %.1f kB: parameters %.1f, optimizer %.1f, activations %.1f (after reuse), other %.1f\n", 1e-3 * static_cast<double>(m.total), 1e-3 * static_cast<double>(m.parameters),
        1e-3 * static_cast<double>(m.optimizer_state), 1e-3 * static_cast<double>(m.activations), 1e-3 * static_cast<double>(m.other));
    return text;
}

} // namespace tenon
