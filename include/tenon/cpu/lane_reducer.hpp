/// @file
/// Reductions on vectors in an order that is fixed by the number of elements alone: not by the width of the target's
/// vectors, the number of threads or where the elements lie.
#pragma once

#include <tenon/cpu/loop.hpp>
#include <tenon/expr/sketch.hpp>

#include <limits>

namespace tenon::cpu {

using expr::ReduceOp;

/// Elements i, i + 64, i + 128, ... of a row are combined in lane i; then lanes i and i + 32, i + 16, ...
inline constexpr int reduction_lanes = 64;

/// Steps after which a lane's sum joins a binary tree of sums, so that rounding errors grow with the logarithm of the
/// length.
inline constexpr index_t cascade_steps = 256;

/// What changes nothing. argmax and argmin: what loses against everything.
template <ReduceOp Op, class C>
inline constexpr C reduction_identity = [] {
    using Limits = std::numeric_limits<C>;
    constexpr C least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    constexpr C most = Limits::has_infinity ? Limits::infinity() : (Limits::max)();
    switch (Op) {
    case ReduceOp::max:
    case ReduceOp::argmax: return least;
    case ReduceOp::min:
    case ReduceOp::argmin: return most;
    case ReduceOp::product: return C{1};
    default: return C{0};
    }
}();

/// evaluate<Fn::max> or evaluate<Fn::min>, the same bits; a whole vector in three instructions, which g++ does not find.
template <ReduceOp Op, class V>
TENON_ALWAYS_INLINE V extreme(V const& a, V const& b) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64 && std::is_same_v<element_t<V>, float>) {
        V found; // b where one of the two is NaN
        if constexpr (Op == ReduceOp::max) asm("vmaxps {%2, %1, %0|%0, %1, %2}" : "=v"(found) : "v"(a), "v"(b));
        else asm("vminps {%2, %1, %0|%0, %1, %2}" : "=v"(found) : "v"(a), "v"(b));
        return math::choose<V>(a != a, a, found);
    }
#endif
    return evaluate<(Op == ReduceOp::max ? Fn::max : Fn::min), V>(a, b, 0);
}

/// Two values as one.
template <ReduceOp Op, class V>
TENON_ALWAYS_INLINE V combine(V const& a, V const& b) {
    if constexpr (Op == ReduceOp::sum) return a + b;
    else if constexpr (Op == ReduceOp::product) return a * b;
    else return extreme<Op>(a, b);
}

/// Whether a later `value` replaces `best`: strictly better, or the first NaN.
template <ReduceOp Op, class V>
TENON_ALWAYS_INLINE mask_t<V> replaces(V value, V best) {
    auto const better = Op == ReduceOp::argmax ? value > best : value < best;
    auto const first_nan = (value != value) > (best != best); // bool: true > false
    if constexpr (std::is_arithmetic_v<V>) return better || first_nan;
    else return better | ((value != value) & (best == best));
}

/// Reduces rows of `Lanes` values lane by lane. Lanes: a multiple of 16 bytes.
template <ReduceOp Op, class C, int Lanes>
class LaneReducer {
    static constexpr bool indexed = Op == ReduceOp::argmax || Op == ReduceOp::argmin;
    static constexpr int width = (std::min)(Lanes, native_lanes<C>);
    static constexpr int vectors = Lanes / width;
    static_assert(Lanes % width == 0);
    static constexpr std::size_t levels = Op == ReduceOp::sum ? 40 : 1; ///< of the tree: 2^40 * 256 steps
    static constexpr std::size_t lanes = static_cast<std::size_t>(Lanes);
    using V = Vec<C, width>;
    using Index = element_t<mask_t<V>>; ///< an integer as wide as C
    using IndexV = mask_t<V>;

public:
    LaneReducer() {
        for (C& value : value_) value = reduction_identity<Op, C>;
        for (Index& index : index_) index = 0;
    }

