/// @file
/// Dropout: zeroes elements at random while training; the identity for inference.
#pragma once

#include <tenon/graph/pointwise.hpp>

namespace tenon {

/// Each element is zero with this probability, else scaled by 1 / (1 - probability) (torch.nn.Dropout). The mask comes from
/// the counter-based generator (seed, step, layer, element) and is drawn again for the gradient: it is stored nowhere.
struct Dropout {
    float probability = 0.5f;

    static constexpr char const* name = "Dropout";
    constexpr graph::Value write(graph::Builder& b, graph::Value x) const {
        if (!(probability >= 0 && probability <= 1)) return b.fail(fault::probability_is_outside_0_to_1, x.shape()), x;
        if (!b.training || probability == 0) return x;
        float const scale = probability < 1 ? 1 / (1 - probability) : 0;
        return x * select(graph::uniform_random(b, Dims{x.shape()}) < probability, 0.0f, scale);
    }
};

} // namespace tenon
