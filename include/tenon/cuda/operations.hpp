/// @file
/// Every operation's CUDA implementation.
#pragma once

#include <tenon/ops/conv2d/cuda_stage.hpp>
#include <tenon/ops/cross_entropy/cuda_stage.hpp>
#include <tenon/ops/linear/cuda_stage.hpp>
#include <tenon/ops/pointwise/cuda_stage.hpp>
#include <tenon/ops/pool2d/cuda_stage.hpp>
#include <tenon/ops/sum_to/cuda_stage.hpp>
