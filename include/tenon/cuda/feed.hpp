/// @file
/// How a step gets its batch where the samples lie on the device: a job that gathers them by number, normalised, with their labels.
/// It rides in a kernel of the step before, beside that step's own work, so it adds no launch.
#pragma once

#include <tenon/cuda/block.hpp>
#include <tenon/cuda/stage.hpp>
#include <tenon/data/permutation.hpp>
#include <tenon/graph/builder.hpp>

namespace tenon::cuda {

/// What each run is told first; kernels read it from device memory, so that a captured graph serves every count.
struct StepHead {
    std::int32_t samples = 0; ///< in this batch
    std::int32_t guards = 0;  ///< 1: a loss that is not finite halts training
    index_t step = 0;         ///< number of the step, from 1; 0: no training step
};

/// Where a step's samples come from: sample i of the batch is number order(first + i) of what lies at `samples`.
struct Feed {
    void const* samples = nullptr;        ///< [..][features], bytes or floats
    std::int32_t const* labels = nullptr; ///< [..], class numbers or the bits of floats
    data::Permutation order;
    index_t first = 0, features = 0;
    std::int32_t count = 0;         ///< samples of the batch; 0: nothing is fetched
    std::int32_t element_bytes = 1; ///< 1: bytes; 4: floats
    float scale = 1, shift = 0;     ///< input = value * scale + shift
};
static_assert(sizeof(StepHead) == 16 && sizeof(Feed) % 8 == 0 && std::is_trivially_copyable_v<Feed>);

/// A StepHead, and the Feed of the step: sources that no stage of the graph reads by itself.
inline constexpr graph::Op head_op{"step_head", graph::Kind::source};
inline constexpr graph::Op feed_op{"feed", graph::Kind::source};

/// Gathers a batch, a block for each sample.
template <int Threads>
struct FetchJob {
    enum Slot : int { feed, input, label, presence, slot_count }; ///< the last two are -1 where the network has none

    static constexpr int threads = Threads;
    static constexpr int slots = slot_count;
    static constexpr index_t shared = 0;
    static constexpr index_t blocks(index_t capacity) { return capacity; }

    template <class C>
    __device__ static void run(C const& c, index_t block, std::byte*) {
        Feed const& from = *c.template at<Feed const, feed>();
        if (block >= from.count) return;
        index_t const number = from.order(from.first + block), features = from.features;
        float* const to = c.template at<float, input>() + block * features;
        if (from.element_bytes == 4) {
            auto const* const values = static_cast<float const*>(from.samples) + number * features;
            for (index_t f = thread_number(); f < features; f += Threads) to[f] = values[f] * from.scale + from.shift;
        } else if (features % 4 == 0) { // every sample begins at a multiple of 4 bytes
            auto const* const values =
                reinterpret_cast<uchar4 const*>(static_cast<std::uint8_t const*>(from.samples) + number * features);
            for (index_t f = thread_number(); f < features / 4; f += Threads) {
                uchar4 const v = values[f];
                reinterpret_cast<float4*>(to)[f] = {normalized(from, v.x), normalized(from, v.y), normalized(from, v.z),
                                                    normalized(from, v.w)};
            }
        } else {
            auto const* const values = static_cast<std::uint8_t const*>(from.samples) + number * features;
            for (index_t f = thread_number(); f < features; f += Threads) to[f] = normalized(from, values[f]);
        }
        if (thread_number() != 0) return;
        if (c.places.offset[label] >= 0) c.template at<std::int32_t, label>()[block] = from.labels[number];
        if (c.places.offset[presence] >= 0) c.template at<float, presence>()[block] = 1;
    }

private:
    __device__ static float normalized(Feed const& from, std::uint8_t value) {
        return static_cast<float>(value) * from.scale + from.shift;
    }
};

} // namespace tenon::cuda
