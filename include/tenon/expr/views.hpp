/// @file
/// Other looks at the same elements: transposed, sliced, reshaped, repeated. A view of a tensor is a View, which can be
/// written to as well; a view of an expression is an expression.
#pragma once

#include <tenon/expr/look.hpp>
#include <tenon/expr/node.hpp>

namespace tenon {
namespace expr {

/// A value of A's type under another form.
template <class A, bool KeepsAxes>
struct SettledFacts {
    static constexpr Form form{KeepsAxes ? A::form.dims : A::form.visible()};
    static constexpr Typed typed = A::typed;
    static constexpr Needs needs = A::needs;
};

/// An expression without the axes that its reductions remember.
template <class A>
class Dropped : public Expression<Dropped<A>, SettledFacts<A, false>> {
public:
    constexpr explicit Dropped(A a) : a_{static_cast<A&&>(a)} {}
    static constexpr int emit(Sketch& sketch, AxisMap const& map) {
        return emit_operand<A>(sketch, map, SettledFacts<A, false>::form, true);
    }
    void collect(Operand*& to) const { a_.collect(to); }

private:
    A a_;
};

/// An expression in which the axes that its reductions remember stay, with one element.
template <class A>
class Kept : public Expression<Kept<A>, SettledFacts<A, true>> {
public:
    constexpr explicit Kept(A a) : a_{static_cast<A&&>(a)} {}
    static constexpr int emit(Sketch& sketch, AxisMap const& map) { return expr::emit<A>(sketch, map); }
    void collect(Operand*& to) const { a_.collect(to); }

private:
    A a_;
};

/// What a view is taken of: a part whose axes are those that a user sees.
template <class E>
constexpr auto settled(E&& e) {
    using N = node_t<E>;
    if constexpr (N::form.droppable != 0) return Dropped<N>{as_node(static_cast<E&&>(e))};
    else return as_node(static_cast<E&&>(e));
}
template <class E>
using settled_t = decltype(settled(std::declval<E>()));

/// The shape that a view is taken of, and whether the view fits it.
template <class What, class E>
struct ViewFit {
    using Of = shape_of<std::remove_cvref_t<E>::shape::dims>;
    static constexpr bool fits = detail::mistaken<E>() || What::of(Of::dims).valid;
};
/// A look that does not fit, and has been reported, changes nothing.
template <class What>
[[nodiscard]] constexpr Look look(Dims const& dims) {
    return What::of(dims).valid ? What::of(dims) : same_look(dims);
}

template <class What, class A>
struct ViewedFacts {
    static constexpr Look seen = look<What>(A::form.dims);
    static constexpr Form form{seen.dims, 0, A::form.mistaken || !What::of(A::form.dims).valid};
    static constexpr Typed typed = A::typed;
    static constexpr Needs needs = A::needs;
};

/// An expression seen through a Look. A remembers no axes.
template <class What, class A>
class Viewed : public Expression<Viewed<What, A>, ViewedFacts<What, A>> {
public:
    constexpr explicit Viewed(A a) : a_{static_cast<A&&>(a)} {}

