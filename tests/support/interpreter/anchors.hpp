/// @file
/// Every operation that is not pointwise: a new one gets a line here.
#pragma once

#include "cross_entropy.hpp"
#include "pointwise.hpp"
#include "pooling.hpp"
#include "products.hpp"

#include <tenon/ops/linear/linear.hpp>

namespace tenon::test {

/// Computes `node` from its inputs; y has the node's shape and is zero.
inline void interpret_anchor(graph::Node const& node, Values const* const* inputs, Values& y) {
    Values const& first = *inputs[0];
    auto const second = [&]() -> Values const& { return *inputs[1]; };
    auto const window = [&] { return pool2d::Geometry::of(node); };
    auto const convolution = [&] { return conv2d::Geometry::of(node); };
    auto const rows = [&] { return CrossEntropyInputs{first, second(), *inputs[2], *inputs[3]}; };
    if (node.is(graph::sum_to_op)) interpret_sum_to(first, y);
    else if (node.is(conv2d::forward_op)) interpret_conv2d(convolution(), first, second(), y);
    else if (node.is(conv2d::input_gradient_op)) interpret_conv2d_input_gradient(convolution(), first, second(), y);
    else if (node.is(conv2d::weight_gradient_op)) interpret_conv2d_weight_gradient(convolution(), first, second(), y);
    else if (node.is(linear::forward_op)) interpret_linear(first, second(), y);
    else if (node.is(linear::input_gradient_op)) interpret_linear_input_gradient(first, second(), y);
    else if (node.is(linear::weight_gradient_op)) interpret_linear_weight_gradient(first, second(), y);
    else if (node.is(pool2d::max_op)) interpret_max_pool(window(), first, y);
    else if (node.is(pool2d::max_index_op)) interpret_max_pool_index(window(), first, y);
    else if (node.is(pool2d::max_gradient_op)) interpret_max_pool_gradient(window(), first, second(), y);
    else if (node.is(pool2d::average_op)) interpret_average_pool(window(), first, y);
    else if (node.is(pool2d::average_gradient_op)) interpret_average_pool_gradient(window(), first, y);
    else if (node.is(cross_entropy::loss_op)) interpret_cross_entropy(rows(), y);
    else if (node.is(cross_entropy::gradient_op)) interpret_cross_entropy_gradient(rows(), y);
    else fail(std::string{"interpreter: no definition of "} + node.op->name);
}

} // namespace tenon::test
