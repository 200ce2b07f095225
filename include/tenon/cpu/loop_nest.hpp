/// @file
/// A loop nest as a value: what is known of a pointwise loop before it runs. Loops of one trip go, loops that touch
/// memory in one line are merged, and each step of the program is given the outermost loop that fixes it.
#pragma once

#include <tenon/expr/instruction.hpp>
#include <tenon/expr/operand.hpp>

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

/// Where a nest stands: the index in each loop; in the innermost one, that of the first lane.
struct Position {
    index_t at[max_loops]{};
};

[[nodiscard]] constexpr bool holds_elements(Nest const& nest) {
    for (int d = 0; d < nest.loops; ++d)
        if (nest.extent[d] == 0) return false;
    return true;
}

template <class Access>
struct AccessTraits;
template <class T, bool Padded, index_t... Stride>
struct AccessTraitsOf {
    using element = T;
    static constexpr bool padded = Padded; ///< memory behind the last element may be touched
    static constexpr index_t stride[sizeof...(Stride) + 1] = {Stride..., 0};
    static constexpr int loops = sizeof...(Stride);
};
template <class T, index_t... Stride>
struct AccessTraits<Access<T, Stride...>> : AccessTraitsOf<T, false, Stride...> {};
template <class T, index_t... Stride>
struct AccessTraits<ScratchAccess<T, Stride...>> : AccessTraitsOf<T, true, Stride...> {};
template <index_t... Stride>
struct AccessTraits<IndexAccess<Stride...>> : AccessTraitsOf<void, false, Stride...> {};

/// The nest as written, then without loops of one trip, then with adjacent loops merged where every operand allows it.
template <class E, class... A>
struct Normalised;
template <index_t... E, class... A>
struct Normalised<Extents<E...>, A...> {
    static_assert(((AccessTraits<A>::loops == sizeof...(E)) && ...),
                  "run_loop: an operand has another number of strides than loops");
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
            for (int o = 0; o < made.operands; ++o)
                mergeable = mergeable && made.stride[o][last] == made.stride[o][d] * made.extent[d];
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

/// For each step of a program the loop in which it is evaluated: the outermost one that fixes its arguments; -1 is
/// before all loops.
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
            for (int a = 0; a < arity(step.fn); ++a)
                level = made.level[arguments[a]] > level ? made.level[arguments[a]] : level;
            made.level[i] = level;
        }
        return made;
    }
    static constexpr Table table = make();
};

} // namespace loop
} // namespace tenon::cpu
