/// @file
/// Everything that a translated kernel uses.
#pragma once

#include "atomics.hpp"
#include "bits.hpp"
#include "floating.hpp"
#include "half.hpp"
#include "integer.hpp"
#include "module.hpp"
#include "packed.hpp"
#include "rounding.hpp"
#include "thread.hpp"
