/// @file
/// A user's functor on a scalar, applied to each element of an expression.
#pragma once

#include <tenon/expr/operators.hpp>

namespace tenon {
namespace expr {

/// The element type that F makes of operands: found by tracing it into a sketch that is thrown away.
template <class F, class... T>
constexpr Typed traced_type(T... operand) {
    Sketch sketch;
    return F{}(Traced{&sketch, sketch.add(Node{}), operand}...).typed;
}

template <class F, class A>
struct MapFacts {
    static constexpr Form form = A::form;
    static constexpr Typed typed = traced_type<F>(A::typed);
    static constexpr Needs needs = A::needs | needs_of(typed) | exactness(Fn::add, A::typed.type, A::typed.type);
};

/// F of each element of A.
template <class F, class A>
class Map : public Expression<Map<F, A>, MapFacts<F, A>> {
public:
    constexpr explicit Map(A a) : a_{static_cast<A&&>(a)} {}

    static constexpr int emit(Sketch& sketch, AxisMap const& map) {
        return F{}(Traced{&sketch, expr::emit<A>(sketch, map), A::typed}).id;
    }
    void collect(Operand*& to) const { a_.collect(to); }

private:
    A a_;
};

template <class F, class A, class B>
struct Map2Facts {
    static constexpr Joined together = join(A::form, B::form);
    static constexpr Form form = together.form;
    static constexpr Typed typed = traced_type<F>(A::typed, B::typed);
    static constexpr Needs needs =
        A::needs | B::needs | needs_of(typed) | exactness(Fn::add, A::typed.type, B::typed.type);
};

/// F of each pair of elements of A and B, which broadcast.
template <class F, class A, class B>
class Map2 : public Expression<Map2<F, A, B>, Map2Facts<F, A, B>> {
    using Facts = Map2Facts<F, A, B>;

public:
    constexpr Map2(A a, B b) : a_{static_cast<A&&>(a)}, b_{static_cast<B&&>(b)} {}

    static constexpr int emit(Sketch& sketch, AxisMap const& map) {
        int const a = emit_operand<A>(sketch, map, Facts::form, Facts::together.drop_a);
        int const b = emit_operand<B>(sketch, map, Facts::form, Facts::together.drop_b);
        return F{}(Traced{&sketch, a, A::typed}, Traced{&sketch, b, B::typed}).id;
    }
    void collect(Operand*& to) const {
        a_.collect(to);
        b_.collect(to);
    }

private:
    A a_;
    B b_;
};

} // namespace expr

/// f of each element (of each pair of elements) of expressions. `f` is a functor without state on a scalar of any type;
/// it is called once, at compile time, to see what it computes, and whatever it mentions twice is computed once.
///
///     struct Mish { constexpr auto operator()(auto x) const { return x * tanh(softplus(x)); } };
///     y = map(Mish{}, x + b);
///
/// `Mish{}(x + b)` means the same.
template <class F, TensorLike A>
constexpr auto map(F, A&& a) {
    static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                  "tenon: map() takes a functor without state: give numbers as operands");
    return expr::Map<F, expr::node_t<A>>{expr::as_node(static_cast<A&&>(a))};
}
template <class F, class A, class B>
    requires are_operands<A, B>
constexpr auto map(F, A&& a, B&& b) {
    static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                  "tenon: map() takes a functor without state: give numbers as operands");
    if constexpr (!expr::fit<A, B>) require_broadcast<expr::left_shape<A, B>, expr::right_shape<A, B>>();
    return expr::Map2<F, expr::node_t<A>, expr::node_t<B>>{expr::as_node(static_cast<A&&>(a)),
                                                           expr::as_node(static_cast<B&&>(b))};
}

} // namespace tenon
