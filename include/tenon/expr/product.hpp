/// @file
/// The matrix product as an expression: what is written around it runs on each tile of the product before the next one
/// is made.
#pragma once

#include <tenon/expr/views.hpp>

namespace tenon {

namespace expr {

template <class A, class B>
struct ProductFacts {
    static constexpr bool matrices = A::form.dims.rank == 2 && B::form.dims.rank == 2;
    static constexpr bool fits = !matrices || A::form.dims[1] == B::form.dims[0];
    static constexpr bool mistaken = A::form.mistaken || B::form.mistaken || !matrices || !fits;
    static constexpr Form form{Dims{A::form.dims.extent[0], B::form.dims.extent[1]}, 0, mistaken};
    static constexpr Typed typed = promote(A::typed, B::typed);
    static constexpr Needs needs = A::needs | B::needs | (is_floating(typed.type) ? 0u : needs_exact);
};

/// a (M, K) times b (K, N): (M, N).
template <class A, class B>
class Product : public Expression<Product<A, B>, ProductFacts<A, B>> {
public:
    constexpr Product(A a, B b) : a_{static_cast<A&&>(a)}, b_{static_cast<B&&>(b)} {}

    static constexpr int emit(Sketch& sketch, AxisMap const& map) {
        int const inner = sketch.loop(A::form.dims[1], map.scope, -1);
        AxisMap left = map, right = map;
        left.axis[1] = right.axis[0] = inner;
        left.step[1] = right.step[0] = 1;
        left.start[1] = right.start[0] = 0;
        left.scope = right.scope = map.scope | just(inner);
        int const a = expr::emit<A>(sketch, left);
        int const b = expr::emit<B>(sketch, right);
        return sketch.multiply(a, b, map.step[0] == 0 ? -1 : map.axis[0], map.step[1] == 0 ? -1 : map.axis[1], inner);
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

/// The matrix product of a (M, K) and b (K, N), which may be expressions. `relu(matmul(x, w) + b)` never stores the
/// bare product.
template <TensorLike A, TensorLike B>
constexpr auto matmul(A&& a, B&& b) {
    using Left = expr::settled_t<A>;
    using Right = expr::settled_t<B>;
    using Facts = expr::ProductFacts<Left, Right>;
    if constexpr (!Left::mistaken && !Right::mistaken) {
        if constexpr (!Facts::matrices) require_matrices<shape_of<Left::form.dims>, shape_of<Right::form.dims>>();
        else if constexpr (!Facts::fits) require_product<shape_of<Left::form.dims>, shape_of<Right::form.dims>>();
    }
    return expr::Product<Left, Right>{expr::settled(static_cast<A&&>(a)), expr::settled(static_cast<B&&>(b))};
}

} // namespace tenon
