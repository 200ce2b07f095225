/// @file
/// Runs planned statements on the CPU: each stage becomes a kernel that is keyed by its program, its loops and how its
/// operands move, not by the expression that it came from.
#pragma once

#include <tenon/cpu/product.hpp>
#include <tenon/cpu/rows_across.hpp>
#include <tenon/cpu/rows_along.hpp>
#include <tenon/expr/lowered.hpp>

namespace tenon::cpu::statement {

using expr::Plan;
using expr::Route;
using expr::Source;
using expr::Stage;
using expr::StageOperand;

/// Memory for a plan's temporaries.
class Temporaries {
public:
    explicit Temporaries(index_t bytes)
        : first_{bytes == 0 ? nullptr : ::operator new (static_cast<std::size_t>(bytes), std::align_val_t{64})} {}
    ~Temporaries() {
        if (first_ != nullptr) ::operator delete (first_, std::align_val_t{64});
    }
    Temporaries(Temporaries const&) = delete;
    Temporaries& operator=(Temporaries const&) = delete;
    [[nodiscard]] void* at(index_t bytes) const { return static_cast<char*>(first_) + bytes; }

private:
    void* first_;
};

/// Stage number I of a lowered L as types. Observer: void, or what is told of reads and writes (loop::Observed).
template <class L, int I, class Observer>
struct StageTypes {
    static constexpr Stage stage = L::plan.stage[I];
    using Compute = type_of<L::compute>;

    /// Whether the stage writes more than caches hold, and whole rows at a time.
    static constexpr bool streams = [] {
        bool const along =
            stage.kind == Stage::Kind::loop || (stage.kind == Stage::Kind::rows && stage.along_result && !stage.across);
        index_t bytes = size_of(L::compute);
        for (int l = 0; l < stage.loops; ++l) bytes *= stage.extent[l];
        return along && bytes >= loop::streaming_bytes;
    }();

    template <int P, class Codes = std::make_integer_sequence<int, stage.size[P]>>
    struct ProgramOf;
    template <int P, int... C>
    struct ProgramOf<P, std::integer_sequence<int, C...>> {
        using Code = Program<L::plan.code[stage.begin[P] + C]...>;
        using Plain =
            typename std::conditional_t<P == stage.programs - 1 && streams, std::type_identity<loop::Streaming<Code>>,
                                        std::type_identity<Code>>::type;
        using type = typename std::conditional_t<std::is_void_v<Observer>, std::type_identity<Plain>,
                                                 std::type_identity<loop::Observed<Plain, Observer>>>::type;
    };
    template <int O, class Loops = std::make_integer_sequence<int, stage.loops>>
    struct AccessOf;
    template <int O, int... Loop>
    struct AccessOf<O, std::integer_sequence<int, Loop...>> {
        static constexpr StageOperand operand = stage.operand[O];
        static constexpr bool scratch = operand.source == Source::buffer || operand.source == Source::result;
        using Memory = std::conditional_t<scratch, ScratchAccess<type_of<operand.type>, operand.stride[Loop]...>,
                                          Access<type_of<operand.type>, operand.stride[Loop]...>>;
        using type =
            std::conditional_t<operand.role == Route::Role::memory, Memory, IndexAccess<operand.stride[Loop]...>>;
    };
    template <int M>
    using MemberOf =
        RowReduction<stage.member[M].op, stage.member[M].phase, stage.member[M].buffer, stage.member[M].result>;

    template <int... Loop, int... O, int... P, int... M>
    static void run(Operand const* operands, std::integer_sequence<int, Loop...>, std::integer_sequence<int, O...>,
                    std::integer_sequence<int, P...>, std::integer_sequence<int, M...>) {
        if constexpr (stage.kind == Stage::Kind::loop) {
            run_loop<Compute, typename ProgramOf<0>::type, Extents<stage.extent[Loop]...>,
                     typename AccessOf<O>::type...>(operands);
        } else if constexpr (stage.kind == Stage::Kind::product) {
            ProductLoop<Compute, stage.extent[0], stage.extent[1], stage.inner, stage.left, stage.right, stage.tile,
                        stage.left_stride, stage.right_stride, typename ProgramOf<0>::type,
                        typename AccessOf<O>::type...>::run(operands);
        } else if constexpr (stage.across) {
            RowsAcross<Compute, stage.outer, stage.along_result, rows::LoopExtents<stage.extent[Loop]...>,
                       TypeList<MemberOf<M>...>, TypeList<typename ProgramOf<P>::type...>,
                       typename AccessOf<O>::type...>::run(operands);
        } else {
            RowsAlong<Compute, stage.outer, stage.along_result, rows::LoopExtents<stage.extent[Loop]...>,
                      TypeList<MemberOf<M>...>, TypeList<typename ProgramOf<P>::type...>,
                      typename AccessOf<O>::type...>::run(operands);
        }
    }
    static void run(Operand const* operands) {
        run(operands, std::make_integer_sequence<int, stage.loops>{}, std::make_integer_sequence<int, stage.operands>{},
            std::make_integer_sequence<int, stage.programs>{}, std::make_integer_sequence<int, stage.members>{});
        if constexpr (streams) order_stores();
    }
};

/// Bytes from the first temporary to number `number`; to the end of all for number plan.temporaries.
[[nodiscard]] constexpr index_t temporary_offset(Plan const& plan, DType type, int number) {
    index_t bytes = 0;
    for (int t = 0; t < number; ++t) bytes += (plan.temporary[t] * size_of(type) + 63) / 64 * 64;
    return bytes;
}

/// A stage's operand at run time. `leaves`: all leaves of the statements.
template <class L, int I, int O>
Operand stage_operand(Operand const* leaves, [[maybe_unused]] Temporaries const& temporaries) {
    constexpr StageOperand o = L::plan.stage[I].operand[O];
    if constexpr (o.source == Source::leaf) {
        Operand operand = leaves[o.number];
        if constexpr (o.role == Route::Role::memory)
            operand.data = static_cast<type_of<o.type>*>(operand.data) + o.offset;
        else operand.offset += o.offset;
        return operand;
    } else if constexpr (o.source == Source::temporary) {
        return {temporaries.at(temporary_offset(L::plan, L::compute, o.number))};
    } else {
        return {nullptr}; // made by the stage itself
    }
}

template <class L, class Observer, int I, int... O>
void run_stage(Operand const* leaves, Temporaries const& temporaries, std::integer_sequence<int, O...>) {
    Operand const operands[] = {stage_operand<L, I, O>(leaves, temporaries)...};
    StageTypes<L, I, Observer>::run(operands);
}
template <class L, class Observer, int... I>
void run_stages(Operand const* leaves, std::integer_sequence<int, I...>) {
    Temporaries const temporaries{temporary_offset(L::plan, L::compute, L::plan.temporaries)};
    (run_stage<L, Observer, I>(leaves, temporaries, std::make_integer_sequence<int, L::plan.stage[I].operands>{}), ...);
}

/// Runs lowered statements over their leaves.
template <class L, class Observer = void>
void run_plan(Operand const* leaves) {
    run_stages<L, Observer>(leaves, std::make_integer_sequence<int, L::plan.stages>{});
}

} // namespace tenon::cpu::statement
