/// @file
/// Everything of data: datasets, the files of MNIST and Fashion-MNIST, digits drawn by the program, shuffling, batches.
#pragma once

#include <tenon/data/blobs.hpp>
#include <tenon/data/dataset.hpp>
#include <tenon/data/digits.hpp>
#include <tenon/data/idx.hpp>
#include <tenon/data/loader.hpp>
#include <tenon/data/mnist.hpp>
#include <tenon/data/permutation.hpp>
