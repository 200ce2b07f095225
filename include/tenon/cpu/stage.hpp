/// @file
/// How the CPU runs a stage: the anchor's kernel makes a tile in scratch memory that stays in the first-level cache, and the
/// stage's pointwise program continues on the tile before the next one is made.
#pragma once

#include <tenon/cpu/loop.hpp>
#include <tenon/cpu/threads.hpp>
#include <tenon/graph/slots.hpp>

namespace tenon::cpu {

/// The most threads a team can have.
inline constexpr int max_threads = 256;

/// What a stage's kernel is called with. Buffers are found through `offset`, so that equal stages share one kernel.
struct StageContext {
    std::byte* arena;
    index_t const* offset; ///< of each slot's bytes in the arena; see graph::Slot
    index_t blocks;        ///< of samples in this batch
    index_t samples;       ///< in this batch
    ThreadPool* threads;
    float* scratch;        ///< of thread 0
    index_t scratch_stride; ///< floats from one thread's scratch to the next

    template <class T = float>
    [[nodiscard]] T* at(int slot) const {
        return reinterpret_cast<T*>(arena + offset[slot]);
    }

    /// One task of a stage, with its thread's scratch; `previous`: the task that this thread ran before it in this stage, or -1.
    using Task = void (*)(StageContext const& context, index_t task, float* scratch, index_t previous);

    /// Runs tasks [0, tasks) on all threads.
    TENON_NEVER_INLINE void run_tasks(Task run, index_t tasks) const {
        if (threads->size() == 1 || tasks == 1) {
            for (index_t task = 0; task < tasks; ++task) run(*this, task, scratch, task - 1);
            return;
        }
        index_t previous[max_threads];
        for (int t = 0; t < threads->size(); ++t) previous[t] = -1;
        threads->run(tasks, [&](index_t task, int thread) noexcept {
            run(*this, task, scratch + thread * scratch_stride, previous[thread]);
            previous[thread] = task;
        });
    }
};

using enum graph::Slot;

/// A stage as the executor sees it.
struct StageKernel {
    void (*run)(StageContext const&) = nullptr;
    index_t (*scratch)(index_t blocks) = nullptr; ///< floats per thread for a batch of so many blocks
};

/// Rounds a number of floats up to whole cache lines.
[[nodiscard]] constexpr index_t whole_lines(index_t floats) { return (floats + 15) / 16 * 16; }

// --- fields: how a program's operand lies in memory. Strides are those of the axes of one sample.

struct TileField {};
struct NumberField {}; ///< one float for all elements
template <class T, bool Batched, index_t Count, index_t... Stride>
struct Field {};
template <index_t Count, index_t... Stride>
struct RandomField {};

namespace detail {

/// The different values of Kernel::channel_count over its tasks: one, or two, or for grouped kernels some more.
template <class Kernel>
struct counts_of {
    static constexpr int most = 8;
    struct List {
        std::array<index_t, most> value{};
        int size = 0;
    };
    static constexpr List list = [] {
        List found;
        for (index_t task = 0; task < Kernel::tasks; ++task) {
            bool known = false;
            for (int i = 0; i < found.size; ++i) known = known || found.value[static_cast<std::size_t>(i)] == Kernel::channel_count(task);
            if (!known) found.value[static_cast<std::size_t>(found.size++)] = Kernel::channel_count(task);
        }
        return found;
    }();
};

} // namespace detail

/// A phase's program over a tile: slices [begin, begin + Count) of axis 0 of an iteration space `Shape`, in lanes if batched.
/// FirstSlot is the slot of its first field.
template <int Lanes, bool Batched, int FirstSlot, class Shape, class Program, class... Fields>
struct Epilogue;

template <int Lanes, bool Batched, int FirstSlot, index_t E0, index_t... E, class Program, class... Fields>
struct Epilogue<Lanes, Batched, FirstSlot, Extents<E0, E...>, Program, Fields...> {
    static constexpr index_t rows = E0;               ///< extent of axis 0
    static constexpr index_t row = (index_t{1} * ... * E); ///< elements of a slice, for one sample
    static constexpr int lanes = Batched ? Lanes : 1;
    static constexpr bool batched = Batched;
    static constexpr bool empty = Program::size == 0;

    /// @param tile what the anchor made: [Count, E..., lanes]
    template <index_t Count>
    static void run(StageContext const& c, index_t block, index_t begin, float* tile) {
        if constexpr (!empty) {
            Operand operands[sizeof...(Fields) + 1];
            int i = 0;
            ((operands[i] = operand(Fields{}, c, FirstSlot + i, block, begin, tile), ++i), ...);
            if constexpr (Batched) run_loop<float, Program, Extents<Count, E..., Lanes>, typename access<Fields, Count>::type...>(operands);
            else run_loop<float, Program, Extents<Count, E...>, typename access<Fields, Count>::type...>(operands);
        }
    }

