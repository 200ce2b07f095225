/// @file
/// The tensor: elements on the heap, shape in the type.
#pragma once

#include <tenon/core/requirements.hpp>
#include <tenon/core/view.hpp>

#include <cstring>
#include <initializer_list>
#include <new>
#include <span>

namespace tenon {

/// Asks for memory that nobody has written yet: for tensors that are filled at once.
struct Uninitialized {};
inline constexpr Uninitialized uninitialized{};

/// Owns S::count elements of T, one after another with the last axis fastest, aligned to 64 bytes, on the heap (also
/// where the tensor is a local variable). Elements start as zero. A moved-from tensor has no elements: assign a whole
/// tensor to it or let it go.
///
///     Tensor<float, Shape<2, 3>> x{{1, 2, 3}, {4, 5, 6}};
///     Tensor y = 2.0f * x;               // type and shape come from the expression
template <class T, class S>
class Tensor {
public:
    static_assert([] {
        if constexpr (!is_element_type<T>) return require_element_type<T>();
        else return true;
    }());
    using tensor_like = void;
    using value_type = T;
    using shape = S;
    template <int Rank>
    using shape_at = shape_of<S::dims>; ///< where a tensor of that rank is assigned; see Expression
    static constexpr DType dtype = dtype_of<T>;
    static constexpr int rank = S::rank;
    static constexpr std::size_t alignment = 64;

    Tensor() : Tensor{uninitialized} { std::memset(static_cast<void*>(first_), 0, bytes()); }
    explicit Tensor(Uninitialized) : first_{allocate()} {}

    /// The elements in order. Throws Error where their number is not S::count. A template, so that {{1}, {2}} means
    /// rows.
    template <int = 0>
    Tensor(std::initializer_list<T> values) : Tensor{uninitialized} { copy_from(values.begin(), values.size()); }
    /// One list per row. Throws Error where a number of values differs from the shape.
    Tensor(std::initializer_list<std::initializer_list<T>> rows)
        requires(S::rank == 2)
        : Tensor{uninitialized} {
        copy_rows(rows, first_);
    }
    /// One list of rows per matrix.
    Tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> matrices)
        requires(S::rank == 3)
        : Tensor{uninitialized} {
        if (matrices.size() != static_cast<std::size_t>(S::dims[0])) refuse("matrices", matrices.size(), S::dims[0]);
        T* to = first_;
        for (auto const& rows : matrices) to = copy_rows(rows, to);
    }
    /// A copy of S::count values. Throws Error where there is another number of them.
    explicit Tensor(std::span<T const> values) : Tensor{uninitialized} { copy_from(values.data(), values.size()); }

    Tensor(Tensor const& other) : Tensor{uninitialized} {
        std::memcpy(static_cast<void*>(first_), other.first_, bytes());
    }
    Tensor(Tensor&& other) noexcept : first_{other.first_} { other.first_ = nullptr; }
    /// The value of an expression (expr/assignment.hpp).
    template <TensorLike E>
        requires(!std::is_same_v<std::remove_cvref_t<E>, Tensor>)
    Tensor(E&& value) : Tensor{uninitialized} {
        if constexpr (!fits_target<S, E>) require_assignable<shape_of<S::dims>, shape_at_t<S, E>>();
        assign_now(view(), static_cast<E&&>(value));
    }
    ~Tensor() { release(first_); }

    /// Copies when the statement ends, as the assignment of an expression does, so that update(p = q, ...) keeps its
    /// order.
    auto operator=(Tensor const& other) {
        own_elements();
        return assign_lazily(view(), other);
    }
    Tensor& operator=(Tensor&& other) noexcept {
        T* const mine = first_;
        first_ = other.first_;
        other.first_ = mine;
        return *this;
    }
    /// Writes the elements of an expression or a scalar that broadcasts to this shape, when the statement ends; several
    /// such assignments inside update(...) run as one loop (expr/assignment.hpp).
    template <class E>
        requires((TensorLike<E> || NumberLike<E>) && !std::is_same_v<std::remove_cvref_t<E>, Tensor>)
    auto operator=(E&& value) {
        own_elements();
        if constexpr (!fits_target<S, E>) require_assignable<shape_of<S::dims>, shape_at_t<S, E>>();
        return assign_lazily(view(), static_cast<E&&>(value));
    }

