/// @file
/// The run-time form of a compiled graph: what an executor walks, what a trainer must fill in, what reports say. It is made of
/// plain numbers that are copied out of the constant tables, so that nothing of a network's long type lives on in the binary.
#pragma once

#include <tenon/graph/describe.hpp>
#include <tenon/graph/slots.hpp>

#include <span>
#include <vector>

namespace tenon::graph {

/// One stage. `Kernel` is what the device calls.
template <class Kernel>
struct ProgramStage {
    Kernel kernel{};
    int first_slot = 0;           ///< in Program::slots
    int layer = -1;
    char const* anchor = nullptr; ///< names of operations; null where there is none
    char const* companion = nullptr;
    char const* pool = nullptr;
    int functions[2]{};           ///< elementary functions in its programs
    Dims result;
    Cost cost;                    ///< for a full batch
};

/// Bytes that a node owns, with what is needed to examine them.
struct ProgramBuffer {
    index_t offset = 0, bytes = 0;
    int first = 0, last = 0;
    index_t elements = 0; ///< of one sample, if batched
    bool batched = false;
    bool computed = false; ///< floats that a stage of this program makes
};

/// Bytes that are filled in from outside.
struct ProgramSource {
    std::uint64_t op = 0; ///< Op::id
    int slot = 0;
    index_t offset = 0, elements = 0;
};

/// A compiled graph at run time.
template <class Kernel>
struct Program {
    std::vector<ProgramStage<Kernel>> stages;
    std::vector<index_t> slots; ///< places in the arena, by the stages' first_slot
    std::vector<ProgramBuffer> buffers;
    std::vector<ProgramSource> sources;
    Memory memory;
    index_t capacity = 0; ///< samples
    int lanes = 1;
    index_t output_offset = -1, loss_offset = -1;
    int output_stages = 0, loss_stages = 0; ///< how many stages it takes to have them

