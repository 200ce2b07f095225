/// @file
/// Reductions along compile-time axes, and what is made of them: mean, logsumexp, softmax.
///
/// `max<1>(x)` of Shape<R, C> remembers where its axis was: beside a value of x's rank it broadcasts along that axis,
/// so that `x - max<1>(x)` takes each row's maximum from that row; alone, assigned or beside values of another rank it
/// has Shape<R>. `max<1>(x, keep)` has Shape<R, 1> for good, `max<1>(x, drop)` Shape<R> for good. Axis -1 is the last
/// one; without axes all are reduced.
#pragma once

#include <tenon/expr/operators.hpp>
#include <tenon/expr/views.hpp>

#include <limits>

namespace tenon {

/// Reduced axes are remembered, as above.
struct Remember {};
/// Reduced axes stay, with one element.
struct Keep {};
inline constexpr Keep keep{};
/// Reduced axes go, also beside values of the original rank.
struct Drop {};
inline constexpr Drop drop{};

namespace expr {

/// The axes that `Axis...` name in a shape of this rank; all, where none is named.
template <int... Axis>
constexpr AxisSet axis_set(int rank) {
    if constexpr (sizeof...(Axis) == 0) return (1u << rank) - 1u;
    else return (just(normalised_axis(Axis, rank)) | ...);
}
/// Elements that are combined into one.
[[nodiscard]] constexpr index_t reduced_count(Dims const& dims, AxisSet axes) {
    index_t n = 1;
    for (int j = 0; j < dims.rank; ++j)
        if (holds(axes, j)) n *= dims[j];
    return n;
}
/// Whether a reduction fits what it reduces; a mistake that has been reported fits.
template <class E, int... Axis>
struct ReductionFit {
    using Of = typename std::remove_cvref_t<E>::shape;
    using Shown = shape_of<Of::dims>;
    static constexpr bool fits = detail::mistaken<E>() || ((normalised_axis(Axis, Of::rank) >= 0) && ...);
    static constexpr bool has_elements =
        detail::mistaken<E>() || reduced_count(Of::dims, axis_set<Axis...>(Of::rank)) != 0;
};

/// Axes 0 stands for a mistake that has been reported: no axis was named that exists.
[[nodiscard]] constexpr Form reduced_form(Form form, AxisSet axes) {
    for (int j = 0; j < form.dims.rank; ++j)
        if (holds(axes, j)) form.dims.extent[j] = 1;
    return {form.dims, axes, form.mistaken || (axes == 0 && form.dims.rank > 0)};
}
[[nodiscard]] constexpr Typed reduced_type(ReduceOp op, Typed t) {
    if (op == ReduceOp::argmax || op == ReduceOp::argmin) return {DType::int64};
    bool const adds = op == ReduceOp::sum || op == ReduceOp::product;
    return {adds && !is_floating(t.type) ? DType::int64 : t.type};
}
[[nodiscard]] constexpr Needs reduced_needs(ReduceOp op, Typed t, index_t count) {
    bool const index = op == ReduceOp::argmax || op == ReduceOp::argmin;
    if (index) return count > 1 << 24 ? needs_exact : 0;
    bool const adds = op == ReduceOp::sum || op == ReduceOp::product;
    return is_floating(t.type) || !adds ? 0u : needs_int64 | needs_exact;
}

/// Loops for the reduced axes of A, under the map of the reduced value.
struct OpenLoops {
    AxisMap map;
    Reduction reduction;
};
[[nodiscard]] constexpr OpenLoops open_loops(Sketch& sketch, AxisMap const& map, Dims const& dims, AxisSet axes,
                                             ReduceOp op) {
    OpenLoops open{map, {}};
    open.reduction.op = op;
    for (int j = 0; j < dims.rank; ++j) {
        if (!holds(axes, j)) {
            if (dims[j] > 1) open.reduction.lane_axis = map.axis[j];
            continue;
        }
        int const loop = sketch.loop(dims[j], open.map.scope, map.axis[j]);
        open.map.axis[j] = loop;
        open.map.step[j] = 1;
        open.map.start[j] = 0;
        open.map.scope |= just(loop);
        open.reduction.axis[open.reduction.axes++] = loop;
        if (dims[j] > 1) open.reduction.lane_axis = -1;
    }
    return open;
}

template <ReduceOp Op, AxisSet Axes, class A>
struct ReducedFacts {
    static constexpr Form form = reduced_form(A::form, Axes);
    static constexpr Typed typed = reduced_type(Op, A::typed);
    static constexpr Needs needs = A::needs | reduced_needs(Op, A::typed, reduced_count(A::form.dims, Axes));
};

template <ReduceOp Op, AxisSet Axes, class A>
class Reduced : public Expression<Reduced<Op, Axes, A>, ReducedFacts<Op, Axes, A>> {
public:
    constexpr explicit Reduced(A a) : a_{static_cast<A&&>(a)} {}

