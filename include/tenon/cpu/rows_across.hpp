/// @file
/// Row by row on the CPU, where neighbouring rows and not a row's elements are neighbours in memory: each vector lane
/// has a row of its own, and up to 64 rows go together.
#pragma once

#include <tenon/cpu/rows.hpp>

namespace tenon::cpu {

/// Lanes across rows: neighbouring rows are neighbours in memory, so each lane reduces its own row.
template <class Compute, int Outer, bool AlongResult, class Loops_, class Members, class Programs, class... A>
class RowsAcross;
template <class Compute, int Outer, bool AlongResult, class Loops_, class... Member, class Programs, class... A>
class RowsAcross<Compute, Outer, AlongResult, Loops_, TypeList<Member...>, Programs, A...>
    : Rows<Compute, Outer, AlongResult, Loops_, TypeList<Member...>, Programs, A...> {
    using Base = Rows<Compute, Outer, AlongResult, Loops_, TypeList<Member...>, Programs, A...>;
    using typename Base::Loops, typename Base::Operands;
    using Base::loops, Base::passes;

    static constexpr int lane_loop = Outer - 1;
    static constexpr int last = loops - 1;            ///< the innermost loop along the row
    static constexpr index_t at_once = 8;             ///< elements of each row between two visits to the reducers
    static constexpr bool has_rows = loops > Outer;   ///< a row may have a single element
    static constexpr index_t last_extent = has_rows ? Loops::extent[last] : 1;

    /// Rows that run together: `Rows` of them, in `Lanes` lanes.
    template <index_t Rows>
    struct Bundle {
        static constexpr int smallest = 16 / static_cast<int>(sizeof(Compute));
        static constexpr int lanes =
            Rows >= native_lanes<Compute>
                ? static_cast<int>((Rows + native_lanes<Compute> - 1) / native_lanes<Compute> * native_lanes<Compute>)
                : (std::max)(static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(Rows))), smallest);

        template <class M>
        struct Work {
            alignas(64) Compute buffer[static_cast<std::size_t>(at_once * lanes)] = {}; // lanes without a row stay zero
            alignas(64) Compute result[static_cast<std::size_t>(lanes)];
        };
        struct Workspace : loop::Slot<Member::buffer, Work<Member>>... {};
        template <class M>
        TENON_ALWAYS_INLINE static Work<M>& work(Workspace& w) {
            return loop::slot<M::buffer, Work<M>>(w);
        }
        template <class M>
        using Reducer = LaneReducer<M::op, Compute, lanes>;
        template <int Phase>
        struct Reducers
            : loop::Slot<Member::buffer, std::conditional_t<Member::phase == Phase, Reducer<Member>, char>>... {};

        /// In a pass: loops (last, lanes). Buffers hold `lanes` for each element of the rows.
        template <int O, class X>
        struct PassAccess {
            static constexpr bool is_buffer = ((O == Member::buffer) || ...);
            using picked = typename std::conditional_t<has_rows, rows::Picked<X, last, lane_loop>,
                                                       rows::Picked<X, loops, lane_loop>>::type;
            using type = std::conditional_t<is_buffer, ScratchAccess<Compute, lanes, 1>, picked>;
        };
        template <class Program, index_t Count, int... O>
        TENON_ALWAYS_INLINE static void run_some(Operands const& at, std::integer_sequence<int, O...>) {
            run_loop_inline<Compute, Program, Extents<Count, Rows>, typename PassAccess<O, A>::type...>(at.at);
        }
        template <class M, int Phase>
        TENON_ALWAYS_INLINE static void take(Workspace& w, Reducers<Phase>& reducers, index_t count) {
            if constexpr (M::phase == Phase) loop::slot<M::buffer, Reducer<M>>(reducers).take(work<M>(w).buffer, count);
        }
        template <class M, int Phase>
        TENON_ALWAYS_INLINE static void finish(Workspace& w, Reducers<Phase>& reducers) {
            if constexpr (M::phase == Phase) loop::slot<M::buffer, Reducer<M>>(reducers).finish(work<M>(w).result);
        }
        template <int Phase, index_t Count>
        TENON_ALWAYS_INLINE static void run_elements(Operands const& at, Workspace& w, Reducers<Phase>& reducers) {
            run_some<typename Base::template Pass<Phase>, Count>(
                at, std::make_integer_sequence<int, static_cast<int>(sizeof...(A))>{});
            (take<Member, Phase>(w, reducers, Count), ...);
        }
        template <int Phase, int L>
        TENON_ALWAYS_INLINE static void run_pass_from(Operands at, Workspace& w, Reducers<Phase>& reducers) {
            if constexpr (L < last) {
                for (index_t i = 0; i < Loops::extent[L]; ++i) {
                    run_pass_from<Phase, L + 1>(at, w, reducers);
                    at.advance(L, 1);
                }
            } else {
                constexpr index_t whole = last_extent / at_once, rest = last_extent % at_once;
                for (index_t i = 0; i < whole; ++i) {
                    run_elements<Phase, at_once>(at, w, reducers);
                    if constexpr (has_rows) at.advance(last, at_once);
                }
                if constexpr (rest > 0) run_elements<Phase, rest>(at, w, reducers);
            }
        }
        template <int Phase>
        TENON_ALWAYS_INLINE static void run_pass(Operands const& at, Workspace& w) {
            Reducers<Phase> reducers;
            run_pass_from<Phase, Outer>(at, w, reducers);
            (finish<Member, Phase>(w, reducers), ...);
        }
        template <int... Phase, int... L>
        static void run(Operands at, std::integer_sequence<int, Phase...>, std::integer_sequence<int, L...>) {
            Workspace w;
            ((at.at[Member::buffer].data = work<Member>(w).buffer, at.at[Member::result].data = work<Member>(w).result),
             ...);
            (run_pass<Phase>(at, w), ...);
            run_loop_inline<Compute, typename Base::LastProgram, Extents<Loops::extent[Outer + L]..., Rows>,
                            typename rows::Picked<A, (Outer + L)..., lane_loop>::type...>(at.at);
        }
        static void run(Operands const& at) {
            run(at, std::make_integer_sequence<int, passes>{}, std::make_integer_sequence < int,
                AlongResult ? loops - Outer : 0 > {});
        }
    };

    template <int L>
    TENON_ALWAYS_INLINE static void run_bundles(Operands operands) {
        constexpr index_t count = Loops::extent[L];
        if constexpr (L < lane_loop) {
            for (index_t i = 0; i < count; ++i) {
                run_bundles<L + 1>(operands);
                operands.advance(L, 1);
            }
        } else {
            for (index_t i = 0; i < count / reduction_lanes; ++i) {
                Bundle<reduction_lanes>::run(operands);
                operands.advance(L, reduction_lanes);
            }
            if constexpr (count % reduction_lanes > 0) Bundle<count % reduction_lanes>::run(operands);
        }
    }

public:
    static void run(Operand const* operands) {
        Operands local;
        for (std::size_t o = 0; o < sizeof...(A); ++o) local.at[o] = operands[o];
        run_bundles<0>(local);
    }
};

} // namespace tenon::cpu
