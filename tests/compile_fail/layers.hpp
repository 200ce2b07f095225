/// @file
/// Networks without what trains them: the part of <tenon/tenon.hpp> that says whether layers fit together.
#pragma once

#include <tenon/nn/network.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/conv2d/conv2d.hpp>
#include <tenon/ops/dropout/dropout.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/linear/linear.hpp>
#include <tenon/ops/pool2d/pool2d.hpp>