    static constexpr int emit(Sketch& sketch, AxisMap const& map) {
        OpenLoops const open = open_loops(sketch, map, A::form.dims, Axes, Op);
        int const value = expr::emit<A>(sketch, open.map);
        return sketch.reduce(open.reduction, value);
    }
    void collect(Operand*& to) const { a_.collect(to); }

private:
    A a_;
};

/// What is known of exp(a), with all axes or with reduced ones.
template <AxisSet Axes, class A>
struct ExpFacts {
    static constexpr Form form = Axes == 0 ? A::form : reduced_form(A::form, Axes);
    static constexpr Typed typed = expr::typed(Fn::exp, A::typed);
    static constexpr Needs needs = A::needs | needs_of(typed.type);
};

/// log(sum(exp(a))) along axes, without overflow.
template <AxisSet Axes, class A>
class LogSumExp : public Expression<LogSumExp<Axes, A>, ExpFacts<Axes, A>> {
public:
    constexpr explicit LogSumExp(A a) : a_{static_cast<A&&>(a)} {}

    static constexpr int emit(Sketch& s, AxisMap const& map) {
        OpenLoops open = open_loops(s, map, A::form.dims, Axes, ReduceOp::max);
        int const value = expr::emit<A>(s, open.map);
        int const most = s.reduce(open.reduction, value);
        int const infinite =
            s.apply(Fn::equal, s.apply(Fn::abs, most), s.constant(std::numeric_limits<float>::infinity()));
        int const shift = s.apply(Fn::select, infinite, s.constant(0), most); // infinity - infinity is NaN
        open.reduction.op = ReduceOp::sum;
        int const total = s.reduce(open.reduction, s.apply(Fn::exp, s.apply(Fn::sub, value, shift)));
        return s.apply(Fn::add, s.apply(Fn::log, total), shift);
    }
    void collect(Operand*& to) const { a_.collect(to); }

private:
    A a_;
};

/// exp(a - logsumexp(a)) along axes, or its logarithm.
template <bool Log, AxisSet Axes, class A>
class Softmax : public Expression<Softmax<Log, Axes, A>, ExpFacts<0, A>> {
public:
    constexpr explicit Softmax(A a) : a_{static_cast<A&&>(a)} {}