    /// The same for what task `task` of Kernel made, whose number of slices becomes a constant here.
    template <class Kernel>
    static void run_task(StageContext const& c, index_t task, index_t block, float* tile) {
        using Counts = detail::counts_of<Kernel>;
        index_t const count = Kernel::channel_count(task), begin = Kernel::channel_begin(task);
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            ((count == Counts::list.value[I] ? run<Counts::list.value[I]>(c, block, begin, tile) : void()), ...);
        }(std::make_index_sequence<static_cast<std::size_t>(Counts::list.size)>{});
    }

private:
    template <class F, index_t Count>
    struct access;
    template <index_t Count>
    struct access<TileField, Count> {
        template <index_t... S>
        static auto spell(std::integer_sequence<index_t, S...>) -> Access<float, S...>;
        template <std::size_t... I>
        static constexpr auto strides(std::index_sequence<I...>) { // contiguous
            constexpr index_t extent[] = {E..., lanes, 1};
            constexpr auto from = [](std::size_t axis) {
                index_t n = 1;
                for (std::size_t k = axis; k != sizeof...(E) + (Batched ? 1 : 0); ++k) n *= extent[k];
                return n;
            };
            return spell(std::integer_sequence<index_t, from(I)...>{});
        }
        using type = decltype(strides(std::make_index_sequence<sizeof...(E) + 1 + (Batched ? 1 : 0)>{}));
    };
    template <index_t Count>
    struct access<NumberField, Count> {
        using type = typename access<Field<float, false, 1, 0, (E * 0)...>, Count>::type;
    };
    template <class T, bool B, index_t N, index_t... Stride, index_t Count>
    struct access<Field<T, B, N, Stride...>, Count> {
        static auto spell() {
            if constexpr (B) return Access<T, Stride * Lanes..., 1>{};
            else if constexpr (Batched) return Access<T, Stride..., 0>{};
            else return Access<T, Stride...>{};
        }
        using type = decltype(spell());
    };
    template <index_t N, index_t... Stride, index_t Count>
    struct access<RandomField<N, Stride...>, Count> {
        using type = IndexAccess<Stride..., N>;
    };

    static Operand operand(TileField, StageContext const&, int, index_t, index_t, float* tile) { return {tile, 0}; }
    static Operand operand(NumberField, StageContext const& c, int slot, index_t, index_t, float*) { return {c.at<float>(slot), 0}; }
    template <class T, bool B, index_t N, index_t S0, index_t... S>
    static Operand operand(Field<T, B, N, S0, S...>, StageContext const& c, int slot, index_t block, index_t begin, float*) {
        return {c.at<T>(slot) + (B ? (block * N + begin * S0) * Lanes : begin * S0), 0};
    }
    template <index_t N, index_t S0, index_t... S>
    static Operand operand(RandomField<N, S0, S...>, StageContext const& c, int slot, index_t block, index_t begin, float*) {
        return {c.at<void>(slot), block * Lanes * N + begin * S0};
    }
};

// --- from the tables to types

namespace detail {

template <class C, int O, int Axes>
struct field_of {
    static constexpr graph::Operand operand = C::operands[O];
    static constexpr index_t stride(Dims const& iteration, int axis) { // right-aligned broadcasting
        int const at = axis - (iteration.rank - operand.view.rank);
        if (at < 0 || (operand.view[at] == 1 && iteration[axis] != 1)) return 0;
        return operand.view.count_from(at + 1);
    }
    template <Dims Iteration, std::size_t... I>
    static auto spell(std::index_sequence<I...>) {
        constexpr index_t count = operand.view.count();
        if constexpr (operand.node < 0) return TileField{};
        else if constexpr (operand.dtype == graph::Dtype::random_source) return RandomField<count, stride(Iteration, static_cast<int>(I))...>{};
        else if constexpr (count == 1 && !operand.batched && operand.dtype == graph::Dtype::f32) return NumberField{};
        else if constexpr (operand.dtype == graph::Dtype::u8) return Field<std::uint8_t, operand.batched, count, stride(Iteration, static_cast<int>(I))...>{};
        else if constexpr (operand.dtype == graph::Dtype::i32) return Field<std::int32_t, operand.batched, count, stride(Iteration, static_cast<int>(I))...>{};
        else return Field<float, operand.batched, count, stride(Iteration, static_cast<int>(I))...>{};
    }
};

template <class C, int S, int Ph>
struct epilogue_of {
    static constexpr graph::Phase phase = C::stages[S].phase[Ph];
    static constexpr Dims shape = phase.shape.rank == 0 ? Dims{1} : phase.shape;
    static constexpr int first_slot = first_operand_slot + phase.operand_begin - C::stages[S].operand_begin();

    template <std::size_t... Code, std::size_t... O, std::size_t... Axis>
    static auto spell(std::index_sequence<Code...>, std::index_sequence<O...>, std::index_sequence<Axis...> axes)
        -> Epilogue<C::layout.lanes, phase.batched, first_slot, Extents<shape.extent[Axis]...>, Program<C::code[static_cast<std::size_t>(phase.code_begin) + Code]...>,
                    decltype(field_of<C, phase.operand_begin + static_cast<int>(O), shape.rank>::template spell<shape>(axes))...>;

    using type = decltype(spell(std::make_index_sequence<static_cast<std::size_t>(phase.code_end - phase.code_begin)>{},
                                std::make_index_sequence<static_cast<std::size_t>(phase.operand_end - phase.operand_begin)>{},
                                std::make_index_sequence<static_cast<std::size_t>(shape.rank)>{}));
};

} // namespace detail

/// The pointwise program of stage S, phase Ph of a compiled graph C.
template <class C, int S, int Ph>
using EpilogueOf = typename detail::epilogue_of<C, S, Ph>::type;

/// How the CPU computes a stage with this anchor: each operation's cpu header specialises it with
///     template <class C, int S> static constexpr StageKernel kernel();
template <graph::Op const* Anchor>
struct CpuStage;

} // namespace tenon::cpu
