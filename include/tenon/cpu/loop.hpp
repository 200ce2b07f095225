/// @file
/// The pointwise loop on the CPU: runs a scalar Program (expr/instruction.hpp) over a constexpr loop nest.
///
/// What is known before the program runs is used before it runs (cpu/loop_nest.hpp). The innermost loop runs on full
/// vectors, and the last, short vector has exactly the length that is left.
#pragma once

#include <tenon/cpu/loop_nest.hpp>
#include <tenon/cpu/loop_values.hpp>
#include <tenon/cpu/partial.hpp>

#include <algorithm>
#include <bit>
#include <tuple>

namespace tenon::cpu {
namespace loop {

/// A program whose reads and writes of memory are told to Observer::read(address, bytes) and Observer::write(address,
/// bytes): for tests that count them. Other programs pay nothing for it.
template <class P, class Observer>
struct Observed : P {
    using observer = Observer;
};

/// A program that writes more than caches hold: whole vectors go past them, so that memory need not be read before it
/// is written. Operands that are read as well, and places that are no multiples of a vector, are written as ever.
template <class P>
struct Streaming : P {
    static constexpr bool streams = true;
};
/// What a statement must write for that.
inline constexpr index_t streaming_bytes = index_t{32} << 20;

/// Roughly the instructions in a program, in units of an addition: a polynomial is worth ten.
template <class P>
[[nodiscard]] constexpr int weight() {
    int sum = 0;
    for (int i = 0; i < P::size; ++i) {
        Fn const fn = P::step(i).fn;
        bool const polynomial = (fn >= Fn::exp && fn <= Fn::sigmoid) || fn == Fn::pow || fn == Fn::random;
        sum += polynomial ? 10 : fn == Fn::constant ? 0 : 1;
    }
    return sum;
}

/// Whether a program writes operand number `operand`.
template <class P>
[[nodiscard]] constexpr bool stores_to(int operand) {
    for (int i = 0; i < P::size; ++i)
        if (P::step(i).fn == Fn::store && P::step(i).operand() == operand) return true;
    return false;
}

/// One program P over one normalised nest N. Compute: the type of a value in registers.
template <class Compute, class P, class N, class... A>
struct Runner {
    static constexpr auto& levels = Levels<P, N>::table.level;
    static constexpr int innermost = N::innermost;
    static constexpr index_t inner_extent = N::nest.extent[innermost];
    static constexpr int native = native_lanes<Compute>;
    /// Full vectors per trip: short programs would otherwise spend their time on counting.
    static constexpr int unroll = weight<P>() <= 8 ? 4 : weight<P>() <= 16 ? 2 : 1;

    template <int O>
    using traits = AccessTraits<typename std::tuple_element<static_cast<std::size_t>(O), std::tuple<A...>>::type>;
    template <int O>
    using element = typename traits<O>::element;
    template <int Lanes>
    using V = lanes_t<Compute, Lanes>;
    using Outer = Frame<Compute, P>; ///< values fixed outside the innermost loop, as scalars

    /// A copy: the compiler would read the caller's array again after each store.
    struct Operands {
        Operand at[sizeof...(A) == 0 ? 1 : sizeof...(A)];
    };
    Operands operands;
    Position position{};
    bool past_caches = false; ///< for programs that stream: whether this run's places allow it

    static constexpr bool streams = requires { P::streams; };
    /// Whether whole vectors of operand O lie at multiples of their size wherever the nest stands, if the first does.
    template <int O>
    static constexpr bool stays_aligned() {
        if (N::nest.stride[O][innermost] != 1) return false;
        for (int d = 0; d < innermost; ++d)
            if (N::nest.stride[O][d] * static_cast<index_t>(sizeof(stored_t<element<O>>)) % vector_bytes != 0)
                return false;
        return true;
    }
    template <int O>
    static constexpr bool can_stream() {
        if constexpr (!streams || std::is_void_v<element<O>>) return false;
        else return !traits<O>::padded && sizeof(element<O>) == sizeof(Compute) && stays_aligned<O>();
    }
    /// Whether operand O, if it is written past the caches, is aligned and no other operand begins there.
    template <int O>
    [[nodiscard]] bool may_stream() const {
        if constexpr (can_stream<O>() && stores_to<P>(O)) {
            void const* const to = operands.at[O].data;
            int here = 0;
            for (Operand const& o : operands.at) here += o.data == to;
            return reinterpret_cast<std::uintptr_t>(to) % vector_bytes == 0 && here == 1;
        } else {
            return true;
        }
    }
    template <int... O>
    [[nodiscard]] bool may_stream(std::integer_sequence<int, O...>) const {
        return (may_stream<O>() && ...);
    }

