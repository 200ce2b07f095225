/// @file
/// Runs a compiled graph on the CPU: a table of kernels and of the places of their buffers, walked in order.
#pragma once

#include <tenon/cpu/stage.hpp>
#include <tenon/graph/program.hpp>

namespace tenon::cpu {

namespace detail {

/// The operation that anchors stage S; null: pointwise work alone.
template <class C, int S>
constexpr graph::Op const* anchor_op() {
    constexpr int anchor = C::stages[S].anchor;
    if constexpr (anchor < 0) return nullptr;
    else return C::nodes[static_cast<std::size_t>(anchor)].op;
}

} // namespace detail

/// The kernels of a compiled graph C's stages.
template <class C>
struct Executor {
    static constexpr int stages = C::tables.sizes.stages;

    static constexpr std::array<StageKernel, static_cast<std::size_t>(stages)> kernels = []<std::size_t... S>(std::index_sequence<S...>) {
        return std::array<StageKernel, static_cast<std::size_t>(stages)>{CpuStage<detail::anchor_op<C, static_cast<int>(S)>()>::template kernel<C, static_cast<int>(S)>()...};
    }(std::make_index_sequence<static_cast<std::size_t>(stages)>{});

    /// Floats of scratch that each thread needs.
    static constexpr index_t scratch = [] {
        index_t most = 16;
        if constexpr (!in_device_pass)
            for (StageKernel const& kernel : kernels)
                if (index_t const needed = kernel.scratch(C::layout.blocks()); needed > most) most = needed;
        return whole_lines(most);
    }();

    /// Runs stage `s`; `context.offset` is set here.
    static void run_stage(int s, StageContext context) {
        using Table = graph::SlotTable<C>;
        context.offset = Table::places.offset.data() + Table::places.begin[static_cast<std::size_t>(s)];
        kernels[static_cast<std::size_t>(s)].run(context);
    }
};

/// What graph::make_program asks of a device.
struct Cpu {
    using Kernel = void (*)(StageContext const&);

    template <class C>
    static constexpr graph::StageTable<C, Kernel> stage_table() {
        graph::StageTable<C, Kernel> table;
        if constexpr (!in_device_pass) // where nobody needs the CPU's kernels, and compiling them takes seconds
            for (std::size_t s = 0; s < table.kernel.size(); ++s) table.kernel[s] = Executor<C>::kernels[s].run;
        return table;
    }
};

/// The number of images that lie side by side in a vector: the width of a vector, unless that would leave more than an eighth
/// of the batch's lanes empty.
[[nodiscard]] constexpr int lanes_for(index_t batch) {
    int lanes = native_lanes<float> < 4 ? 4 : native_lanes<float>;
    while (lanes > 1 && ((batch + lanes - 1) / lanes * lanes - batch) * 8 > batch) lanes /= 2;
    return lanes;
}

} // namespace tenon::cpu
