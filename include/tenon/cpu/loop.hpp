/// @file
/// The pointwise loop on the CPU: runs a scalar Program (expr/instruction.hpp) over a constexpr loop nest.
///
/// What is known before the program runs is used before it runs: loops that touch memory in one line are merged, a step is
/// evaluated in the outermost loop that fixes it, the innermost loop runs on full vectors, and the last, short vector has
/// exactly the length that is left.
#pragma once

#include <tenon/core/random.hpp>
#include <tenon/cpu/vector.hpp>
#include <tenon/expr/functions.hpp>
#include <tenon/expr/operand.hpp>

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace tenon::cpu {
namespace loop {

inline constexpr int max_loops = 8;
inline constexpr int max_operands = 64;

/// A loop nest as a value.
struct Nest {
    int loops = 0;
    int operands = 0;
    index_t extent[max_loops]{};
    index_t stride[max_operands][max_loops]{};

    constexpr void move(int from, int to) {
        extent[to] = extent[from];
        for (int o = 0; o < operands; ++o) stride[o][to] = stride[o][from];
    }
};

[[nodiscard]] constexpr bool holds_elements(Nest const& nest) {
    for (int d = 0; d < nest.loops; ++d)
        if (nest.extent[d] == 0) return false;
    return true;
}

template <class Access>
struct AccessTraits;
template <class T, index_t... Stride>
struct AccessTraits<Access<T, Stride...>> {
    using element = T;
    static constexpr index_t stride[sizeof...(Stride) + 1] = {Stride..., 0};
    static constexpr int loops = sizeof...(Stride);
};
template <index_t... Stride>
struct AccessTraits<IndexAccess<Stride...>> {
    using element = void;
    static constexpr index_t stride[sizeof...(Stride) + 1] = {Stride..., 0};
    static constexpr int loops = sizeof...(Stride);
};

/// The nest as written, then without loops of one trip, then with adjacent loops merged where every operand allows it.
template <class E, class... A>
struct Normalised;
template <index_t... E, class... A>
struct Normalised<Extents<E...>, A...> {
    static_assert(((AccessTraits<A>::loops == sizeof...(E)) && ...), "run_loop: an operand has another number of strides than loops");
    static_assert(sizeof...(E) <= max_loops && sizeof...(A) <= max_operands, "run_loop: too many loops or operands");

    static constexpr Nest make() {
        Nest made;
        made.operands = sizeof...(A);
        index_t const extents[] = {E..., 1};
        for (int d = 0; d < static_cast<int>(sizeof...(E)); ++d) {
            if (extents[d] == 1) continue;
            int const at = made.loops++;
            made.extent[at] = extents[d];
            int o = 0;
            ((made.stride[o++][at] = AccessTraits<A>::stride[d]), ...);
        }
        int last = 0;
        for (int d = 1; d < made.loops; ++d) {
            bool mergeable = true;
            for (int o = 0; o < made.operands; ++o) mergeable = mergeable && made.stride[o][last] == made.stride[o][d] * made.extent[d];
            if (mergeable) {
                index_t const trips = made.extent[last] * made.extent[d];
                made.move(d, last);
                made.extent[last] = trips;
            } else {
                made.move(d, ++last);
            }
        }
        made.loops = made.loops == 0 ? 0 : last + 1;
        if (made.loops == 0) { // a scalar: one loop of one trip
            made.loops = 1;
            made.extent[0] = 1;
        }
        return made;
    }
    static constexpr Nest nest = make();
    static constexpr int innermost = nest.loops - 1;

    /// The deepest loop along which an operand moves; -1 for none.
    static constexpr int level(int operand) {
        int deepest = -1;
        for (int d = 0; d < nest.loops; ++d)
            if (nest.stride[operand][d] != 0) deepest = d;
        return deepest;
    }
};

/// For each step of a program the loop in which it is evaluated: the outermost one that fixes its arguments; -1 is before all loops.
template <class P, class N>
struct Levels {
    struct Table {
        int level[P::size == 0 ? 1 : P::size]{};
    };
    static constexpr Table make() {
        Table made;
        for (int i = 0; i < P::size; ++i) {
            Instruction const step = P::step(i);
            int level = -1;
            if (step.fn == Fn::load || step.fn == Fn::index || step.fn == Fn::random) level = N::level(step.operand());
            else if (step.fn == Fn::store) level = N::innermost;
            std::uint8_t const arguments[] = {step.a, step.b, step.c};
            for (int a = 0; a < arity(step.fn); ++a) level = made.level[arguments[a]] > level ? made.level[arguments[a]] : level;
            made.level[i] = level;
        }
        return made;
    }
    static constexpr Table table = make();
};

/// The value of step I while it is in registers.
template <int I, class T>
struct Slot {
    T value;
};
template <class T, class P, class Steps>
struct FrameOf;
template <class T, class P, int... I>
struct FrameOf<T, P, std::integer_sequence<int, I...>> {
    struct type : Slot<I, result_t<P::step(I).fn, T>>... {};
};
/// All values of a program P evaluated on T.
template <class T, class P>
using Frame = typename FrameOf<T, P, std::make_integer_sequence<int, P::size>>::type;

template <int I, class T>
TENON_ALWAYS_INLINE T& slot(Slot<I, T>& s) {
    return s.value;
}

/// Where a nest stands: the index in each loop; in the innermost one, that of the first lane.
struct Position {
    index_t at[max_loops]{};
};

/// Lanes of Compute: the scalar itself for one lane.
template <class Compute, int Lanes>
struct LanesOf {
    using type = Vec<Compute, Lanes>;
};
template <class Compute>
struct LanesOf<Compute, 1> {
    using type = Compute;
};
template <class Compute, int Lanes>
using lanes_t = typename LanesOf<Compute, Lanes>::type;

/// How an element is read and written: bool as the byte that it is.
template <class T>
using stored_t = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class V, class M>
TENON_ALWAYS_INLINE V as_value(M v) {
    if constexpr (std::is_same_v<M, V>) return v;
    else return math::choose<V>(v, math::all<V>(1), V{});
}
template <class V, class M>
TENON_ALWAYS_INLINE mask_t<V> as_mask(M v) {
    if constexpr (std::is_same_v<M, mask_t<V>>) return v;
    else return v != V{};
}

/// A scalar, value or mask, in every lane.
template <class V, class S>
TENON_ALWAYS_INLINE auto spread(S scalar) {
    if constexpr (std::is_arithmetic_v<V>) return scalar;
    else if constexpr (std::is_same_v<S, bool>) return mask_t<V>{} - static_cast<element_t<mask_t<V>>>(scalar);
    else return scalar - V{}; // V{} + scalar would turn -0 into 0
}

/// base, base + step, base + 2 step, ... as Compute; exact in 64 bits before it is converted
template <class Compute, int Lanes, index_t... Lane>
TENON_ALWAYS_INLINE lanes_t<Compute, Lanes> linear_indices(index_t base, index_t step, std::integer_sequence<index_t, Lane...>) {
    if constexpr (Lanes == 1) {
        return static_cast<Compute>(base);
    } else {
        Vec<index_t, Lanes> const indices = Vec<index_t, Lanes>{Lane...} * step + base;
        return math::convert<Compute>(indices);
    }
}

/// Uniform random numbers of the elements base, base + step, ...
template <int Lanes>
TENON_ALWAYS_INLINE lanes_t<float, Lanes> uniform_lanes(RandomSource const& source, index_t base, index_t step) {
    if constexpr (Lanes == 1) {
        return uniform(source, static_cast<std::uint64_t>(base));
    } else {
        Vec<float, Lanes> v;
        for (int i = 0; i < Lanes; ++i) v[i] = uniform(source, static_cast<std::uint64_t>(base + i * step));
        return v;
    }
}

/// A program whose reads and writes of memory are told to Observer::read(address, bytes) and Observer::write(address, bytes): for
/// tests that count them. Other programs pay nothing for it.
template <class P, class Observer>
struct Observed : P {
    using observer = Observer;
};

/// One program P over one normalised nest N. Compute: the type of a value in registers.
template <class Compute, class P, class N, class... A>
struct Runner {
    static constexpr auto& levels = Levels<P, N>::table.level;
    static constexpr int innermost = N::innermost;
    static constexpr index_t inner_extent = N::nest.extent[innermost];
    static constexpr int native = native_lanes<Compute>;
    /// Full vectors per trip: short programs would otherwise spend their time on counting.
    static constexpr int unroll = P::size <= 8 ? 4 : P::size <= 16 ? 2 : 1;

    template <int O>
    using element = typename AccessTraits<typename std::tuple_element<static_cast<std::size_t>(O), std::tuple<A...>>::type>::element;
    template <int Lanes>
    using V = lanes_t<Compute, Lanes>;
    using Outer = Frame<Compute, P>; ///< values fixed outside the innermost loop, as scalars

    /// A copy: the compiler would read the caller's array again after each store.
    struct Operands {
        Operand at[sizeof...(A) == 0 ? 1 : sizeof...(A)];
    };
    Operands operands;
    Position position{};

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
            if constexpr (stride == 1) std::memcpy(&v, from, Valid * sizeof(T));
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
            if constexpr (stride == 1) std::memcpy(to, &v, Valid * sizeof(T));
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
            slot<I>(to) = linear_indices<Compute, Lanes>(operands.at[o].offset + distance<o>(), N::nest.stride[o][innermost],
                                                         std::make_integer_sequence<index_t, Lanes>{});
        } else if constexpr (step.fn == Fn::random) {
            slot<I>(to) = math::convert<Compute>(uniform_lanes<Lanes>(*static_cast<RandomSource const*>(operands.at[o].data),
                                                                     operands.at[o].offset + distance<o>(), N::nest.stride[o][innermost]));
        } else {
            slot<I>(to) = evaluate<step.fn, V<Lanes>>(argument<I, 0, Lanes>(outer, to), argument<I, 1, Lanes>(outer, to),
                                                      argument<I, 2, Lanes>(outer, to));
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
            for (index_t t = 0; t < trips; ++t) evaluate_vectors<native>(outer, std::make_integer_sequence<int, unroll>{});
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
            constexpr int lanes = (std::max)(static_cast<int>(std::bit_ceil(static_cast<unsigned>(Count))), 16 / static_cast<int>(sizeof(Compute)));
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

/// Runs Program over the loop nest Extents; operand number i moves as Accesses number i says. Loads convert to Compute (float,
/// double, std::int32_t, std::int64_t), stores from it. Nothing beyond the extents is read or written. Operands may alias
/// exactly (an update in place) but must not overlap shifted; a broadcast operand must not alias an output.
template <class Compute, class Program, class Extents, class... Accesses>
void run_loop(Operand const* operands) {
    run_loop_inline<Compute, Program, Extents, Accesses...>(operands);
}

} // namespace tenon::cpu
