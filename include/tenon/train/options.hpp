/// @file
/// Run-time choices of a trainer or predictor.
#pragma once

#include <tenon/core/config.hpp>

namespace tenon {

struct Options {
    std::uint64_t seed = 0;           ///< of initial weights, shuffling and dropout
    int threads = 0;                  ///< 0: one for each core that this process may use
    bool shuffle = true;              ///< visit the samples of an epoch in a new order each time
    bool stop_at_non_finite = true;   ///< fail before the weights change when a loss is NaN or infinite; on a GPU that step and those
                                      ///< started behind it change nothing, and whoever next looks at a loss or the weights is told
    bool measure_stages = false;      ///< time every stage, for explain(): costs some tens of nanoseconds a stage
    bool poison_dead_buffers = false; ///< overwrite bytes with NaN as soon as the plan calls them dead: a test of the plan
};

} // namespace tenon
