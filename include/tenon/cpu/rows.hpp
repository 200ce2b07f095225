/// @file
/// What both ways of going row by row (cpu/rows_along.hpp, cpu/rows_across.hpp) are made of: operands that move along
/// some of the loops, and programs over the others.
#pragma once

#include <tenon/cpu/lane_reducer.hpp>

namespace tenon::cpu {

/// A reduction: its argument is stored to operand Buffer by the program of pass Phase, its result is read as operand
/// Result.
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
template <class T, index_t... Stride, int... Loop>
struct Picked<ScratchAccess<T, Stride...>, Loop...> {
    using type = ScratchAccess<T, loop::AccessTraits<ScratchAccess<T, Stride...>>::stride[Loop]...>;
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
template <class T, index_t... Stride>
struct Advance<ScratchAccess<T, Stride...>> : Advance<Access<T, Stride...>> {};
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

/// One stage of rows. Loops: the first Outer ones choose the row, the others run along it. Programs: one per pass, then
/// the last one, which runs along the row if AlongResult. Buffers and results of the reductions are made here, whatever
/// the operands say.
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

} // namespace tenon::cpu
