/// @file
/// Expressions that work element by element: the scalar functions of one, two and three operands.
#pragma once

#include <tenon/expr/node.hpp>

namespace tenon::expr {

/// How operands of forms A::form and B::form fit, and their shapes as far as they take part.
template <class A, class B>
struct Fit {
    static constexpr Joined together = join(A::form, B::form);
    static constexpr bool fits = together.fits;
    static constexpr Dims left_dims = together.drop_a ? A::form.visible() : A::form.dims;
    static constexpr Dims right_dims = together.drop_b ? B::form.visible() : B::form.dims;
    using Left = shape_of<left_dims>;
    using Right = shape_of<right_dims>;
};

/// The same of what operators are called with.
template <class A, class B>
inline constexpr bool fit = Fit<node_t<A>, node_t<B>>::fits;
template <class A, class B>
using left_shape = typename Fit<node_t<A>, node_t<B>>::Left;
template <class A, class B>
using right_shape = typename Fit<node_t<A>, node_t<B>>::Right;

/// Whether an operation computes with whole numbers that single precision would round.
[[nodiscard]] constexpr Needs exactness(Fn fn, DType a, DType b) {
    bool const whole = !is_floating(a) && !is_floating(b) && !gives_fraction(fn);
    return whole && (a >= DType::int32 || b >= DType::int32) ? needs_exact : 0u;
}

/// The needs of a result that is no plain number.
[[nodiscard]] constexpr Needs needs_of(Typed t) { return t.weak ? 0 : needs_of(t.type); }

template <Fn F, class A>
struct UnaryFacts {
    static constexpr Form form = A::form;
    static constexpr Typed typed = expr::typed(F, A::typed);
    static constexpr Needs needs = A::needs | needs_of(typed) | exactness(F, A::typed.type, A::typed.type);
};

template <Fn F, class A>
class Unary : public Expression<Unary<F, A>, UnaryFacts<F, A>> {
public:
    constexpr explicit Unary(A a) : a_{static_cast<A&&>(a)} {}

    static constexpr int emit(Sketch& sketch, AxisMap const& map) {
        return sketch.apply(F, expr::emit<A>(sketch, map));
    }
    void collect(Operand*& to) const { a_.collect(to); }

private:
    A a_;
};

template <Fn F, class A, class B>
struct BinaryFacts {
    static constexpr Joined together = join(A::form, B::form);
    static constexpr Form form = together.form;
    static constexpr Typed typed = expr::typed(F, promote(A::typed, B::typed));
    static constexpr Needs needs = A::needs | B::needs | needs_of(typed) | exactness(F, A::typed.type, B::typed.type);
};

template <Fn F, class A, class B>
class Binary : public Expression<Binary<F, A, B>, BinaryFacts<F, A, B>> {
    using Facts = BinaryFacts<F, A, B>;

public:
    constexpr Binary(A a, B b) : a_{static_cast<A&&>(a)}, b_{static_cast<B&&>(b)} {}

    static constexpr int emit(Sketch& sketch, AxisMap const& map) {
        int const a = emit_operand<A>(sketch, map, Facts::form, Facts::together.drop_a);
        int const b = emit_operand<B>(sketch, map, Facts::form, Facts::together.drop_b);
        return sketch.apply(F, a, b);
    }
    void collect(Operand*& to) const {
        a_.collect(to);
        b_.collect(to);
    }

private:
    A a_;
    B b_;
};

template <Fn F, class A, class B, class C>
struct TernaryFacts {
    static constexpr Typed of_rest = promote(B::typed, C::typed);
    using Rest = BinaryFacts<Fn::add, B, C>; // the form of b and c together
    static constexpr Joined together = join(A::form, Rest::form);
    static constexpr Form form = together.form;
    static constexpr Typed typed =
        expr::typed(F, F == Fn::select ? chosen(A::typed, of_rest) : promote(A::typed, of_rest));
    static constexpr Needs needs =
        A::needs | B::needs | C::needs | needs_of(typed) | exactness(F, B::typed.type, C::typed.type);
};

/// Fn::select and Fn::fma.
template <Fn F, class A, class B, class C>
class Ternary : public Expression<Ternary<F, A, B, C>, TernaryFacts<F, A, B, C>> {
    using Facts = TernaryFacts<F, A, B, C>;
    using Rest = typename Facts::Rest;

public:
    constexpr Ternary(A a, B b, C c) : a_{static_cast<A&&>(a)}, b_{static_cast<B&&>(b)}, c_{static_cast<C&&>(c)} {}

    static constexpr int emit(Sketch& sketch, AxisMap const& map) {
        int const a = emit_operand<A>(sketch, map, Facts::form, Facts::together.drop_a);
        AxisMap const rest = child_map(map, Facts::form.dims, Rest::form, Facts::together.drop_b);
        int const b = emit_operand<B>(sketch, rest, Rest::form, Rest::together.drop_a);
        int const c = emit_operand<C>(sketch, rest, Rest::form, Rest::together.drop_b);
        return sketch.apply(F, a, b, c);
    }
    void collect(Operand*& to) const {
        a_.collect(to);
        b_.collect(to);
        c_.collect(to);
    }

private:
    A a_;
    B b_;
    C c_;
};

template <Fn F, class A>
constexpr auto unary_of(A&& a) {
    return Unary<F, node_t<A>>{as_node(static_cast<A&&>(a))};
}
template <Fn F, class A, class B>
constexpr auto binary_of(A&& a, B&& b) {
    return Binary<F, node_t<A>, node_t<B>>{as_node(static_cast<A&&>(a)), as_node(static_cast<B&&>(b))};
}
template <Fn F, class A, class B, class C>
constexpr auto ternary_of(A&& a, B&& b, C&& c) {
    return Ternary<F, node_t<A>, node_t<B>, node_t<C>>{as_node(static_cast<A&&>(a)), as_node(static_cast<B&&>(b)),
                                                       as_node(static_cast<C&&>(c))};
}

} // namespace tenon::expr
