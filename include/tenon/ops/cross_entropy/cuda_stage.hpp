/// @file
/// Cross entropy on CUDA: loss and gradient in one pass over the logits, by one block, so that the sums have one order.
#pragma once

#include <tenon/cuda/job.hpp>
#include <tenon/ops/cross_entropy/cross_entropy.hpp>

namespace tenon::cuda {

namespace detail {

/// One row's logits, shared by a team of 1 or 32 threads; every thread of a team sees the same row.
template <int Team, index_t Classes>
struct LogitRow {
    float const* z; ///< [Classes]
    float largest = 0;
    float others = 0; ///< sum of exp(z - largest) over all classes but the largest: log1p keeps what 1 + small would lose

    __device__ static int first() { return Team == 1 ? 0 : lane_number(); }
    __device__ static float sum(float x) {
        if constexpr (Team == 1) return x;
        else return warp_sum(x);
    }

    __device__ explicit LogitRow(float const* logits) : z{logits} {
        int winner = first() < static_cast<int>(Classes) ? first() : 0;
        for (int c = first() + Team; c < static_cast<int>(Classes); c += Team)
            if (z[c] > z[winner]) winner = c;
        largest = z[winner];
        if constexpr (Team > 1)
            for (int distance = warp_size / 2; distance > 0; distance /= 2) {
                float const value = shuffle_xor(largest, distance);
                int const theirs = shuffle_xor(winner, distance);
                if (value > largest || (value == largest && theirs < winner) || (value != value && largest == largest)) largest = value, winner = theirs;
            }
        for (int c = first(); c < static_cast<int>(Classes); c += Team)
            if (c != winner) others += expf(z[c] - largest);
        others = sum(others);
    }
    [[nodiscard]] __device__ float probability(float logit) const { return expf(logit - largest) / (1 + others); }
    [[nodiscard]] __device__ float minus_log_probability(float logit) const { return (largest - logit) + log1pf(others); }

    /// The row's loss, not yet divided by the batch's weight; its gradient times `scale` unless that is null.
    [[nodiscard]] __device__ float loss(int label, float const* weights, float smoothing, float scale, float* gradient) const {
        float const kept = (1 - smoothing) * weights[label], spread = smoothing / static_cast<float>(Classes);
        float loss = kept * minus_log_probability(z[label]), mass = kept;
        if (spread != 0) {
            float more_loss = 0, more_mass = 0;
            for (int c = first(); c < static_cast<int>(Classes); c += Team) {
                more_loss += spread * weights[c] * minus_log_probability(z[c]);
                more_mass += spread * weights[c];
            }
            loss += sum(more_loss);
            mass += sum(more_mass);
        }
        if (gradient != nullptr)
            for (int c = first(); c < static_cast<int>(Classes); c += Team) {
                float const target = (c == label ? kept : 0.0f) + spread * weights[c];
                gradient[c] = scale * (mass * probability(z[c]) - target);
            }
        return loss;
    }
};

/// The mean loss of a batch and its gradient; a slot below 0 is not wanted. Rows that do not count get exactly 0.
template <int Threads, index_t Classes, int LossSlot, int GradientSlot>
struct CrossEntropyJob {
    static constexpr int team = Classes > 32 ? warp_size : 1; ///< threads of a row
    static constexpr int threads = Threads;
    static constexpr int slots = first_operand_slot;
    static constexpr index_t shared = Threads / warp_size * static_cast<index_t>(sizeof(double));
    static constexpr index_t blocks(index_t) { return 1; }

    template <class C>
    __device__ static void run(C const& c, index_t, std::byte* memory) {
        auto* const partial = reinterpret_cast<double*>(memory);
        float const* const z = c.template at<float const, input_slot>();
        auto const* const labels = c.template at<std::int32_t const, input_slot + 1>();
        float const* const weights = c.template at<float const, input_slot + 2>();
        float const* const settings = c.template at<float const, input_slot + 3>();
        auto const ignored = static_cast<std::int32_t>(settings[cross_entropy::ignore_index]);
        float const smoothing = settings[cross_entropy::label_smoothing];

        // The host has checked the labels; but a prediction has none, and its loss, which nobody reads, must not read astray.
        auto const counts = [&](int i) { return labels[i] != ignored && static_cast<std::uint32_t>(labels[i]) < static_cast<std::uint32_t>(Classes); };
        double weight = 0;
        for (int i = thread_number(); i < c.samples; i += Threads)
            if (counts(i)) weight += static_cast<double>(weights[labels[i]]);
        double const denominator = block_sum<Threads>(weight, partial);
        float const scale = denominator > 0 ? static_cast<float>(1 / denominator) : 0.0f;

        double total = 0;
        for (int i = thread_number() / team; i < c.samples; i += Threads / team) {
            float* gradient = nullptr;
            if constexpr (GradientSlot >= 0) gradient = c.template at<float, GradientSlot>() + i * Classes;
            if (counts(i)) {
                float const loss = LogitRow<team, Classes>{z + i * Classes}.loss(labels[i], weights, smoothing, scale, gradient);
                if (thread_number() % team == 0) total += static_cast<double>(loss);
            } else if (gradient != nullptr) {
                for (int k = thread_number() % team; k < static_cast<int>(Classes); k += team) gradient[k] = 0;
            }
        }
        total = block_sum<Threads>(total, partial);
        if constexpr (LossSlot >= 0)
            if (thread_number() == 0) *c.template at<float, LossSlot>() = denominator > 0 ? static_cast<float>(total / denominator) : 0.0f;
    }
};

template <class C, int S>
constexpr auto cross_entropy_job() {
    constexpr graph::Stage stage = C::stages[S];
    constexpr graph::Node node = graph::anchor_of<C, S>();
    constexpr bool both = stage.companion[0] >= 0, loss_first = node.is(cross_entropy::loss_op);
    constexpr int loss = loss_first ? result_slot : both ? companion_slot : -1, gradient = !loss_first ? result_slot : both ? companion_slot : -1;
    constexpr bool loss_stored = loss >= 0 && C::tables.stored[static_cast<std::size_t>(loss_first ? stage.anchor : both ? stage.companion[0] : 0)];
    return CrossEntropyJob<usual_threads, graph::input_shape<C, node>()[0], loss_stored ? loss : -1, gradient>{};
}

} // namespace detail

template <>
struct CudaStage<&cross_entropy::loss_op> {
    template <class C, int S>
    static constexpr auto job() {
        return detail::cross_entropy_job<C, S>();
    }
};

template <>
struct CudaStage<&cross_entropy::gradient_op> {
    template <class C, int S>
    static constexpr auto job() {
        return detail::cross_entropy_job<C, S>();
    }
};

} // namespace tenon::cuda
