/// @file
/// The parts of an expression that hold data: windows on tensors, tensors of its own, scalars, indices and random
/// numbers. A part is a class that derives from Expression and has
///     static constexpr int emit(Sketch&, AxisMap const&);   // writes itself as steps of a program
///     void collect(Operand*& to) const;                     // its leaves at run time, in the order of emit
#pragma once

#include <tenon/core/random.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/expr/operand.hpp>
#include <tenon/expr/typing.hpp>

namespace tenon {

/// The base of all expressions. Facts: what is known of the value, `form`, `typed` and `needs`. A user sees `shape` and
/// `value_type`, those of the tensor that `Tensor y = expression` makes.
template <class Self, class Facts>
class Expression {
public:
    using tensor_like = void;
    static constexpr expr::Form form = Facts::form;
    static constexpr expr::Typed typed = Facts::typed;
    static constexpr expr::Needs needs = Facts::needs;
    static constexpr Dims visible = form.visible();
    static constexpr DType dtype = typed.type;
    static constexpr int rank = visible.rank;
    static constexpr bool mistaken = form.mistaken;
    using shape = shape_of<visible>;
    /// Where the value is assigned to a tensor of that rank: axes that reductions remember count if they are needed.
    template <int Rank>
    using shape_at = std::conditional_t<Rank == form.dims.rank, shape_of<form.dims>, shape>;
    using value_type = type_of<dtype>;

    /// An expression of one element and no axes is a number: `float loss = sum(x * x);`
    operator value_type() const
        requires(rank == 0)
    {
        Tensor<value_type, shape> const value = static_cast<Self const&>(*this);
        return value.item();
    }
};

namespace expr {

/// What is known of a tensor.
template <class T, class S>
struct TensorFacts {
    static constexpr Form form{S::dims};
    static constexpr Typed typed{dtype_of<T>};
    static constexpr Needs needs = needs_of(dtype_of<T>);
};

/// Elements that somebody else owns.
template <class T, class S, class Stride>
class Leaf : public Expression<Leaf<T, S, Stride>, TensorFacts<T, S>> {
public:
    static constexpr bool leaf = true;

    constexpr explicit Leaf(T const* first) : first_{first} {}

    static constexpr int emit(Sketch& sketch, AxisMap const& map) {
        Route route;
        route.type = dtype_of<T>;
        route.leaf = sketch.next_leaf();
        return sketch.read(Fn::load, mapped(route, map, Stride::dims, sketch));
    }
    void collect(Operand*& to) const { *to++ = {const_cast<T*>(first_)}; }

private:
    T const* first_;
};

/// A tensor that the expression owns, since it was a temporary.
template <class T, class S>
class Owned : public Expression<Owned<T, S>, TensorFacts<T, S>> {
public:
    static constexpr bool leaf = true;

    explicit Owned(Tensor<T, S>&& tensor) : tensor_{static_cast<Tensor<T, S>&&>(tensor)} {}

    static constexpr int emit(Sketch& sketch, AxisMap const& map) {
        return Leaf<T, S, strides_of<contiguous_strides(S::dims)>>::emit(sketch, map);
    }
    void collect(Operand*& to) const { *to++ = {const_cast<T*>(tensor_.data())}; }

private:
    Tensor<T, S> tensor_;
};

template <class T>
struct NumberFacts {
    static constexpr Form form{};
    static constexpr Typed typed{dtype_of<T>, true};
    static constexpr Needs needs = 0;
};

/// A number that is known when the expression is written. It takes the element type of the tensors around it.
template <class T>
class Scalar : public Expression<Scalar<T>, NumberFacts<T>> {
public:
    static constexpr bool leaf = true;

    constexpr explicit Scalar(T value) : value_{value} {}

    static constexpr int emit(Sketch& sketch, AxisMap const&) {
        Route route;
        route.type = dtype_of<T>;
        route.leaf = sketch.next_leaf(sizeof(T));
        return sketch.read(Fn::load, route);
    }
    void collect(Operand*& to) const { *to++ = {const_cast<T*>(&value_)}; }

private:
    T value_;
};

/// 0, 1, 2, ... in the order of the elements.
template <class S>
class Iota : public Expression<Iota<S>, TensorFacts<std::int64_t, S>> {
public:
    static constexpr bool leaf = true;

    static constexpr int emit(Sketch& sketch, AxisMap const& map) {
        Route route;
        route.role = Route::Role::index;
        route.leaf = sketch.next_leaf();
        return sketch.read(Fn::index, mapped(route, map, contiguous_strides(S::dims), sketch));
    }
    void collect(Operand*& to) const { *to++ = {nullptr}; }
};

/// Uniform random numbers in [0, 1): element i of the tensor is element i of the source (core/random.hpp).
template <class S>
class Uniform : public Expression<Uniform<S>, TensorFacts<float, S>> {
public:
    static constexpr bool leaf = true;

    constexpr explicit Uniform(RandomSource const& source) : source_{source} {}

    static constexpr int emit(Sketch& sketch, AxisMap const& map) {
        Route route;
        route.role = Route::Role::random;
        route.leaf = sketch.next_leaf(sizeof(RandomSource));
        return sketch.read(Fn::random, mapped(route, map, contiguous_strides(S::dims), sketch));
    }
    void collect(Operand*& to) const { *to++ = {const_cast<RandomSource*>(&source_)}; }

private:
    RandomSource source_;
};

} // namespace expr
} // namespace tenon