    static constexpr int emit(Sketch& sketch, AxisMap const& map) {
        constexpr Look seen = ViewedFacts<What, A>::seen;
        AxisMap inner;
        inner.rank = A::form.dims.rank;
        inner.scope = map.scope;
        for (int j = 0; j < inner.rank; ++j) {
            int const from = static_cast<int>(seen.axis[j]);
            inner.axis[j] = map.axis[from];
            inner.step[j] = map.step[from] * seen.step[j];
            inner.start[j] = seen.start[j] + map.start[from] * seen.step[j];
        }
        return expr::emit<A>(sketch, inner);
    }
    void collect(Operand*& to) const { a_.collect(to); }

private:
    A a_;
};

/// Offset of a view's first element, and its strides.
struct Window {
    index_t offset = 0;
    Dims strides;
};
[[nodiscard]] constexpr Window window(Look const& look, Dims const& strides) {
    Window w;
    w.strides.rank = look.dims.rank;
    for (int j = 0; j < strides.rank; ++j) {
        w.offset += look.start[j] * strides[j];
        w.strides.extent[look.axis[j]] = look.step[j] * strides[j];
    }
    return w;
}

template <class What, class T, class S, class Stride>
constexpr auto view_of(View<T, S, Stride> const& view) {
    constexpr Look what = look<What>(S::dims);
    constexpr Window w = window(what, Stride::dims);
    constexpr Dims dims = what.dims, strides = w.strides;
    return View<T, shape_of<dims>, strides_of<strides>>{view.data() + w.offset};
}
template <class What, class T, class S>
constexpr auto view_of(Tensor<T, S>& tensor) {
    return view_of<What>(tensor.view());
}
template <class What, class T, class S>
constexpr auto view_of(Tensor<T, S> const& tensor) {
    return view_of<What>(tensor.view());
}
template <class What, class T, class S>
constexpr auto view_of(Tensor<T, S>&& tensor) {
    return Viewed<What, Owned<T, S>>{as_node(static_cast<Tensor<T, S>&&>(tensor))};
}
template <class What, class E>
    requires is_expression<std::remove_cvref_t<E>>
constexpr auto view_of(E&& e) {
    return Viewed<What, settled_t<E>>{settled(static_cast<E&&>(e))};
}

} // namespace expr

/// Rows become columns: the last two axes change places.
template <TensorLike E>
constexpr auto transpose(E&& e) {
    using What = expr::SwappedLastAxes;
    if constexpr (!expr::ViewFit<What, E>::fits) require_view<What, typename expr::ViewFit<What, E>::Of>();
    return expr::view_of<What>(static_cast<E&&>(e));
}
/// Axis i of the result is axis Order[i] of `e`: permute<2, 0, 1>(e).
template <int... Order, TensorLike E>
constexpr auto permute(E&& e) {
    using What = expr::Permutation<Order...>;
    if constexpr (!expr::ViewFit<What, E>::fits) require_view<What, typename expr::ViewFit<What, E>::Of>();
    return expr::view_of<What>(static_cast<E&&>(e));
}
/// Elements Begin to End (not included) of an axis, every Step-th: slice<1, 0, 10>(x) is x's first ten columns.
template <int Axis, index_t Begin, index_t End, index_t Step = 1, TensorLike E>
constexpr auto slice(E&& e) {
    using What = expr::Slice<Axis, Begin, End, Step>;
    if constexpr (!expr::ViewFit<What, E>::fits) require_view<What, typename expr::ViewFit<What, E>::Of>();
    return expr::view_of<What>(static_cast<E&&>(e));
}
/// A new axis of one element: insert_axis<1>(b) of Shape<5> has Shape<5, 1>.
template <int Axis, TensorLike E>
constexpr auto insert_axis(E&& e) {
    using What = expr::Inserted<Axis>;
    if constexpr (!expr::ViewFit<What, E>::fits) require_view<What, typename expr::ViewFit<What, E>::Of>();
    return expr::view_of<What>(static_cast<E&&>(e));
}
/// Repeated to shape S: axes of one element and missing leading axes.
template <class S, TensorLike E>
constexpr auto broadcast_to(E&& e) {
    using What = expr::Repeated<S>;
    if constexpr (!expr::ViewFit<What, E>::fits) require_view<What, typename expr::ViewFit<What, E>::Of>();
    return expr::view_of<What>(static_cast<E&&>(e));
}
/// The elements of a tensor or a contiguous view, in order, under shape S.
template <class S, class T, class From, class Stride>
constexpr auto reshape(View<T, From, Stride> const& view) {
    if constexpr (S::count != From::count) require_reshape<shape_of<S::dims>, shape_of<From::dims>>();
    else if constexpr (!View<T, From, Stride>::contiguous)
        require_contiguous<shape_of<S::dims>, shape_of<From::dims>>();
    return View<T, S>{view.data()};
}
template <class S, class T, class From>
constexpr auto reshape(Tensor<T, From>& tensor) {
    if constexpr (S::count != From::count) require_reshape<shape_of<S::dims>, shape_of<From::dims>>();
    return View<T, S>{tensor.data()};
}
template <class S, class T, class From>
constexpr auto reshape(Tensor<T, From> const& tensor) {
    if constexpr (S::count != From::count) require_reshape<shape_of<S::dims>, shape_of<From::dims>>();
    return View<T const, S>{tensor.data()};
}
/// The elements of a temporary: moved into a tensor of the new shape by the expression that takes it.
template <class S, class T, class From>
constexpr auto reshape(Tensor<T, From>&& tensor) = delete; // a view of it would dangle
/// All elements along one axis.
template <class E>
    requires TensorLike<E>
constexpr auto flatten(E&& e) {
    return reshape<Shape<std::remove_cvref_t<E>::shape::count>>(static_cast<E&&>(e));
}
/// Element `index` of axis Axis, which is gone from the result: at<0>(x, 3) is row 3 of a matrix. Throws Error where
/// there is no such element.
template <int Axis, class T, class S, class Stride>
constexpr auto at(View<T, S, Stride> const& view, index_t index) {
    constexpr int axis = normalised_axis(Axis, S::rank);
    static_assert(axis >= 0, "tenon: at() of an axis that this shape does not have");
    constexpr auto without = [](Dims const& dims) {
        Dims rest;
        for (int j = 0; j < dims.rank; ++j)
            if (j != axis) rest.extent[rest.rank++] = dims[j];
        return rest;
    };
    if (index < 0 || index >= S::dims[axis])
        fail("at: index " + std::to_string(index) + " is outside an axis of " + std::to_string(S::dims[axis]) +
             " elements");
    constexpr Dims dims = without(S::dims), strides = without(Stride::dims);
    return View<T, shape_of<dims>, strides_of<strides>>{view.data() + index * Stride::dims[axis]};
}
template <int Axis, class T, class S>
constexpr auto at(Tensor<T, S>& tensor, index_t index) {
    return at<Axis>(tensor.view(), index);
}
template <int Axis, class T, class S>
constexpr auto at(Tensor<T, S> const& tensor, index_t index) {
    return at<Axis>(tensor.view(), index);
}
template <int Axis, class T, class S>
constexpr auto at(Tensor<T, S>&&, index_t) = delete; // a view of it would dangle

} // namespace tenon
