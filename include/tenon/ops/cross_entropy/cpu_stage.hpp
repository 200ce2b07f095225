/// @file
/// Cross entropy on the CPU: loss and gradient in one pass over the logits.
#pragma once

#include <tenon/cpu/stage.hpp>
#include <tenon/ops/cross_entropy/cross_entropy.hpp>

#include <cmath>

namespace tenon::cross_entropy {

/// One row's numbers. The sum leaves the largest term out: log1p keeps what 1 + small would lose.
struct Softmax {
    float largest = 0;
    float others = 0; ///< sum of exp(z - largest) over all classes but the largest

    /// @param z logits, `stride` floats apart
    [[nodiscard]] static Softmax of(float const* z, index_t classes, index_t stride) {
        Softmax s;
        index_t winner = 0;
        for (index_t c = 1; c < classes; ++c)
            if (z[c * stride] > z[winner * stride]) winner = c;
        s.largest = z[winner * stride];
        for (index_t c = 0; c < classes; ++c)
            if (c != winner) s.others += std::exp(z[c * stride] - s.largest);
        return s;
    }
    [[nodiscard]] float probability(float logit) const { return std::exp(logit - largest) / (1 + others); }
    [[nodiscard]] float minus_log_probability(float logit) const { return (largest - logit) + std::log1p(others); }
};

/// The loss of one row, not yet divided by the batch's weight; writes its gradient, multiplied by `scale`, unless that is null.
inline float row(float const* z, index_t classes, index_t stride, index_t label, float const* weights, float smoothing, float scale, float* gradient) {
    Softmax const s = Softmax::of(z, classes, stride);
    float const kept = (1 - smoothing) * weights[label], spread = smoothing / static_cast<float>(classes);
    float loss = kept * s.minus_log_probability(z[label * stride]), mass = kept;
    if (spread != 0)
        for (index_t c = 0; c < classes; ++c) {
            loss += spread * weights[c] * s.minus_log_probability(z[c * stride]);
            mass += spread * weights[c];
        }
    if (gradient != nullptr)
        for (index_t c = 0; c < classes; ++c) {
            float const target = (c == label ? kept : 0.0f) + spread * weights[c];
            gradient[c * stride] = scale * (mass * s.probability(z[c * stride]) - target);
        }
    return loss;
}

/// The mean loss of a batch in blocks of `Lanes`, and its gradient unless null; rows that do not count get exactly 0.
/// @param z [blocks][Classes][Lanes]  @param labels [blocks][Lanes]  @param samples how many rows are real
template <int Lanes, index_t Classes>
float batch(float const* z, std::int32_t const* labels, float const* weights, float const* settings, index_t blocks, index_t samples, float* gradient) {
    auto const ignored = static_cast<std::int32_t>(settings[ignore_index]);
    auto const counts = [&](index_t i) { return i < samples && labels[i] != ignored; };
    double denominator = 0;
    for (index_t i = 0; i < samples; ++i)
        if (counts(i)) denominator += weights[labels[i]];
    float const scale = denominator > 0 ? static_cast<float>(1 / denominator) : 0.0f;
    double loss = 0;
    for (index_t i = 0; i < blocks * Lanes; ++i) {
        index_t const at = i / Lanes * Classes * Lanes + i % Lanes;
        float* const g = gradient != nullptr ? gradient + at : nullptr;
        if (counts(i)) loss += row(z + at, Classes, Lanes, labels[i], weights, settings[label_smoothing], scale, g);
        else if (g != nullptr)
            for (index_t c = 0; c < Classes; ++c) g[c * Lanes] = 0;
    }
    return denominator > 0 ? static_cast<float>(loss / denominator) : 0.0f;
}

} // namespace tenon::cross_entropy

namespace tenon::cpu {

namespace detail {

/// The family's two results in either order: LossFirst where the loss is the anchor; each is written if it is wanted.
template <int Lanes, index_t Classes, int LossSlot, int GradientSlot>
struct CrossEntropyStage {
    static constexpr index_t scratch(index_t) { return 0; }

    static void run(StageContext const& c) {
        float* gradient = nullptr;
        if constexpr (GradientSlot >= 0) gradient = c.at<float>(GradientSlot);
        float const loss = cross_entropy::batch<Lanes, Classes>(c.at<float const>(input_slot), c.at<std::int32_t const>(input_slot + 1), c.at<float const>(input_slot + 2),
                                                                c.at<float const>(input_slot + 3), c.blocks, c.samples, gradient);
        if constexpr (LossSlot >= 0) *c.at<float>(LossSlot) = loss;
    }
};

template <class C, int S>
constexpr StageKernel cross_entropy_kernel() {
    constexpr graph::Stage stage = C::stages[S];
    constexpr graph::Node node = graph::anchor_of<C, S>();
    constexpr bool both = stage.companion[0] >= 0, loss_first = node.is(cross_entropy::loss_op);
    constexpr int loss = loss_first ? result_slot : both ? companion_slot : -1, gradient = !loss_first ? result_slot : both ? companion_slot : -1;
    constexpr bool loss_stored = loss >= 0 && C::tables.stored[static_cast<std::size_t>(loss_first ? stage.anchor : both ? stage.companion[0] : 0)];
    using Stage = CrossEntropyStage<C::layout.lanes, graph::input_shape<C, node>()[0], loss_stored ? loss : -1, gradient>;
    return {&Stage::run, &Stage::scratch};
}

} // namespace detail

template <>
struct CpuStage<&cross_entropy::loss_op> {
    template <class C, int S>
    static constexpr StageKernel kernel() {
        return detail::cross_entropy_kernel<C, S>();
    }
};

template <>
struct CpuStage<&cross_entropy::gradient_op> {
    template <class C, int S>
    static constexpr StageKernel kernel() {
        return detail::cross_entropy_kernel<C, S>();
    }
};

} // namespace tenon::cpu
