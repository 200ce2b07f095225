/// @file
/// Row by row on the CPU: a row's reductions, one pass over the row for each that needs the one before, and then what is made
/// of them, while the row is in the first-level cache.
#pragma once

#include <tenon/cpu/lane_reducer.hpp>

namespace tenon::cpu {

/// A reduction: its argument is stored to operand Buffer by the program of pass Phase, its result is read as operand Result.
template <ReduceOp Op, int Phase, int Buffer, int Result>
struct RowReduction {
    static constexpr ReduceOp op = Op;
    static constexpr int phase = Phase;
    static constexpr int buffer = Buffer;
    static constexpr int result = Result;
};
template <class... T>
struct TypeList {
    static constexpr int size = static_cast<int>(sizeof...(T));
};
template <int I, class List>
struct NthType;
template <int I, class... T>
struct NthType<I, TypeList<T...>> : std::tuple_element<static_cast<std::size_t>(I), std::tuple<T...>> {};

namespace rows {

template <class A, int... Loop>
struct Picked;
template <class T, index_t... Stride, int... Loop>
struct Picked<Access<T, Stride...>, Loop...> {
    using type = Access<T, loop::AccessTraits<Access<T, Stride...>>::stride[Loop]...>;
};
template <index_t... Stride, int... Loop>
struct Picked<IndexAccess<Stride...>, Loop...> {
    using type = IndexAccess<loop::AccessTraits<IndexAccess<Stride...>>::stride[Loop]...>;
};

/// Loops First to Last - 1 of operands and extents, seen alone.
template <int First, class Loops>
struct Part;
template <int First, int... L>
struct Part<First, std::integer_sequence<int, L...>> {
    template <class A>
    using access = typename Picked<A, (First + L)...>::type;
    template <class Nest>
    using extents = Extents<Nest::extent[First + L]...>;
};

template <index_t... E>
struct LoopExtents {
    static constexpr index_t extent[sizeof...(E) + 1] = {E..., 1};
    static constexpr int loops = static_cast<int>(sizeof...(E));
    static constexpr index_t count(int first, int last) {
        index_t n = 1;
        for (int l = first; l < last; ++l) n *= extent[l];
        return n;
    }
};

/// Moves an operand `trips` on along a loop.
template <class A>
struct Advance;
template <class T, index_t... Stride>
struct Advance<Access<T, Stride...>> {
    TENON_ALWAYS_INLINE static void by(Operand& o, int l, index_t trips) {
        o.data = static_cast<T*>(o.data) + loop::AccessTraits<Access<T, Stride...>>::stride[l] * trips;
    }
};
template <index_t... Stride>
struct Advance<IndexAccess<Stride...>> {
    TENON_ALWAYS_INLINE static void by(Operand& o, int l, index_t trips) {
        o.offset += loop::AccessTraits<IndexAccess<Stride...>>::stride[l] * trips;
    }
};

template <class... A>
struct Operands {
    Operand at[sizeof...(A)];

    TENON_ALWAYS_INLINE void advance(int l, index_t trips) {
        int o = 0;
        (Advance<A>::by(at[o++], l, trips), ...);
    }
};

} // namespace rows

/// One stage of rows. Loops: the first Outer ones choose the row, the others run along it. Programs: one per pass, then the last
/// one, which runs along the row if AlongResult. Buffers and results of the reductions are made here, whatever the operands say.
template <class Compute, int Outer, bool AlongResult, class Loops, class Members, class Programs, class... A>
class Rows;

template <class Compute, int Outer, bool AlongResult, index_t... E, class... Member, class... P, class... A>
class Rows<Compute, Outer, AlongResult, rows::LoopExtents<E...>, TypeList<Member...>, TypeList<P...>, A...> {
protected:
    using Loops = rows::LoopExtents<E...>;
    using Operands = rows::Operands<A...>;
    static constexpr int loops = Loops::loops;
    static constexpr int passes = static_cast<int>(sizeof...(P)) - 1;
    static constexpr index_t length = Loops::count(Outer, loops);
    template <int I>
    using Pass = typename NthType<I, TypeList<P...>>::type;
    using LastProgram = Pass<passes>;
    template <int First, int Last>
    using Part = rows::Part<First, std::make_integer_sequence<int, Last - First>>;