    static constexpr int emit(Sketch& s, AxisMap const& map) {
        int const first_leaf = s.leaves;
        OpenLoops open = open_loops(s, map, A::form.dims, Axes, ReduceOp::max);
        int const all = expr::emit<A>(s, open.map);
        int const most = s.reduce(open.reduction, all);
        open.reduction.op = ReduceOp::sum;
        int const total = s.reduce(open.reduction, s.apply(Fn::exp, s.apply(Fn::sub, all, most)));
        s.leaves = first_leaf; // the same leaves once more, where this element is: mostly the same step
        int const shifted = s.apply(Fn::sub, expr::emit<A>(s, map), most);
        // One division per row: 1 <= total <= elements of the row, so 1 / total neither overflows nor underflows.
        return Log ? s.apply(Fn::sub, shifted, s.apply(Fn::log, total))
                   : s.apply(Fn::mul, s.apply(Fn::exp, shifted), s.apply(Fn::div, s.constant(1), total));
    }
    void collect(Operand*& to) const { a_.collect(to); }

private:
    A a_;
};

template <ReduceOp Op, int... Axis, class E>
constexpr auto reduction_of(E&& e) {
    using A = settled_t<E>;
    using Of = typename A::shape;
    return Reduced<Op, axis_set<Axis...>(Of::rank), A>{settled(static_cast<E&&>(e))};
}

template <class T>
concept AxisMode = std::is_same_v<T, Remember> || std::is_same_v<T, Keep> || std::is_same_v<T, Drop>;

template <class Mode, class R>
constexpr auto with_axes(R&& reduced) {
    if constexpr (std::is_same_v<Mode, Keep>) return Kept<R>{static_cast<R&&>(reduced)};
    else if constexpr (std::is_same_v<Mode, Drop>) return Dropped<R>{static_cast<R&&>(reduced)};
    else return R{static_cast<R&&>(reduced)};
}

/// The whole number N, which leaves element types as they are.
template <index_t N>
class WholeNumber : public Expression<WholeNumber<N>, NumberFacts<std::int64_t>> {
public:
    static constexpr int emit(Sketch& sketch, AxisMap const&) { return sketch.number(static_cast<double>(N)); }
    static void collect(Operand*&) {}
};

template <int... Axis, class E>
constexpr auto mean_of(E&& e) {
    auto total = reduction_of<ReduceOp::sum, Axis...>(static_cast<E&&>(e));
    using Of = typename settled_t<E>::shape;
    constexpr index_t count = reduced_count(Of::dims, axis_set<Axis...>(Of::rank));
    return Binary<Fn::div, decltype(total), WholeNumber<(count == 0 ? 1 : count)>>{
        static_cast<decltype(total)&&>(total), {}};
}
template <int... Axis, class E>
constexpr auto logsumexp_of(E&& e) {
    using A = settled_t<E>;
    using Of = typename A::shape;
    return LogSumExp<axis_set<Axis...>(Of::rank), A>{settled(static_cast<E&&>(e))};
}
template <bool Log, int... Axis, class E>
constexpr auto softmax_of(E&& e) {
    using A = settled_t<E>;
    using Of = typename A::shape;
    return Softmax<Log, axis_set<Axis...>(Of::rank), A>{settled(static_cast<E&&>(e))};
}

} // namespace expr

// A name in parentheses is safe from a macro of that name.

/// Sum, in an order that depends on the shape alone. Of whole numbers and truth values: int64.
template <int... Axis, TensorLike E, expr::AxisMode Mode = Remember>
constexpr auto sum(E&& e, Mode = {}) {
    using Fit = expr::ReductionFit<E, Axis...>;
    if constexpr (!Fit::fits) require_axes<typename Fit::Shown, Axis...>();
    return expr::with_axes<Mode>(expr::reduction_of<expr::ReduceOp::sum, Axis...>(static_cast<E&&>(e)));
}
/// Product, in an order that depends on the shape alone.
template <int... Axis, TensorLike E, expr::AxisMode Mode = Remember>
constexpr auto prod(E&& e, Mode = {}) {
    using Fit = expr::ReductionFit<E, Axis...>;
    if constexpr (!Fit::fits) require_axes<typename Fit::Shown, Axis...>();
    return expr::with_axes<Mode>(expr::reduction_of<expr::ReduceOp::product, Axis...>(static_cast<E&&>(e)));
}
/// The largest element; NaN where there is one.
template <int... Axis, TensorLike E, expr::AxisMode Mode = Remember>
constexpr auto(max)(E&& e, Mode = {}) {
    using Fit = expr::ReductionFit<E, Axis...>;
    if constexpr (!Fit::fits) require_axes<typename Fit::Shown, Axis...>();
    else if constexpr (!Fit::has_elements) require_elements<typename Fit::Shown>();
    return expr::with_axes<Mode>(expr::reduction_of<expr::ReduceOp::max, Axis...>(static_cast<E&&>(e)));
}
/// The smallest element; NaN where there is one.
template <int... Axis, TensorLike E, expr::AxisMode Mode = Remember>
constexpr auto(min)(E&& e, Mode = {}) {
    using Fit = expr::ReductionFit<E, Axis...>;
    if constexpr (!Fit::fits) require_axes<typename Fit::Shown, Axis...>();
    else if constexpr (!Fit::has_elements) require_elements<typename Fit::Shown>();
    return expr::with_axes<Mode>(expr::reduction_of<expr::ReduceOp::min, Axis...>(static_cast<E&&>(e)));
}
/// Index of the first largest element among those that are reduced, in their order; of the first NaN where there is
/// one. int64.
template <int... Axis, TensorLike E, expr::AxisMode Mode = Remember>
constexpr auto argmax(E&& e, Mode = {}) {
    using Fit = expr::ReductionFit<E, Axis...>;
    if constexpr (!Fit::fits) require_axes<typename Fit::Shown, Axis...>();
    else if constexpr (!Fit::has_elements) require_elements<typename Fit::Shown>();
    return expr::with_axes<Mode>(expr::reduction_of<expr::ReduceOp::argmax, Axis...>(static_cast<E&&>(e)));
}
/// Index of the first smallest element; of the first NaN where there is one. int64.
template <int... Axis, TensorLike E, expr::AxisMode Mode = Remember>
constexpr auto argmin(E&& e, Mode = {}) {
    using Fit = expr::ReductionFit<E, Axis...>;
    if constexpr (!Fit::fits) require_axes<typename Fit::Shown, Axis...>();
    else if constexpr (!Fit::has_elements) require_elements<typename Fit::Shown>();
    return expr::with_axes<Mode>(expr::reduction_of<expr::ReduceOp::argmin, Axis...>(static_cast<E&&>(e)));
}
/// Sum divided by the number of elements; 0 where there are none.
template <int... Axis, TensorLike E, expr::AxisMode Mode = Remember>
constexpr auto mean(E&& e, Mode = {}) {
    using Fit = expr::ReductionFit<E, Axis...>;
    if constexpr (!Fit::fits) require_axes<typename Fit::Shown, Axis...>();
    return expr::with_axes<Mode>(expr::mean_of<Axis...>(static_cast<E&&>(e)));
}
/// log(sum(exp(x))), without overflow.
template <int... Axis, TensorLike E, expr::AxisMode Mode = Remember>
constexpr auto logsumexp(E&& e, Mode = {}) {
    using Fit = expr::ReductionFit<E, Axis...>;
    if constexpr (!Fit::fits) require_axes<typename Fit::Shown, Axis...>();
    else if constexpr (!Fit::has_elements) require_elements<typename Fit::Shown>();
    return expr::with_axes<Mode>(expr::logsumexp_of<Axis...>(static_cast<E&&>(e)));
}
/// exp(x) / sum(exp(x)) along axes, without overflow.
template <int... Axis, TensorLike E>
constexpr auto softmax(E&& e) {
    using Fit = expr::ReductionFit<E, Axis...>;
    if constexpr (!Fit::fits) require_axes<typename Fit::Shown, Axis...>();
    else if constexpr (!Fit::has_elements) require_elements<typename Fit::Shown>();
    return expr::softmax_of<false, Axis...>(static_cast<E&&>(e));
}
/// log(softmax(x)), without overflow.
template <int... Axis, TensorLike E>
constexpr auto log_softmax(E&& e) {
    using Fit = expr::ReductionFit<E, Axis...>;
    if constexpr (!Fit::fits) require_axes<typename Fit::Shown, Axis...>();
    else if constexpr (!Fit::has_elements) require_elements<typename Fit::Shown>();
    return expr::softmax_of<true, Axis...>(static_cast<E&&>(e));
}

} // namespace tenon
