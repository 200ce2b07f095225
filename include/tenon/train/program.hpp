/// @file
/// The two programs that come from one network type: the training step and inference.
#pragma once

#include <tenon/graph/compile.hpp>
#include <tenon/nn/loss.hpp>
#include <tenon/nn/network.hpp>

namespace tenon::training {

/// Forward, loss, backward and update.
template <class Net, class Loss, class Optimizer, graph::BatchLayout Layout, bool Reuse>
struct TrainingSource {
    static constexpr graph::BatchLayout layout = Layout;
    static constexpr bool reuse = Reuse;
    static constexpr index_t reserved = 0;
    static constexpr graph::Sizes usual_sizes = graph::usual_sizes(Net::forward_nodes, Net::parameter_tensors, true);

    static constexpr graph::Roots write(graph::Builder& b) {
        graph::Value const y = Net::write(b);
        if (!b.verdict.ok()) return {};
        if (b.parameters.empty()) b.fail(fault::network_has_no_parameters, Dims{y.shape()});
        graph::LossNodes const loss = Loss::write(b, y);
        if (!b.verdict.ok()) return {};
        std::vector<int> const gradients = graph::differentiate(b, y, loss.gradient);
        for (std::size_t p = 0; p < gradients.size(); ++p) {
            if (gradients[p] < 0) continue;
            b.update = static_cast<int>(p);
            b.layer = b.parameters[p].layer;
            Optimizer::write(b, b.update, {&b, gradients[p]});
        }
        b.update = -1;
        return {y.id, loss.loss, {loss.loss}};
    }
};

/// Forward alone, dropout and its like switched off; with a loss, its value too.
template <class Net, class Loss, graph::BatchLayout Layout, index_t Reserved>
struct InferenceSource {
    static constexpr graph::BatchLayout layout = Layout;
    static constexpr bool reuse = true;
    static constexpr index_t reserved = Reserved;
    static constexpr graph::Sizes usual_sizes = graph::usual_sizes(Net::forward_nodes, Net::parameter_tensors, false);

    static constexpr graph::Roots write(graph::Builder& b) {
        b.training = false;
        graph::Value const y = Net::write(b);
        if (!b.verdict.ok()) return {};
        if constexpr (std::is_void_v<Loss>) return {y.id, -1, {y.id}};
        else {
            int const loss = Loss::write(b, y).loss;
            if (!b.verdict.ok()) return {};
            return {y.id, loss, {y.id, loss}};
        }
    }
};

} // namespace tenon::training