    /// Combines `steps` further rows, one after another at `rows`.
    TENON_ALWAYS_INLINE void take(C const* rows, index_t steps) {
        while (steps > 0) {
            index_t now = steps;
            if constexpr (Op == ReduceOp::sum) now = (std::min)(steps, cascade_steps - steps_ % cascade_steps);
            take_some(rows, now, std::make_integer_sequence<int, vectors>{});
            rows += now * Lanes;
            steps -= now;
            steps_ += now;
            if constexpr (Op == ReduceOp::sum)
                if (steps_ % cascade_steps == 0) carry();
        }
    }

    /// Each lane's result; for argmax and argmin the step in which it came. Call once.
    TENON_ALWAYS_INLINE void finish(C* results) {
        if constexpr (Op == ReduceOp::sum)
            for (std::size_t level = 0; level < levels; ++level)
                if ((steps_ / cascade_steps) >> level & 1) add(value_, tree_[level]);
        for (int i = 0; i < Lanes; ++i) {
            if constexpr (indexed) results[i] = static_cast<C>(index_[i]);
            else results[i] = value_[i];
        }
    }
    [[nodiscard]] C const* values() const { return value_; }

private:
    alignas(64) C value_[lanes];
    alignas(64) Index index_[indexed ? lanes : 1];
    alignas(64) C tree_[levels][Op == ReduceOp::sum ? lanes : 1];
    index_t steps_ = 0;

    template <int... I>
    TENON_ALWAYS_INLINE void take_some(C const* rows, index_t steps, std::integer_sequence<int, I...>) {
        struct Values : loop::Slot<I, V>... {};
        struct Indices : loop::Slot<I, IndexV>... {};
        Values best{loop::Slot<I, V>{load<width>(value_ + I * width)}...};
        if constexpr (!indexed) {
            for (index_t step = 0; step < steps; ++step, rows += Lanes)
                ((loop::slot<I>(best) = combine<Op, V>(loop::slot<I>(best), load<width>(rows + I * width))), ...);
        } else {
            Indices at{loop::Slot<I, IndexV>{load<width>(index_ + I * width)}...};
            for (index_t step = 0; step < steps; ++step, rows += Lanes)
                (take_one(loop::slot<I>(best), loop::slot<I>(at), load<width>(rows + I * width),
                          static_cast<Index>(steps_ + step)),
                 ...);
            (store<width>(index_ + I * width, loop::slot<I>(at)), ...);
        }
        (store<width>(value_ + I * width, loop::slot<I>(best)), ...);
    }
    TENON_ALWAYS_INLINE static void take_one(V& best, IndexV& at, V value, Index step) {
        auto const better = replaces<Op, V>(value, best);
        best = better ? value : best;
        at = better ? IndexV{} + step : at;
    }

    static void add(C* to, C const* from) {
        for (int i = 0; i < Lanes; ++i) to[i] = to[i] + from[i];
    }
    /// As a binary counter carries: the tree holds one sum per set bit of the number of blocks so far.
    TENON_NEVER_INLINE void carry() {
        index_t const blocks = steps_ / cascade_steps - 1;
        int level = 0;
        for (; blocks >> level & 1; ++level) add(value_, tree_[level]);
        for (int i = 0; i < Lanes; ++i) {
            tree_[level][i] = value_[i];
            value_[i] = 0;
        }
    }
};

/// One value from a vector's lanes: lanes i and i + half together, and so on.
template <ReduceOp Op, class V>
TENON_ALWAYS_INLINE element_t<V> fold_vector(V const& v) {
    if constexpr (lanes_of<V> == 2) return combine<Op, element_t<V>>(v[0], v[1]);
    else return fold_vector<Op>(combine<Op, math::half_t<V>>(math::lower_half(v), math::upper_half(v)));
}

template <int Valid, class M, int... Lane>
TENON_ALWAYS_INLINE M first_lanes(std::integer_sequence<int, Lane...>) {
    return M{(Lane < Valid ? -1 : 0)...};
}
/// `Valid` of `Width` values, the others replaced by what changes nothing. All are read: memory must have room for
/// them.
template <ReduceOp Op, int Width, int Valid, class C>
TENON_ALWAYS_INLINE Vec<C, Width> load_or_identity(C const* from) {
    using V = Vec<C, Width>;
    V const identity = math::all<V>(reduction_identity<Op, C>);
    if constexpr (Valid <= 0) return identity;
    else if constexpr (Valid >= Width) return load<Width>(from);
    else
        return math::choose<V>(first_lanes<Valid, mask_t<V>>(std::make_integer_sequence<int, Width>{}),
                               load<Width>(from), identity);
}

