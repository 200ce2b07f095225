/// @file
/// The values of one node of a graph, in double: one tensor for each sample, or one for the whole batch.
#pragma once

#include <tenon/graph/node.hpp>

#include <cstddef>
#include <vector>

namespace tenon::test {

/// [samples][elements of shape], row-major; one "sample" if the node is not batched.
struct Values {
    Dims shape;
    bool batched = false;
    index_t samples = 1;
    std::vector<double> data;

    Values() = default;
    Values(graph::Node const& node, index_t batch)
        : shape{node.shape}, batched{node.batched}, samples{node.batched ? batch : 1},
          data(static_cast<std::size_t>(samples * shape.count())) {}

    /// Sample `sample` of a batched node; the only tensor of another.
    [[nodiscard]] double* at(index_t sample) {
        return data.data() + (batched ? sample : 0) * shape.count();
    }
    [[nodiscard]] double const* at(index_t sample) const {
        return data.data() + (batched ? sample : 0) * shape.count();
    }
};

/// The element of a tensor of shape `small` that element `element` of a tensor of shape `large` meets when `small` is
/// broadcast to `large`: axes are aligned at the right, an extent of 1 or a missing axis is stretched.
[[nodiscard]] inline index_t broadcast_element(Dims const& small, Dims const& large, index_t element) {
    index_t found = 0, stride = 1;
    for (int from_right = 1; from_right <= large.rank; ++from_right) {
        index_t const extent = large[large.rank - from_right], coordinate = element % extent;
        element /= extent;
        if (from_right > small.rank) continue;
        if (small[small.rank - from_right] != 1) found += coordinate * stride;
        stride *= small[small.rank - from_right];
    }
    return found;
}

} // namespace tenon::test