    /// Elements from an operand's first one to where the nest stands.
    template <int O>
    TENON_ALWAYS_INLINE index_t distance() const {
        return distance<O>(std::make_integer_sequence<int, N::nest.loops>{});
    }
    template <int O, int... D>
    TENON_ALWAYS_INLINE index_t distance(std::integer_sequence<int, D...>) const {
        return (index_t{0} + ... + (N::nest.stride[O][D] * position.at[D]));
    }

    /// `Valid` elements of operand O; the lanes beyond them are zero.
    template <int O, int Lanes, int Valid>
    TENON_ALWAYS_INLINE V<Lanes> read() const {
        using T = stored_t<element<O>>;
        T const* const from = static_cast<T const*>(operands.at[O].data) + distance<O>();
        constexpr index_t stride = N::nest.stride[O][innermost];
        if constexpr (requires { typename P::observer; })
            for (int i = 0; i < Valid; ++i) P::observer::read(from + i * stride, sizeof(T));
        if constexpr (Lanes == 1) {
            return static_cast<Compute>(*from);
        } else {
            Vec<T, Lanes> v{};
            if constexpr (stride == 1) load_first<traits<O>::padded ? Lanes : Valid, Lanes>(from, v);
            else for (int i = 0; i < Valid; ++i) v[i] = from[i * stride];
            return math::convert<Compute>(v);
        }
    }

    /// Writes `Valid` lanes to operand O.
    template <int O, int Lanes, int Valid, class Value>
    TENON_ALWAYS_INLINE void write(Value value) const {
        using T = stored_t<element<O>>;
        T* const to = static_cast<T*>(operands.at[O].data) + distance<O>();
        constexpr index_t stride = N::nest.stride[O][innermost];
        if constexpr (requires { typename P::observer; })
            for (int i = 0; i < Valid; ++i) P::observer::write(to + i * stride, sizeof(T));
        if constexpr (Lanes == 1) {
            if constexpr (std::is_same_v<element<O>, bool>) *to = as_mask<V<1>>(value) ? 1 : 0;
            else *to = static_cast<T>(as_value<V<1>>(value));
        } else {
            Vec<T, Lanes> v;
            if constexpr (std::is_same_v<element<O>, bool>) v = math::convert<T>(as_mask<V<Lanes>>(value) & 1);
            else v = __builtin_convertvector(as_value<V<Lanes>>(value), decltype(v));
            if constexpr (can_stream<O>() && Valid == native) {
                if (past_caches) return store_past_caches(to, v);
            }
            if constexpr (stride == 1) store_first<traits<O>::padded ? Lanes : Valid, Lanes>(to, v);
            else for (int i = 0; i < Valid; ++i) to[i * stride] = v[i];
        }
    }

    /// Argument number `Which` of step I, as the kind of value that the step takes.
    template <int I, int Which, int Lanes, class Inner>
    TENON_ALWAYS_INLINE auto argument(Outer& outer, Inner& inner) const {
        constexpr Instruction step = P::step(I);
        if constexpr (Which >= arity(step.fn)) {
            return 0;
        } else {
            constexpr int from = Which == 0 ? step.a : Which == 1 ? step.b : step.c;
            if constexpr (takes_mask(step.fn, Which)) return as_mask<V<Lanes>>(result<from, Lanes>(outer, inner));
            else return as_value<V<Lanes>>(result<from, Lanes>(outer, inner));
        }
    }
    template <int From, int Lanes, class Inner>
    TENON_ALWAYS_INLINE auto result(Outer& outer, Inner& inner) const {
        if constexpr (levels[From] < innermost) return spread<V<Lanes>>(slot<From>(outer));
        else return slot<From>(inner);
    }

    /// Evaluates step I on `Lanes` lanes, `Valid` of which exist. The result goes to `to`.
    template <int I, int Lanes, int Valid, class To>
    TENON_ALWAYS_INLINE void evaluate_step(Outer& outer, To& to) const {
        constexpr Instruction step = P::step(I);
        constexpr int o = step.operand();
        if constexpr (step.fn == Fn::load) {
            slot<I>(to) = read<o, Lanes, Valid>();
        } else if constexpr (step.fn == Fn::store) {
            write<o, Lanes, Valid>(argument<I, 0, Lanes>(outer, to));
        } else if constexpr (step.fn == Fn::constant) {
            slot<I>(to) = math::all<V<Lanes>>(static_cast<Compute>(step.value()));
        } else if constexpr (step.fn == Fn::index) {
            slot<I>(to) =
                linear_indices<Compute, Lanes>(operands.at[o].offset + distance<o>(), N::nest.stride[o][innermost],
                                               std::make_integer_sequence<index_t, Lanes>{});
        } else if constexpr (step.fn == Fn::random) {
            slot<I>(to) = math::convert<Compute>(uniform_lanes<Lanes, N::nest.stride[o][innermost]>(
                *static_cast<RandomSource const*>(operands.at[o].data), operands.at[o].offset + distance<o>()));
        } else {
            slot<I>(to) = evaluate<step.fn, V<Lanes>>(
                argument<I, 0, Lanes>(outer, to), argument<I, 1, Lanes>(outer, to), argument<I, 2, Lanes>(outer, to));
        }
    }

