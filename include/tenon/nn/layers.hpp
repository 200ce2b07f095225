/// @file
/// The layers that combine or check others: Input, Expect, Named, Residual, Repeat.
#pragma once

#include <tenon/graph/pointwise.hpp>

#include <cstddef>
#include <type_traits>

namespace tenon {

namespace detail {

/// Extents that end at the first one left out (-1).
[[nodiscard]] constexpr Dims given_extents(index_t a, index_t b, index_t c) {
    if (b < 0) return {a};
    if (c < 0) return {a, b};
    return {a, b, c};
}

} // namespace detail

/// The shape of one sample: Input{1, 28, 28} for images (channels, height, width), Input{13} for rows of features.
struct Input { // an aggregate: nvcc spells a template argument's members out
    index_t first;
    index_t second = -1;
    index_t third = -1;

    static constexpr char const* name = "Input";
    [[nodiscard]] constexpr Dims shape() const { return detail::given_extents(first, second, third); }

    constexpr graph::Value write(graph::Builder& b, graph::Value x) const { return b.fail(fault::Input_must_come_first, Dims{x.shape()}), x; }
};

/// Changes nothing: a comment that the compiler checks. Expect{50, 4, 4} fails to compile unless that shape arrives.
struct Expect {
    index_t first;
    index_t second = -1;
    index_t third = -1;

    static constexpr char const* name = "Expect";

    constexpr graph::Value write(graph::Builder& b, graph::Value x) const {
        Dims const expected = detail::given_extents(first, second, third);
        if (expected != x.shape()) b.fail(fault::shape_differs_from_what_arrives, Dims{x.shape()}, expected);
        return x;
    }
};

/// A name as a template argument.
template <std::size_t N>
struct Name {
    char text[N]{};
    constexpr Name(char const (&from)[N]) { // NOLINT: Named<"conv1", ...> is the purpose
        for (std::size_t i = 0; i < N; ++i) text[i] = from[i];
    }
};

namespace detail {

/// Writes one layer of a sequence: `number` is its place there.
template <class Layer>
constexpr graph::Value write_layer(graph::Builder& b, Layer const& layer, int number, graph::Value x) {
    if (!b.verdict.ok()) return x;
    if constexpr (requires { Layer::component; }) b.enter(number, Layer::component);
    else b.enter(number);
    graph::Value const y = layer.write(b, x);
    b.leave();
    int id = y.id;
    while (b[id].is(graph::reshape_op)) id = b[id].input[0];
    b.nodes[static_cast<std::size_t>(id)].boundary = true;
    return y;
}

} // namespace detail

/// A layer whose parameters are named: "conv1.weight" instead of "0.weight".
template <Name N, auto L>
struct NamedLayer {
    static constexpr char const* name = L.name;
    static constexpr char const* component = N.text;
    using Inner = std::remove_const_t<decltype(L)>;

    constexpr graph::Value write(graph::Builder& b, graph::Value x) const { return L.write(b, x); }
};
template <Name N, auto L>
inline constexpr NamedLayer<N, L> Named{};

/// x + branch(x); the branch must keep the shape.
template <auto... L>
struct ResidualLayer {
    static constexpr char const* name = "Residual";

    constexpr graph::Value write(graph::Builder& b, graph::Value x) const {
        graph::Value y = x;
        int number = 0;
        ((y = detail::write_layer(b, L, number++, y)), ...);
        if (!b.verdict.ok()) return x;
        if (y.shape() != x.shape()) return b.fail(fault::branch_changes_the_shape, Dims{y.shape()}, Dims{x.shape()}), x;
        return x + y;
    }
};
template <auto... L>
inline constexpr ResidualLayer<L...> Residual{};

/// The same layers `N` times in a row, each time with parameters of its own.
template <int N, auto... L>
struct RepeatLayer {
    static_assert(N >= 0, "tenon: Repeat needs a count that is not negative");
    static constexpr char const* name = "Repeat";

    constexpr graph::Value write(graph::Builder& b, graph::Value x) const {
        for (int i = 0; i < N; ++i) {
            b.enter(i);
            int number = 0;
            ((x = detail::write_layer(b, L, number++, x)), ...);
            b.leave();
        }
        return x;
    }
};
template <int N, auto... L>
inline constexpr RepeatLayer<N, L...> Repeat{};

/// What an error message names: the layer inside Named.
namespace detail {
template <class Layer>
struct shown_layer {
    using type = Layer;
};
template <Name N, auto L>
struct shown_layer<NamedLayer<N, L>> {
    using type = typename NamedLayer<N, L>::Inner;
};
template <auto... L>
struct shown_layer<ResidualLayer<L...>> {
    using type = struct Residual_layer;
};
template <int N, auto... L>
struct shown_layer<RepeatLayer<N, L...>> {
    using type = struct Repeat_layer;
};
} // namespace detail

} // namespace tenon
