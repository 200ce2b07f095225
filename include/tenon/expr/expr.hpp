/// @file
/// The tensor library's front door: tensors, expressions over them, reductions, views, products, assignment.
///
///     Tensor<float, Shape<64, 500>> y = relu(matmul(x, w) + b);       // one kernel, no temporary
///     Tensor p = exp(z - max<1>(z)) / sum<1>(exp(z - max<1>(z)));     // row by row
///     update(v = mu * v + g, w = w - lr * v);                         // one loop
///
/// Tensors know their shapes at compile time; shapes that do not fit are compile errors. An expression holds pointers
/// to the tensors that it mentions: keep those alive as long as it. Printing is in core/print.hpp.
#pragma once

#include <tenon/core/requirements.hpp> // first: see there
#include <tenon/core/tensor.hpp>

#include <tenon/expr/assignment.hpp>
#include <tenon/expr/create.hpp>
#include <tenon/expr/derived.hpp>
#include <tenon/expr/map.hpp>
#include <tenon/expr/operators.hpp>
#include <tenon/expr/product.hpp>
#include <tenon/expr/reduction.hpp>
#include <tenon/expr/views.hpp>