    template <int I, int Level, int Lanes, int Valid, class To>
    TENON_ALWAYS_INLINE void evaluate_if_fixed(Outer& outer, To& to) const {
        if constexpr (levels[I] == Level) evaluate_step<I, Lanes, Valid>(outer, to);
    }
    /// The steps that loop `Level` fixes, in order.
    template <int Level, int Lanes, int Valid, class To, int... I>
    TENON_ALWAYS_INLINE void evaluate_level(Outer& outer, To& to, std::integer_sequence<int, I...>) const {
        (evaluate_if_fixed<I, Level, Lanes, Valid>(outer, to), ...);
    }
    template <int Level>
    TENON_ALWAYS_INLINE void evaluate_outer(Outer& outer) const {
        evaluate_level<Level, 1, 1>(outer, outer, std::make_integer_sequence<int, P::size>{});
    }
    template <int Lanes, int Valid>
    TENON_ALWAYS_INLINE void evaluate_inner(Outer& outer) {
        Frame<V<Lanes>, P> values;
        evaluate_level<innermost, Lanes, Valid>(outer, values, std::make_integer_sequence<int, P::size>{});
        position.at[innermost] += Valid;
    }
    template <int Lanes, int... U>
    TENON_ALWAYS_INLINE void evaluate_vectors(Outer& outer, std::integer_sequence<int, U...>) {
        ((void(U), evaluate_inner<Lanes, Lanes>(outer)), ...);
    }

    TENON_ALWAYS_INLINE void run_innermost(Outer& outer) {
        constexpr index_t vectors = inner_extent / native;
        constexpr index_t trips = vectors / unroll;
        constexpr int tail = static_cast<int>(inner_extent % native);
        position.at[innermost] = 0;
        if constexpr (trips > 0)
            for (index_t t = 0; t < trips; ++t)
                evaluate_vectors<native>(outer, std::make_integer_sequence<int, unroll>{});
        evaluate_vectors<native>(outer, std::make_integer_sequence<int, static_cast<int>(vectors % unroll)>{});
        evaluate_tail<tail>(outer);
    }
    /// The last elements, fewer than a register holds.
    template <int Count>
    TENON_ALWAYS_INLINE void evaluate_tail(Outer& outer) {
        if constexpr (Count == 0) {
            return;
        } else if constexpr (std::is_floating_point_v<Compute>) {
            // At least 16 bytes: one lane would be scalar code, whose contractions to fma may differ from the vectors'.
            constexpr int lanes = (std::max)(static_cast<int>(std::bit_ceil(static_cast<unsigned>(Count))),
                                             16 / static_cast<int>(sizeof(Compute)));
            evaluate_inner<lanes, Count>(outer);
        } else { // no lane without an element: it might divide by zero
            constexpr int lanes = static_cast<int>(std::bit_floor(static_cast<unsigned>(Count)));
            evaluate_inner<lanes, lanes>(outer);
            evaluate_tail<Count - lanes>(outer);
        }
    }

    template <int D>
    TENON_ALWAYS_INLINE void run_from(Outer& outer) {
        if constexpr (D == innermost) {
            run_innermost(outer);
        } else {
            for (position.at[D] = 0; position.at[D] < N::nest.extent[D]; ++position.at[D]) {
                evaluate_outer<D>(outer);
                run_from<D + 1>(outer);
            }
        }
    }

    TENON_ALWAYS_INLINE void run() {
        if constexpr (streams) past_caches = may_stream(std::make_integer_sequence<int, sizeof...(A)>{});
        Outer outer;
        evaluate_outer<-1>(outer);
        run_from<0>(outer);
    }
};

} // namespace loop

/// As run_loop, inlined: for machinery that is itself a loop around it.
template <class Compute, class Program, class Extents, class... Accesses>
TENON_ALWAYS_INLINE void run_loop_inline(Operand const* operands) {
    using N = loop::Normalised<Extents, Accesses...>;
    if constexpr (loop::holds_elements(N::nest)) {
        loop::Runner<Compute, Program, N, Accesses...> runner{};
        for (std::size_t o = 0; o < sizeof...(Accesses); ++o) runner.operands.at[o] = operands[o];
        runner.run();
    }
}

/// Runs Program over the loop nest Extents; operand number i moves as Accesses number i says. Loads convert to Compute
/// (float, double, std::int32_t, std::int64_t), stores from it. Nothing beyond the extents is read or written. Operands
/// may alias exactly (an update in place) but must not overlap shifted; a broadcast operand must not alias an output.
template <class Compute, class Program, class Extents, class... Accesses>
void run_loop(Operand const* operands) {
    run_loop_inline<Compute, Program, Extents, Accesses...>(operands);
}

} // namespace tenon::cpu
