/// @file
/// Flatten: the same elements as one row for each sample.
#pragma once

#include <tenon/graph/pointwise.hpp>

namespace tenon {

/// [C, H, W] -> [C * H * W]. The size is optional; given, the compiler checks it.
struct Flatten {
    index_t size = 0;

    static constexpr char const* name = "Flatten";
    constexpr graph::Value write(graph::Builder& b, graph::Value x) const {
        index_t const arrives = x.shape().count();
        if (size != 0 && size != arrives) b.fail(fault::flatten_size_differs_from_what_arrives, Dims{x.shape()}, {size});
        return reshape(x, {arrives});
    }
};

} // namespace tenon
