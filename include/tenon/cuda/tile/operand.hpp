/// @file
/// Where the elements of a product's operands lie: index maps of matrices.
///
/// An operand answers, for an Element (element.hpp):
///     X x_part(index_t first, int local, int group): what row (or column) first + local contributes to an address
///     K k_part(index_t first, int local): the same for a step of the depth; what belongs to `first` alone is the same in the
///         whole block, so that the compiler computes it once
///     Location locate(X, K)
/// and says, at compile time,
///     across, along: which direction is contiguous in memory (a gather: neither)
///     vector: how many neighbours in that direction share one aligned access
///     expands: `vector` neighbours along the sum come from one element, as its taps 0, 1, ...
///     table: the depth, where its K parts are worth a table in shared memory; else 0
#pragma once

#include <tenon/cuda/tile/element.hpp>
#include <tenon/cuda/tile/shape.hpp>

namespace tenon::cuda::tile {

/// An element of an operand; outside: a zero.
struct Location {
    index_t offset; ///< in elements
    int tap;        ///< place in its pooling window
    bool inside;
};

/// A position of a sample.
struct Spot {
    index_t sample;
    int position;
};

/// Row first + local of samples x Positions.
template <int Positions>
__device__ inline Spot find_spot(index_t first, int local) {
    index_t const sample = first / Positions;
    unsigned const within = static_cast<unsigned>(first - sample * Positions) + static_cast<unsigned>(local);
    unsigned const more = within / static_cast<unsigned>(Positions);
    return {sample + more, static_cast<int>(within - more * static_cast<unsigned>(Positions))};
}

/// A matrix [x][k] whose rows are Stride floats apart: activations [samples, in], weights [out, in].
/// @tparam GroupRows rows of each of a convolution's groups
template <class E, index_t Stride, int GroupRows = 0>
struct Rows {
    using Element = E;
    using X = index_t;
    using K = index_t;
    static constexpr bool across = false, along = true, expands = false;
    static constexpr int vector = common_power(Stride, 4), table = 0;

    __device__ static X x_part(index_t first, int local, int group) { return (first + local + group * GroupRows) * Stride; }
    __device__ static K k_part(index_t first, int local) { return first + local; }
    __device__ static Location locate(X x, K k) { return {x + k, 0, true}; }
};

/// A matrix [k][x] whose rows are Stride floats apart: activations of the weight gradient, weights of the input gradient.
/// @tparam GroupRows rows of each of a convolution's groups
template <class E, index_t Stride, int GroupRows = 0>
struct Columns {
    using Element = E;
    using X = index_t;
    using K = index_t;
    static constexpr bool across = true, along = false, expands = false;
    static constexpr int vector = common_power(Stride, 4), table = 0;

    __device__ static X x_part(index_t first, int local, int group) { return first + local + group * (GroupRows * Stride); }
    __device__ static K k_part(index_t first, int local) { return (first + local) * Stride; }
    __device__ static Location locate(X x, K k) { return {x + k, 0, true}; }
};

} // namespace tenon::cuda::tile
