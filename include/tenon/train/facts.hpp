/// @file
/// What the part of a trainer or predictor that works on run-time programs must know of the network's type.
#pragma once

#include <tenon/train/core.hpp>

namespace tenon::training {

/// @tparam Compiled the program whose arena holds the parameters
template <class Net, class Compiled>
TENON_ALWAYS_INLINE NetworkFacts network_facts(index_t batch_size) {
    constexpr auto parameters = Compiled::tables.parameters;
    constexpr auto offsets = [] {
        std::array<index_t, Compiled::tables.parameters.size()> of{};
        for (std::size_t i = 0; i < of.size(); ++i)
            if (int const node = Compiled::tables.parameters[i].node; node >= 0) of[i] = Compiled::tables.offset[static_cast<std::size_t>(node)];
        return of;
    }();
    constexpr auto names = Net::layer_names;
    constexpr std::ptrdiff_t count = Compiled::tables.sizes.parameters, layers = Net::layers < 0 ? 0 : Net::layers;
    return {batch_size, Net::input.count(), Net::output.count(), {names.begin(), names.begin() + layers}, {parameters.begin(), parameters.begin() + count}, {offsets.begin(), offsets.begin() + count}};
}

} // namespace tenon::training
