/// @file
/// What a loss writes into a graph.
#pragma once

#include <tenon/graph/pointwise.hpp>

namespace tenon::graph {

/// Numbers of the loss that are fixed when the trainer is made, such as class weights. The loss fills them.
inline constexpr Op setting_op{"setting", Kind::source};

/// The loss as one number for the batch, and its gradient by the network's output.
struct LossNodes {
    int loss = -1;
    Value gradient{};
};

/// The number slots that the trainer itself sets; an optimiser's slots follow.
enum NumberSlot : int { inverse_count, first_optimizer_number };

} // namespace tenon::graph