    /// The element at an index per axis.
    template <class... Index>
        requires(std::is_convertible_v<Index, index_t> && ...)
    T& operator()(Index... index) {
        if constexpr (sizeof...(Index) != static_cast<std::size_t>(rank))
            require_indices<shape_of<S::dims>, static_cast<int>(sizeof...(Index))>();
        return first_[detail::element_offset<S, typename View<T, S>::strides>(index...)];
    }
    template <class... Index>
        requires(std::is_convertible_v<Index, index_t> && ...)
    T const& operator()(Index... index) const {
        if constexpr (sizeof...(Index) != static_cast<std::size_t>(rank))
            require_indices<shape_of<S::dims>, static_cast<int>(sizeof...(Index))>();
        return first_[detail::element_offset<S, typename View<T, S>::strides>(index...)];
    }
    /// The only element.
    [[nodiscard]] T& item() { return view().item(); }
    [[nodiscard]] T item() const { return view().item(); }

    [[nodiscard]] static constexpr index_t size() { return S::count; }
    [[nodiscard]] static constexpr std::size_t bytes() { return static_cast<std::size_t>(S::count) * sizeof(T); }
    [[nodiscard]] T* data() { return first_; }
    [[nodiscard]] T const* data() const { return first_; }
    /// All elements, the last axis fastest.
    [[nodiscard]] std::span<T> elements() { return {first_, static_cast<std::size_t>(S::count)}; }
    [[nodiscard]] std::span<T const> elements() const { return {first_, static_cast<std::size_t>(S::count)}; }
    [[nodiscard]] T* begin() { return first_; }
    [[nodiscard]] T* end() { return first_ + S::count; }
    [[nodiscard]] T const* begin() const { return first_; }
    [[nodiscard]] T const* end() const { return first_ + S::count; }

    [[nodiscard]] View<T, S> view() { return View<T, S>{first_}; }
    [[nodiscard]] View<T const, S> view() const { return View<T const, S>{first_}; }

    Tensor& fill(T value) {
        for (T& element : *this) element = value;
        return *this;
    }

private:
    T* first_;

    static T* allocate() {
        return static_cast<T*>(::operator new (bytes() == 0 ? 1 : bytes(), std::align_val_t{alignment}));
    }
    static void release(T* first) { ::operator delete(static_cast<void*>(first), std::align_val_t{alignment}); }

    [[noreturn]] static void refuse(char const* what, std::size_t found, index_t expected) {
        fail({"tensor initialised with ", found, " ", what, ", its shape has ", expected});
    }
    void copy_from(T const* values, std::size_t count) {
        if (count != static_cast<std::size_t>(S::count)) refuse("values", count, S::count);
        if constexpr (S::count != 0) std::memcpy(static_cast<void*>(first_), values, bytes());
    }
    /// Copies rows of one matrix. Returns where the next matrix begins.
    static T* copy_rows(std::initializer_list<std::initializer_list<T>> const& rows, T* to) {
        constexpr index_t count = S::dims[S::rank - 2], length = S::dims[S::rank - 1];
        if (rows.size() != static_cast<std::size_t>(count)) refuse("rows", rows.size(), count);
        for (auto const& row : rows) {
            if (row.size() != static_cast<std::size_t>(length)) refuse("values in a row", row.size(), length);
            for (T const value : row) *to++ = value;
        }
        return to;
    }
    void own_elements() {
        if (first_ == nullptr) first_ = allocate(); // moved from
    }
};

/// `Tensor y = expression` has the expression's element type and shape.
template <TensorLike E>
Tensor(E const&) -> Tensor<typename E::value_type, typename E::shape>;

/// Whether T is a Tensor.
template <class T>
inline constexpr bool is_tensor = false;
template <class T, class S>
inline constexpr bool is_tensor<Tensor<T, S>> = true;

} // namespace tenon
