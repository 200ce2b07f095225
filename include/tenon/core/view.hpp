/// @file
/// A window on elements that a tensor owns: pointer at run time, shape and strides at compile time.
#pragma once

#include <tenon/core/requirements.hpp>
#include <tenon/core/dtype.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor_like.hpp>

#include <type_traits>

#if !defined(TENON_CHECK_BOUNDS)
#if defined(NDEBUG)
#define TENON_CHECK_BOUNDS 0
#else
/// Whether element access checks its indices: by default in debug builds, those without NDEBUG.
#define TENON_CHECK_BOUNDS 1
#endif
#endif

namespace tenon {

namespace detail {

template <class S, class E, bool IsTensor = TensorLike<E>>
struct ShapeAt {
    using type = typename std::remove_cvref_t<E>::template shape_at<S::rank>;
};
template <class S, class E>
struct ShapeAt<S, E, false> {
    using type = Shape<>;
};
template <class E>
[[nodiscard]] constexpr bool mistaken() {
    if constexpr (requires { std::remove_cvref_t<E>::mistaken; }) return std::remove_cvref_t<E>::mistaken;
    else return false;
}

} // namespace detail

/// The shape of a value (a tensor, an expression or a number) where it is assigned to a tensor of shape S.
template <class S, class E>
using shape_at_t = typename detail::ShapeAt<S, E>::type;

/// Whether it may be assigned there. An expression with a mistake in it has been reported and passes.
template <class S, class E>
inline constexpr bool fits_target = detail::mistaken<E>() ||
                                    (broadcast(S::dims, shape_at_t<S, E>::dims).fits &&
                                     broadcast(S::dims, shape_at_t<S, E>::dims).dims == S::dims);

namespace detail {

/// Elements from the first one to that at `index`. Throws Error where an index is outside, if bounds are checked.
template <class S, class Stride, class... Index>
constexpr index_t element_offset(Index... index) {
    if constexpr (sizeof...(Index) != static_cast<std::size_t>(S::rank)) return 0;
    index_t const at[] = {static_cast<index_t>(index)..., 0};
    index_t offset = 0;
    for (int axis = 0; axis < S::rank; ++axis) {
        if constexpr (TENON_CHECK_BOUNDS) {
            if (at[axis] < 0 || at[axis] >= S::dims[axis])
                fail({"index ", at[axis], " is outside axis ", axis, ", which has ", S::dims[axis], " elements"});
        }
        offset += at[axis] * Stride::dims[axis];
    }
    return offset;
}

} // namespace detail

/// A view of elements of type T (const where they may not be changed) that something else owns and keeps alive.
/// Copying a view copies the window; assigning to one writes the elements.
template <class T, class S, class Stride = strides_of<contiguous_strides(S::dims)>>
class View {
public:
    using tensor_like = void;
    using value_type = std::remove_const_t<T>;
    using shape = S;
    using strides = Stride;
    template <int Rank>
    using shape_at = shape_of<S::dims>; ///< where a tensor of that rank is assigned; see Expression
    static constexpr int rank = S::rank;
    static constexpr bool contiguous = is_contiguous(S::dims, Stride::dims);

    constexpr explicit View(T* first) : first_{first} {}
    constexpr View(View const&) = default;
    /// A view of elements that may be changed is one of elements that are only read.
    template <class U>
        requires(std::is_same_v<U const, T> && !std::is_same_v<U, T>)
    constexpr View(View<U, S, Stride> const& view) : first_{view.data()} {}

    /// The element at an index per axis.
    template <class... Index>
        requires(std::is_convertible_v<Index, index_t> && ...)
    constexpr T& operator()(Index... index) const {
        if constexpr (sizeof...(Index) != static_cast<std::size_t>(rank))
            require_indices<shape_of<S::dims>, static_cast<int>(sizeof...(Index))>();
        return first_[detail::element_offset<S, Stride>(index...)];
    }
    /// The first element; the others follow by `strides`.
    [[nodiscard]] constexpr T* data() const { return first_; }
    [[nodiscard]] static constexpr index_t size() { return S::count; }
    /// The only element.
    [[nodiscard]] constexpr T& item() const {
        static_assert(S::count == 1, "item() is for tensors of one element");
        return *first_;
    }

    /// Writes the elements of an expression, a tensor or a scalar that broadcasts to this shape (expr/assignment.hpp).
    template <class E>
    auto operator=(E&& value) const {
        static_assert(!std::is_const_v<T>, "this view only reads");
        if constexpr (!fits_target<S, E>) require_assignable<shape_of<S::dims>, shape_at_t<S, E>>();
        return assign_lazily(*this, static_cast<E&&>(value));
    }
    auto operator=(View const& value) const {
        static_assert(!std::is_const_v<T>, "this view only reads");
        return assign_lazily(*this, value);
    }

private:
    T* first_;
};

} // namespace tenon
