/// @file
/// A program's surroundings, as types that travel through kernel signatures: the loop nest it runs in and how its
/// operands move.
#pragma once

#include <tenon/core/config.hpp>

namespace tenon {

/// Trip counts of a loop nest, outermost first.
template <index_t... E>
struct Extents {};

/// How one operand moves along those loops: elements of T in memory and a stride in elements per loop; 0 = broadcast.
template <class T, index_t... Stride>
struct Access {};

/// The same for memory of the machinery's own that has room for a whole vector behind the last element of each row:
/// vectors are moved whole, and what is behind the last element is overwritten.
template <class T, index_t... Stride>
struct ScratchAccess {};

/// The operand of Fn::index and Fn::random: strides of the linear element index.
template <index_t... Stride>
struct IndexAccess {};

/// What an operand is at run time.
struct Operand {
    void* data;         ///< first element; for Fn::random a RandomSource const*; unused for Fn::index
    index_t offset = 0; ///< base of the linear index of Fn::index and Fn::random
};

} // namespace tenon
