/// @file
/// Puts samples into the layout that the kernels read: blocks of lanes, the samples of a block innermost.
#pragma once

#include <tenon/graph/plan.hpp>

namespace tenon {

/// The number of samples of a step, as a type: `batch<64>`. The last batch of an epoch may be smaller.
template <index_t N>
struct Batch {
    static_assert(N >= 1, "tenon: batch<N> needs at least one sample");
    static constexpr index_t size = N;
};
template <index_t N>
inline constexpr Batch<N> batch{};

namespace training {

/// Writes one sample into lane `position % lanes` of block `position / lanes`: value * scale + shift.
template <class T>
void pack_sample(T const* sample, index_t features, index_t position, index_t lanes, float scale, float shift, float* to) {
    float* lane = to + position / lanes * features * lanes + position % lanes;
    for (index_t f = 0; f < features; ++f, lane += lanes) *lane = static_cast<float>(sample[f]) * scale + shift;
}

/// Repeats a sample of the last block in the lanes that no sample fills. Their gradient is zero, but only where their values are
/// finite: zeros would not do, because a function may be infinite there, or infinitely steep.
inline void fill_rest(index_t features, index_t samples, index_t lanes, float* to) {
    float* const block = to + samples / lanes * features * lanes;
    if (samples % lanes == 0) return;
    for (index_t f = 0; f < features; ++f)
        for (index_t lane = samples % lanes; lane < lanes; ++lane) block[f * lanes + lane] = block[f * lanes];
}

} // namespace training

} // namespace tenon
