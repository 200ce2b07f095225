/// @file
/// Every operation's CPU implementation.
#pragma once

#include <tenon/ops/conv2d/cpu_stage.hpp>
#include <tenon/ops/cross_entropy/cpu_stage.hpp>
#include <tenon/ops/linear/cpu_stage.hpp>
#include <tenon/ops/pointwise/cpu_stage.hpp>
#include <tenon/ops/pool2d/cpu_stage.hpp>
#include <tenon/ops/sum_to/cpu_stage.hpp>
