/// @file
/// Assignment: where expressions are computed. `y = e` computes when the statement ends; update(a = e, b = f) computes
/// both in one loop.
#pragma once

#include <tenon/cpu/statement.hpp>
#include <tenon/expr/overlap.hpp>

namespace tenon {
namespace expr {

/// Runs statements whose leaves have been collected, in one loop.
template <class Observer, class... S>
void run_collected(Operand const* leaves) {
    if constexpr (merging_pays<S...>) {
        using Merged = Lowered<Leaves::merged, S...>;
        if (leaves_agree<Merged>(leaves)) return cpu::statement::run_plan<Merged, Observer>(leaves);
    }
    cpu::statement::run_plan<Lowered<Leaves::distinct, S...>, Observer>(leaves);
}

/// An assignment that has been written down but not yet computed. It computes when it is destroyed, at the end of the
/// statement.
template <class T, class S, class Stride, class E>
class Assignment : public Expression<Assignment<T, S, Stride, E>, TensorFacts<T, S>> {
public:
    using statement = Statement<T, S, Stride, E>;

    Assignment(View<T, S, Stride> const& target, E&& value) : target_{target}, value_{static_cast<E&&>(value)} {}
    Assignment(Assignment const&) = delete;
    Assignment& operator=(Assignment const&) = delete;
    /// May throw what computing throws: std::bad_alloc for a temporary.
    ~Assignment() noexcept(false) {
        if (pending_) compute();
    }

    /// Computes now. Observer: void, or what is told of reads and writes (cpu/loop.hpp).
    template <class Observer = void>
    void compute() {
        pending_ = false;
        if constexpr (statement::fits) {
            using L = Lowered<Leaves::distinct, statement>;
            Operand leaves[static_cast<std::size_t>(L::sketch.leaves)];
            collect(leaves);
            if (!overlaps<L>(leaves)) run_collected<Observer, statement>(leaves);
            else compute_aside<Observer>();
        }
    }
    /// Leaves the computation to somebody else.
    void release() { pending_ = false; }

    /// The operands of the value, then the target. Returns where the next statement's go.
    Operand* collect(Operand* to) const {
        value_.collect(to);
        *to++ = {target_.data()};
        return to;
    }
    [[nodiscard]] View<T, S, Stride> const& target() const { return target_; }

private:
    View<T, S, Stride> target_;
    E value_;
    bool pending_ = true;

    /// The value reads elements that the target overwrites too early: through a tensor of its own.
    template <class Observer>
    void compute_aside() {
        Tensor<T, S> aside{uninitialized};
        View<T, S> const view = aside.view();
        using Aside = Statement<T, S, typename View<T, S>::strides, E>;
        Operand leaves[static_cast<std::size_t>(Lowered<Leaves::distinct, Aside>::sketch.leaves)];
        Operand* to = leaves;
        value_.collect(to);
        *to = {view.data()};
        run_collected<Observer, Aside>(leaves);
        assign_lazily(target_, view).template compute<Observer>();
    }
};

template <class T, class S, class Stride, class E>
constexpr auto as_node(Assignment<T, S, Stride, E>&& assignment) {
    assignment.compute();
    return as_node(assignment.target());
}

} // namespace expr

/// What `tensor = value` makes.
template <class T, class S, class Stride, class E>
auto assign_lazily(View<T, S, Stride> const& target, E&& value) {
    using Node = expr::node_t<E>;
    return expr::Assignment<T, S, Stride, Node>{target, expr::as_node(static_cast<E&&>(value))};
}
/// What `Tensor y = value` does.
template <class T, class S, class Stride, class E>
void assign_now(View<T, S, Stride> const& target, E&& value) {
    assign_lazily(target, static_cast<E&&>(value)).compute();
}

namespace expr {

template <class A>
struct AssignmentTraits {
    static constexpr bool is_assignment = false;
    using shape = Shape<>;
};
template <class T, class S, class Stride, class E>
struct AssignmentTraits<Assignment<T, S, Stride, E>> {
    static constexpr bool is_assignment = true;
    using shape = shape_of<S::dims>;
};

/// The first of several shapes that differs from `First`, or `First`.
template <class First, class... Other>
struct FirstMismatch {
    using type = First;
};
template <class First, class Second, class... Other>
struct FirstMismatch<First, Second, Other...> {
    using type = typename std::conditional_t<First::dims == Second::dims, FirstMismatch<First, Other...>,
                                             std::type_identity<Second>>::type;
};

/// Computes assignments to tensors of one shape: in one loop if none of them reduces or reads, at another place, what
/// one of them writes.
template <class Observer, class First, class... Other>
void compute_together(First& first, Other&... other) {
    if constexpr (First::statement::fits && (Other::statement::fits && ...)) {
        using L = Lowered<Leaves::distinct, typename First::statement, typename Other::statement...>;
        constexpr bool one_loop = L::plan.stages == 1 && L::plan.stage[0].kind == Stage::Kind::loop;
        Operand leaves[static_cast<std::size_t>(L::sketch.leaves)];
        Operand* to = first.collect(leaves);
        ((to = other.collect(to)), ...);
        if (one_loop && !overlaps<L>(leaves)) {
            run_collected<Observer, typename First::statement, typename Other::statement...>(leaves);
        } else {
            first.template compute<Observer>();
            (other.template compute<Observer>(), ...);
        }
    }
    first.release();
    (other.release(), ...);
}

} // namespace expr

/// Several assignments to tensors of one shape in one loop: update(v = mu * v + g, p = p - lr * v) is momentum SGD,
/// each element of p using the new v. The result is that of the assignments one after the other, whatever the tensors
/// share.
template <class First, class... Other>
void update(First&& first, Other&&... other) {
    static_assert(expr::AssignmentTraits<First>::is_assignment && (expr::AssignmentTraits<Other>::is_assignment && ...),
                  "tenon: update() takes assignments, as in update(v = mu * v + g, p = p - lr * v)");
    using Shape = typename expr::AssignmentTraits<First>::shape;
    using Mismatch = typename expr::FirstMismatch<Shape, typename expr::AssignmentTraits<Other>::shape...>::type;
    if constexpr (!(Shape::dims == Mismatch::dims)) require_same_shape<Shape, Mismatch>();
    else expr::compute_together<void>(first, other...);
}

// --- compound assignment

#define TENON_COMPOUND(symbol, fn)                                                                                     \
    template <class T, class S, class E>                                                                               \
        requires(TensorLike<E> || NumberLike<E>)                                                                       \
    auto operator symbol(Tensor<T, S>& target, E&& value) {                                                            \
        if constexpr (!fits_target<S, E>) require_assignable<shape_of<S::dims>, shape_at_t<S, E>>();                   \
        return assign_lazily(target.view(), expr::binary_of<fn>(target, static_cast<E&&>(value)));                     \
    }                                                                                                                  \
    template <class T, class S, class Stride, class E>                                                                 \
        requires(TensorLike<E> || NumberLike<E>)                                                                       \
    auto operator symbol(View<T, S, Stride> const& target, E&& value) {                                                \
        if constexpr (!fits_target<S, E>) require_assignable<shape_of<S::dims>, shape_at_t<S, E>>();                   \
        return assign_lazily(target, expr::binary_of<fn>(target, static_cast<E&&>(value)));                            \
    }
TENON_COMPOUND(+=, Fn::add)
TENON_COMPOUND(-=, Fn::sub)
TENON_COMPOUND(*=, Fn::mul)
TENON_COMPOUND(/=, Fn::div)
#undef TENON_COMPOUND

} // namespace tenon
