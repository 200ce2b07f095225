/// @file
/// Mean squared error.
#pragma once

#include <tenon/nn/loss.hpp>

namespace tenon {

/// The mean over batch and elements of (output - target)^2 (torch.nn.MSELoss). A target has the output's shape.
struct MSE {
    using Target = float; ///< as many for each sample as the output has elements
    static constexpr char const* name = "MSE";

    static constexpr graph::LossNodes write(graph::Builder& b, graph::Value output) {
        Dims const s = output.shape();
        graph::Value const target{&b, b.source(graph::label_op, s, true, 0)};
        graph::Value const scale = graph::Value{&b, b.number(graph::inverse_count)} * (1.0f / static_cast<float>(s.count()));
        graph::Value const present{&b, b.source(graph::presence_op, {}, true, 0)};
        graph::Value const difference = select(present > 0.5f, output - target, 0.0f);
        return {(sum_to(difference * difference, {}, false) * scale).id, difference * (2.0f * scale)};
    }

    void fill_setting(int, float*, index_t) const {}
    void check_targets(float const*, index_t, index_t, index_t) const {}
    [[nodiscard]] double weight_of(float const*, index_t samples) const { return static_cast<double>(samples); }
};

} // namespace tenon