    /// Offset of a source, or -1 if the program has none such.
    [[nodiscard]] index_t find(Op const& op, int slot = 0) const {
        for (ProgramSource const& source : sources)
            if (source.op == op.id && source.slot == slot) return source.offset;
        return -1;
    }
    /// Samples of the batch rounded up to whole blocks of lanes.
    [[nodiscard]] index_t padded(index_t samples) const { return (samples + lanes - 1) / lanes * lanes; }
};

namespace detail {

template <class C>
constexpr int stages_until(int node) {
    if (node < 0) return 0;
    int const owner = C::tables.storage(node);
    for (Buffer const& buffer : C::tables.buffers)
        if (buffer.node == owner) return buffer.first + 1;
    return C::tables.sizes.stages;
}

/// A stage's description, without its kernel.
template <class C, class Kernel>
constexpr ProgramStage<Kernel> describe_stage(int s) {
    auto const& t = C::tables;
    Stage const& stage = t.stages[static_cast<std::size_t>(s)];
    auto const name = [&](int id) { return id < 0 ? nullptr : t.nodes[static_cast<std::size_t>(id)].op->name; };
    ProgramStage<Kernel> entry;
    entry.layer = stage.layer;
    entry.anchor = name(stage.anchor);
    entry.companion = name(stage.companion[0]);
    entry.pool = name(stage.pool);
    for (int p = 0; p < stage.phases; ++p) {
        Phase const& phase = stage.phase[static_cast<std::size_t>(p)];
        for (int i = phase.code_begin; i < phase.code_end; ++i) {
            Fn const fn = Instruction::decode(t.code[static_cast<std::size_t>(i)]).fn;
            entry.functions[p] += fn != Fn::load && fn != Fn::store && fn != Fn::constant;
        }
    }
    entry.result = stage.phase[static_cast<std::size_t>(stage.phases - 1)].shape;
    entry.cost = stage_cost(t, s, C::layout.capacity);
    return entry;
}

template <class C>
constexpr auto list_buffers() {
    std::array<ProgramBuffer, static_cast<std::size_t>(C::tables.sizes.buffers) + 1> list{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(C::tables.sizes.buffers); ++i) {
        Buffer const& buffer = C::tables.buffers[i];
        Node const& node = C::tables.nodes[static_cast<std::size_t>(buffer.node)];
        list[i] = {buffer.offset, buffer.bytes, buffer.first, buffer.last, node.shape.count(), node.batched, node.op->kind != Kind::source && node.dtype == Dtype::f32};
    }
    return list;
}

template <class C>
constexpr int count_sources() {
    int n = 0;
    for (std::size_t id = 0; id < static_cast<std::size_t>(C::tables.sizes.nodes); ++id) n += C::tables.nodes[id].op->kind == Kind::source;
    return n;
}

template <class C>
constexpr auto list_sources() {
    std::array<ProgramSource, static_cast<std::size_t>(count_sources<C>()) + 1> list{};
    std::size_t n = 0;
    for (std::size_t id = 0; id < static_cast<std::size_t>(C::tables.sizes.nodes); ++id) {
        Node const& node = C::tables.nodes[id];
        if (node.op->kind == Kind::source) list[n++] = {node.op->id, node.attribute[0], C::tables.offset[id], node.shape.count()};
    }
    return list;
}

/// A program of these stages and buffers; `begin`: each stage's first slot.
template <class Kernel>
TENON_COLD Program<Kernel> assemble(std::span<ProgramStage<Kernel> const> stages, std::span<Kernel const> kernels, std::span<index_t const> slots,
                                    std::span<int const> begin, std::span<ProgramBuffer const> buffers, std::span<ProgramSource const> sources) {
    Program<Kernel> program;
    program.stages.assign(stages.begin(), stages.end());
    for (std::size_t s = 0; s < stages.size(); ++s) {
        program.stages[s].kernel = kernels[s];
        program.stages[s].first_slot = begin[s];
    }
    program.slots.assign(slots.begin(), slots.end());
    program.buffers.assign(buffers.begin(), buffers.end());
    program.sources.assign(sources.begin(), sources.end());
    return program;
}

} // namespace detail

/// The kernels of the compiled graph C's stages, which a device sets, and the places of their buffers.
template <class C, class Kernel>
struct StageTable {
    std::array<Kernel, static_cast<std::size_t>(C::tables.sizes.stages)> kernel{};
    decltype(SlotTable<C>::places.offset) offset = SlotTable<C>::places.offset;
    decltype(SlotTable<C>::places.begin) begin = SlotTable<C>::places.begin; ///< each stage's first slot
};

/// The run-time form of the compiled graph C on a device. `Device::Kernel` is what it calls, `Device::stage_table<C>()` a StageTable.
template <class C, class Device>
TENON_ALWAYS_INLINE Program<typename Device::Kernel> make_program() {
    constexpr auto table = Device::template stage_table<C>();
    constexpr auto stages = []<std::size_t... S>(std::index_sequence<S...>) {
        return std::array<ProgramStage<typename Device::Kernel>, sizeof...(S)>{detail::describe_stage<C, typename Device::Kernel>(static_cast<int>(S))...};
    }(std::make_index_sequence<static_cast<std::size_t>(C::tables.sizes.stages)>{});
    constexpr auto buffers = detail::list_buffers<C>();
    constexpr auto sources = detail::list_sources<C>();
    constexpr Memory memory = C::tables.memory;
    constexpr index_t output = C::tables.output < 0 ? -1 : C::tables.offset[static_cast<std::size_t>(C::tables.storage(C::tables.output))];
    constexpr index_t loss = C::tables.loss < 0 ? -1 : C::tables.offset[static_cast<std::size_t>(C::tables.loss)];
    constexpr int output_stages = detail::stages_until<C>(C::tables.output), loss_stages = detail::stages_until<C>(C::tables.loss);

    Program<typename Device::Kernel> program = detail::assemble<typename Device::Kernel>(
        stages, table.kernel, table.offset, table.begin, std::span{buffers}.first(buffers.size() - 1), std::span{sources}.first(sources.size() - 1));
    program.memory = memory;
    program.capacity = C::layout.capacity;
    program.lanes = C::layout.lanes;
    program.output_offset = output;
    program.loss_offset = loss;
    program.output_stages = output_stages;
    program.loss_stages = loss_stages;
    return program;
}

} // namespace tenon::graph
