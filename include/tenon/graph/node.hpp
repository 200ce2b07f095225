/// @file
/// What a graph is made of: nodes (an operation on earlier nodes) and operations (what the passes must know of one).
#pragma once

#include <tenon/core/dims.hpp>
#include <tenon/expr/instruction.hpp>

namespace tenon::graph {

class Builder;
struct Node;

/// Element types of stored values. u2: four numbers below 4 in a byte, the first in its lowest bits.
enum class Dtype : std::uint8_t { f32, u8, u2, i32, random_source };

/// Of `count` elements that lie side by side.
[[nodiscard]] constexpr index_t bytes_of(Dtype type, index_t count) {
    switch (type) {
    case Dtype::u2: return (count + 3) / 4;
    case Dtype::u8: return count;
    case Dtype::random_source: return 16 * count;
    default: return 4 * count;
    }
}

/// How the passes treat an operation.
enum class Kind : std::uint8_t {
    source,    ///< bytes that exist before the step: parameter, state, number, input, label
    constant,  ///< a number known at compile time
    pointwise, ///< one element from the same element of each input: joins the stage of its neighbours
    view,      ///< the same bytes under another shape
    anchor,    ///< everything else: gives a stage its loops
    assign,    ///< writes input 1 over source input 0 at the end of the stage that computes it
};

/// The rule of operations through which no gradient flows.
constexpr void no_gradient(Builder&, int, int) {}
/// The cost of operations that are not counted.
constexpr index_t no_flops(Node const&, Node const* const*) { return 0; }

/// One operation: the same object identifies it in the graph and selects its CPU and CUDA implementations.
struct Op {
    char const* name;
    Kind kind;
    /// Appends the adjoints of `node`'s inputs, given the adjoint `dy` of its output.
    void (*differentiate)(Builder& builder, int node, int dy) = &no_gradient;
    /// Multiplications and additions for one sample (for the whole, where the result is not batched but the inputs are:
    /// for each sample that is summed over).
    index_t (*flops)(Node const& node, Node const* const* inputs) = &no_flops;
    /// Sums over all axes but the first are those of input 0: summing the result can skip the operation.
    bool preserves_sums = false;
    /// The result is made in tiles (slices of its first axis) that pointwise work can continue on; else it is written whole.
    bool tiles = true;
    /// Can follow in the stage that makes its input plane by plane; `makes_planes`: such a stage.
    bool takes_planes = false;
    bool makes_planes = false;
    /// Operations of one family with the same inputs are computed together in one stage.
    std::uint64_t family = 0; ///< Op::hash of its name; 0: none

    /// The identity: FNV-1a of the name. Addresses of inline variables cannot always be compared in constant expressions
    /// (g++ with -fsanitize=undefined), and they cannot be hashed.
    std::uint64_t id = hash(name);

    [[nodiscard]] static constexpr std::uint64_t hash(char const* text) {
        std::uint64_t h{0xCBF29CE484222325};
        for (; *text != 0; ++text) h = (h ^ static_cast<unsigned char>(*text)) * std::uint64_t{0x100000001B3};
        return h;
    }
};

/// Ten numbers with which an operation says what it does.
struct Attributes {
    int number[10]{};

    [[nodiscard]] constexpr int operator[](int i) const { return number[i]; }
    [[nodiscard]] constexpr int& operator[](int i) { return number[i]; }
    constexpr bool operator==(Attributes const&) const = default;
};

/// One value of the graph. (Arrays of the language: each access to a std::array is a call, which compilers carry out by the
/// thousand when they evaluate the passes.)
struct Node {
    static constexpr int max_inputs = 4;

    Op const* op = nullptr;
    int input[max_inputs]{-1, -1, -1, -1};
    Attributes attribute{};          ///< what the operation's own spec says; pointwise: [0] is the Fn
    float value = 0;                 ///< of a constant
    Dims shape{};                    ///< of one sample, if batched; else of the whole
    bool batched = false;            ///< one for each sample of the batch
    Dtype dtype = Dtype::f32;
    int layer = -1;                  ///< the layer that wrote it; not part of its identity
    int update = -1;                 ///< the parameter whose update this node is part of; not part of its identity either
    bool boundary = false;           ///< passed from one layer to the next: the place to store rather than recompute

    [[nodiscard]] constexpr Fn fn() const { return static_cast<Fn>(attribute[0]); }

    [[nodiscard]] constexpr bool is(Op const& operation) const { return op->id == operation.id; }

    /// Of the constant: 0 and -0 are two values, and NaN is the same value again.
    [[nodiscard]] constexpr std::uint32_t bits() const { return std::bit_cast<std::uint32_t>(value); }

    [[nodiscard]] constexpr bool same_arguments(Node const& other) const {
        for (int i = 0; i < max_inputs; ++i)
            if (input[i] != other.input[i]) return false;
        return attribute == other.attribute;
    }

    [[nodiscard]] constexpr bool same_value(Node const& other) const {
        return op->id == other.op->id && same_arguments(other) && bits() == other.bits() && batched == other.batched &&
               dtype == other.dtype && shape == other.shape;
    }
};

} // namespace tenon::graph
