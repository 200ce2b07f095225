/// @file
/// Shapes as text, for messages.
#pragma once

#include <tenon/core/dims.hpp>
#include <tenon/core/error.hpp>

namespace tenon {

/// "3 x 28 x 28"
[[nodiscard]] TENON_COLD inline std::string describe_extents(Dims const& dims) {
    std::string text;
    for (int axis = 0; axis < dims.rank; ++axis) text += message({axis == 0 ? "" : " x ", dims[axis]});
    return text;
}

} // namespace tenon
