/// @file
/// What a trainer's or predictor's programs need on the device, in one allocation, and what stands in the way of having it.
#pragma once

#include <tenon/cuda/device.hpp>
#include <tenon/cuda/report.hpp>
#include <tenon/cuda/sources.hpp>

#include <algorithm>

namespace tenon::cuda {

/// Where everything lies in that allocation, in bytes: the programs' plans on one another, and behind them what kernels share and what
/// the host tells steps.
struct Layout {
    using Program = graph::Program<WaveKernel>;

    index_t total = 0;
    index_t plan = 0;       ///< of it, the larger program's
    index_t arrivals = 0, counters = 0, counter_bytes = 0; ///< counted blocks of each stage, and the jobs' own counters right behind
    index_t partial = 0;    ///< sums of blocks that share one
    index_t journal = 0;
    Sources sources[2];     ///< of each program
    index_t host_bytes = 0; ///< the same sources in page-locked memory
    index_t host_begin[2]{};
    int least_architecture = 0; ///< the least compute capability, as 80 for 8.0

    /// @param programs training and inference, or inference alone  @param steps the most of a launch
    Layout(std::vector<Program const*> const& programs, int steps) {
        auto const append = [this](index_t bytes) {
            index_t const at = (total + 255) / 256 * 256;
            total = at + bytes;
            return at;
        };
        detail::Workspace most;
        for (Program const* program : programs) {
            plan = (std::max)(plan, program->memory.total);
            detail::Workspace const needed = detail::largest_workspace(*program);
            most.counters = (std::max)(most.counters, needed.counters);
            most.partial_floats = (std::max)(most.partial_floats, needed.partial_floats);
            for (auto const& stage : program->stages) least_architecture = (std::max)(least_architecture, stage.kernel.least_architecture);
        }
        (void)append(plan);
        counter_bytes = (max_stages + most.counters) * index_t{sizeof(unsigned)};
        arrivals = append(counter_bytes);
        counters = arrivals + max_stages * index_t{sizeof(unsigned)};
        partial = append(most.partial_floats * index_t{sizeof(float)});
        journal = append(index_t{sizeof(Journal)});
        for (std::size_t p = 0; p < programs.size(); ++p) {
            bool const trains = p == 0 && programs.size() > 1;
            sources[p] = Sources{*programs[p], append(0), trains ? steps + 1 : 1, trains ? 2 : 1};
            (void)append(sources[p].bytes());
            host_begin[p] = host_bytes;
            host_bytes += sources[p].blocks() * sources[p].block_bytes() + sources[p].batch_bytes();
        }
    }

    /// "the plan needs 4194304 bytes; of device 0's 8589934592 bytes 1048576 are free"
    [[nodiscard]] std::string describe_shortage(int device, MemoryInfo const& memory) const {
        return message({"the plan needs ", total, " bytes; of device ", device, "'s ", memory.total, " bytes ", memory.free, " are free"});
    }
    /// Why programs that lie so cannot run on a device now; empty: they can.
    [[nodiscard]] std::string obstacle_on(DeviceInfo const& device) const {
        if (!device.usable()) return device.obstacle;
        if (10 * device.major + device.minor < least_architecture)
            return message({"device ", device.number, " has compute capability ", device.major, ".", device.minor, "; the trainer's precision<...> needs ", least_architecture / 10, ".",
                            least_architecture % 10, " for its products on tensor cores. Leave it out: float32 runs everywhere"});
        if (total > device.free) return describe_shortage(device.number, {device.free, device.total});
        return {};
    }
    /// What there is to do about a lack of memory: the plan's parts, and advice.
    [[nodiscard]] std::string describe_parts(Program const& program) const {
        return message({".\n", describe_memory(program.memory), line_of_memory("losses, batches in waiting", total - program.memory.total), "Take a smaller batch than ", program.capacity,
                        ", free memory that others hold, choose another device, or run on the CPU"});
    }
};

} // namespace tenon::cuda