/// Vector I of what is left of `Lanes` values when the upper half has been added to the lower one until `Left` are
/// left.
template <ReduceOp Op, int Left, int Lanes, int Width, int Valid, int I, class C>
TENON_ALWAYS_INLINE Vec<C, Width> folded(C const* values) {
    if constexpr (Left == Lanes) return load_or_identity<Op, Width, Valid - I * Width>(values + I * Width);
    else
        return combine<Op, Vec<C, Width>>(folded<Op, 2 * Left, Lanes, Width, Valid, I>(values),
                                          folded<Op, 2 * Left, Lanes, Width, Valid, I + Left / Width>(values));
}

/// One value from `Lanes` (a power of two) of them, of which memory holds the first `Valid`: i and i + Lanes / 2
/// together, and so on.
template <ReduceOp Op, int Lanes, int Valid, class C>
TENON_ALWAYS_INLINE C fold(C const* values) {
    if constexpr (Lanes == 1) {
        return values[0];
    } else {
        constexpr int width = (std::min)(Lanes, native_lanes<C>);
        return fold_vector<Op>(folded<Op, width, Lanes, width, Valid, 0>(values));
    }
}

/// The index of the best of `count` values; `step` holds the row of each, or is null where all are in row 0.
template <ReduceOp Op, class C>
TENON_ALWAYS_INLINE index_t best_index(C const* values, C const* step, int count) {
    index_t best_at = 0;
    C best = reduction_identity<Op, C>;
    for (int lane = 0; lane < count; ++lane) {
        index_t const at = (step == nullptr ? 0 : static_cast<index_t>(step[lane]) * reduction_lanes) + lane;
        bool const tie = values[lane] == best || (values[lane] != values[lane] && best != best);
        if (lane == 0 || replaces<Op>(values[lane], best) || (tie && at < best_at)) {
            best = values[lane];
            best_at = at;
        }
    }
    return best_at;
}

/// Reduces a row whose elements come in pieces, in order.
template <ReduceOp Op, class C>
class RowReducer {
public:
    /// Whole blocks of 64 elements.
    TENON_ALWAYS_INLINE void take_blocks(C const* values, index_t blocks) { lanes_.take(values, blocks); }
    /// The result; `values` holds the last 0 to 63 elements and has room for 64.
    TENON_ALWAYS_INLINE C finish(C* values, index_t rest) {
        if (rest > 0) {
            for (index_t i = rest; i < reduction_lanes; ++i) values[i] = reduction_identity<Op, C>;
            lanes_.take(values, 1);
        }
        alignas(64) C result[reduction_lanes];
        lanes_.finish(result);
        if constexpr (Op == ReduceOp::argmax || Op == ReduceOp::argmin)
            return static_cast<C>(best_index<Op>(lanes_.values(), result, reduction_lanes));
        else return fold<Op, reduction_lanes, reduction_lanes>(result);
    }

private:
    LaneReducer<Op, C, reduction_lanes> lanes_;
};

/// Reduces `Count` elements one after another at `values`, which has room for a multiple of 64 of them.
template <ReduceOp Op, index_t Count, class C>
TENON_ALWAYS_INLINE C reduce_row(C* values) {
    if constexpr (Count == 0) {
        return reduction_identity<Op, C>;
    } else if constexpr (Count > reduction_lanes) {
        constexpr index_t blocks = Count / reduction_lanes;
        RowReducer<Op, C> reducer;
        reducer.take_blocks(values, blocks);
        return reducer.finish(values + blocks * reduction_lanes, Count % reduction_lanes);
    } else if constexpr (Op == ReduceOp::argmax || Op == ReduceOp::argmin) {
        return static_cast<C>(best_index<Op, C>(values, nullptr, static_cast<int>(Count)));
    } else { // lanes beyond the next power of two would add nothing
        constexpr int lanes = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(Count)));
        return fold<Op, lanes, static_cast<int>(Count)>(values);
    }
}

} // namespace tenon::cpu
