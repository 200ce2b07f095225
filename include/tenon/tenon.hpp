/// @file
/// The front door: what a user needs, and nothing that costs without use.
#pragma once

#include <tenon/data/data.hpp>
#include <tenon/expr/expr.hpp>
#include <tenon/nn/network.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/conv2d/conv2d.hpp>
#include <tenon/ops/cross_entropy/cross_entropy.hpp>
#include <tenon/ops/dropout/dropout.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/linear/linear.hpp>
#include <tenon/ops/mse/mse.hpp>
#include <tenon/ops/pool2d/pool2d.hpp>
#include <tenon/optim/schedule.hpp>
#include <tenon/optim/sgd.hpp>
#include <tenon/train/print.hpp>
#include <tenon/train/progress.hpp>
#include <tenon/train/trainer.hpp>

#if defined(__CUDACC__)
#include <tenon/cuda/backend.hpp>
#endif

namespace tenon {

/// Sizes in mebibytes: `static_assert(memory.total <= 16_MiB)`.
[[nodiscard]] constexpr index_t operator""_MiB(unsigned long long n) { return static_cast<index_t>(n) << 20; }

} // namespace tenon