    /// Runs a program over loops First to Last - 1, as far as `extents` says.
    template <class Program, int First, int Last, class Nest>
    TENON_ALWAYS_INLINE static void run_over(Operands const& operands) {
        run_loop_inline<Compute, Program, Nest, typename Part<First, Last>::template access<A>...>(operands.at);
    }
    template <class Program, int First, int Last>
    TENON_ALWAYS_INLINE static void run_part(Operands const& operands) {
        run_over<Program, First, Last, typename Part<First, Last>::template extents<Loops>>(operands);
    }
};

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
    static constexpr index_t whole_blocks = ((std::min)(length, capacity) + reduction_lanes - 1) / reduction_lanes + 1;

    /// What a reduction needs on the stack.
    template <class M>
    struct Work {
        alignas(64) Compute buffer[static_cast<std::size_t>(whole_blocks * reduction_lanes)];
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
    struct Reducers : loop::Slot<Member::buffer, std::conditional_t<Member::phase == Phase, Reducer<Member>, char>>... {};

    template <class M, int Phase>
    TENON_ALWAYS_INLINE static void take(Workspace& w, Reducers<Phase>& reducers, index_t filled) {
        if constexpr (M::phase == Phase) {
            Compute* const buffer = work<M>(w).buffer;
            index_t const blocks = filled / reduction_lanes;
            loop::slot<M::buffer, Reducer<M>>(reducers).take_blocks(buffer, blocks);
            std::memmove(buffer, buffer + blocks * reduction_lanes, static_cast<std::size_t>(filled % reduction_lanes) * sizeof(Compute));
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

    /// One piece of a long row: evaluated behind what is left of the piece before, then reduced as far as whole blocks go.
    template <int Phase, index_t Trips>
    TENON_ALWAYS_INLINE static void run_piece(Operands const& at, Workspace& w, Reducers<Phase>& reducers, index_t& filled) {
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
    TENON_ALWAYS_INLINE static void run_row(Operands const& operands, Workspace& w, std::integer_sequence<int, Phase...>) {
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
        ((local.at[Member::buffer].data = work<Member>(w).buffer, local.at[Member::result].data = &work<Member>(w).result), ...);
        run_rows<0>(local, w);
    }
};

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
        static constexpr int lanes = Rows >= native_lanes<Compute>
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
        struct Reducers : loop::Slot<Member::buffer, std::conditional_t<Member::phase == Phase, Reducer<Member>, char>>... {};

        /// In a pass: loops (last, lanes). Buffers hold `lanes` for each element of the rows.
        template <int O, class X>
        struct PassAccess {
            static constexpr bool is_buffer = ((O == Member::buffer) || ...);
            using picked = typename std::conditional_t<has_rows, rows::Picked<X, last, lane_loop>, rows::Picked<X, loops, lane_loop>>::type;
            using type = std::conditional_t<is_buffer, Access<Compute, lanes, 1>, picked>;
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
            run_some<typename Base::template Pass<Phase>, Count>(at, std::make_integer_sequence<int, static_cast<int>(sizeof...(A))>{});
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
            ((at.at[Member::buffer].data = work<Member>(w).buffer, at.at[Member::result].data = work<Member>(w).result), ...);
            (run_pass<Phase>(at, w), ...);
            run_loop_inline<Compute, typename Base::LastProgram, Extents<Loops::extent[Outer + L]..., Rows>,
                            typename rows::Picked<A, (Outer + L)..., lane_loop>::type...>(at.at);
        }
        static void run(Operands const& at) {
            run(at, std::make_integer_sequence<int, passes>{}, std::make_integer_sequence<int, AlongResult ? loops - Outer : 0>{});
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
