/// @file
/// Row by row on the CPU, vector lanes along the row: a row's reductions, one pass over the row for each that needs the
/// one before, and then what is made of them, while the row is in the first-level cache.
#pragma once

#include <tenon/cpu/rows.hpp>

namespace tenon::cpu {

/// Lanes along the row.
template <class Compute, int Outer, bool AlongResult, class Loops_, class Members, class Programs, class... A>
class RowsAlong;
template <class Compute, int Outer, bool AlongResult, class Loops_, class... Member, class Programs, class... A>
class RowsAlong<Compute, Outer, AlongResult, Loops_, TypeList<Member...>, Programs, A...>
    : Rows<Compute, Outer, AlongResult, Loops_, TypeList<Member...>, Programs, A...> {
    using Base = Rows<Compute, Outer, AlongResult, Loops_, TypeList<Member...>, Programs, A...>;
    using typename Base::Loops, typename Base::Operands;
    using Base::length, Base::loops, Base::passes;

    static constexpr index_t capacity = expr::row_capacity;
    static constexpr bool buffered = length <= capacity;
    /// Longer rows come in pieces of `piece` trips of loop `split` with all trips of the loops in it.
    static constexpr int split = [] {
        int l = Outer;
        while (l + 1 < loops && Loops::count(l + 1, loops) > capacity) ++l;
        return l;
    }();
    static constexpr index_t inside = Loops::count(split + 1, loops);
    static constexpr index_t piece = (std::max)(index_t{1}, capacity / (std::max)(index_t{1}, inside));
    /// Of a buffer, with room for the rest of the piece before and for a whole vector behind.
    static constexpr index_t blocks = ((std::min)(length, capacity) + reduction_lanes - 1) / reduction_lanes + 2;

    /// What a reduction needs on the stack.
    template <class M>
    struct Work {
        alignas(64) Compute buffer[static_cast<std::size_t>(blocks * reduction_lanes)];
        Compute result;
    };
    struct Workspace : loop::Slot<Member::buffer, Work<Member>>... {};
    template <class M>
    TENON_ALWAYS_INLINE static Work<M>& work(Workspace& w) {
        return loop::slot<M::buffer, Work<M>>(w);
    }

    template <class M, int Phase>
    TENON_ALWAYS_INLINE static void reduce_buffered(Workspace& w) {
        if constexpr (M::phase == Phase) work<M>(w).result = reduce_row<M::op, length>(work<M>(w).buffer);
    }

    template <class M>
    using Reducer = RowReducer<M::op, Compute>;
    template <int Phase>
    struct Reducers : loop::Slot<Member::buffer, std::conditional_t<Member::phase == Phase, Reducer<Member>, char>>... {
    };

    template <class M, int Phase>
    TENON_ALWAYS_INLINE static void take(Workspace& w, Reducers<Phase>& reducers, index_t filled) {
        if constexpr (M::phase == Phase) {
            Compute* const buffer = work<M>(w).buffer;
            index_t const whole = filled / reduction_lanes;
            loop::slot<M::buffer, Reducer<M>>(reducers).take_blocks(buffer, whole);
            std::memmove(buffer, buffer + whole * reduction_lanes,
                         static_cast<std::size_t>(filled % reduction_lanes) * sizeof(Compute));
        }
    }
    template <class M, int Phase>
    TENON_ALWAYS_INLINE static void finish(Workspace& w, Reducers<Phase>& reducers, index_t rest) {
        if constexpr (M::phase == Phase)
            work<M>(w).result = loop::slot<M::buffer, Reducer<M>>(reducers).finish(work<M>(w).buffer, rest);
    }
    template <class M>
    TENON_ALWAYS_INLINE static void place_buffer(Operands& o, Workspace& w, index_t filled) {
        o.at[M::buffer].data = work<M>(w).buffer + filled;
    }

    /// One piece of a long row: evaluated behind what is left of the piece before, then reduced as far as whole blocks
    /// go.
    template <int Phase, index_t Trips>
    TENON_ALWAYS_INLINE static void run_piece(Operands const& at, Workspace& w, Reducers<Phase>& reducers,
                                              index_t& filled) {
        using Nest = typename PieceExtents<Trips, std::make_integer_sequence<int, loops - split - 1>>::type;
        Operands local = at;
        (place_buffer<Member>(local, w, filled), ...);
        Base::template run_over<typename Base::template Pass<Phase>, split, loops, Nest>(local);
        filled += Trips * inside;
        (take<Member, Phase>(w, reducers, filled), ...);
        filled %= reduction_lanes;
    }
    template <index_t Trips, class Inner>
    struct PieceExtents;
    template <index_t Trips, int... L>
    struct PieceExtents<Trips, std::integer_sequence<int, L...>> {
        using type = Extents<Trips, Loops::extent[split + 1 + L]...>;
    };

    template <int Phase, int L>
    TENON_ALWAYS_INLINE static void run_pieces(Operands at, Workspace& w, Reducers<Phase>& reducers, index_t& filled) {
        if constexpr (L < split) {
            for (index_t i = 0; i < Loops::extent[L]; ++i) {
                run_pieces<Phase, L + 1>(at, w, reducers, filled);
                at.advance(L, 1);
            }
        } else {
            constexpr index_t whole = Loops::extent[split] / piece, rest = Loops::extent[split] % piece;
            for (index_t i = 0; i < whole; ++i) {
                run_piece<Phase, piece>(at, w, reducers, filled);
                at.advance(split, piece);
            }
            if constexpr (rest > 0) run_piece<Phase, rest>(at, w, reducers, filled);
        }
    }

    template <int Phase>
    TENON_ALWAYS_INLINE static void run_pass(Operands const& operands, Workspace& w) {
        if constexpr (buffered) {
            Base::template run_part<typename Base::template Pass<Phase>, Outer, loops>(operands);
            (reduce_buffered<Member, Phase>(w), ...);
        } else {
            Reducers<Phase> reducers;
            index_t filled = 0;
            run_pieces<Phase, Outer>(operands, w, reducers, filled);
            (finish<Member, Phase>(w, reducers, filled), ...);
        }
    }
    template <int... Phase>
    TENON_ALWAYS_INLINE static void run_row(Operands const& operands, Workspace& w,
                                            std::integer_sequence<int, Phase...>) {
        (run_pass<Phase>(operands, w), ...);
        Base::template run_part<typename Base::LastProgram, Outer, AlongResult ? loops : Outer>(operands);
    }
    template <int L>
    TENON_ALWAYS_INLINE static void run_rows(Operands operands, Workspace& w) {
        if constexpr (L == Outer) {
            run_row(operands, w, std::make_integer_sequence<int, passes>{});
        } else {
            for (index_t i = 0; i < Loops::extent[L]; ++i) {
                run_rows<L + 1>(operands, w);
                operands.advance(L, 1);
            }
        }
    }

public:
    static void run(Operand const* operands) {
        Workspace w;
        Operands local;
        for (std::size_t o = 0; o < sizeof...(A); ++o) local.at[o] = operands[o];
        ((local.at[Member::buffer].data = work<Member>(w).buffer,
          local.at[Member::result].data = &work<Member>(w).result),
         ...);
        run_rows<0>(local, w);
    }
};

} // namespace tenon::cpu
