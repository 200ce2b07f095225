/// @file
/// A fully connected layer as the CPU kernels see it: integers only.
#pragma once

#include <tenon/cpu/tiling.hpp>

namespace tenon::linear {

using cpu::ceil_divide, cpu::choose_tile, cpu::least, cpu::most, cpu::multiply_add, cpu::Partition, cpu::TileShape;

/// Images come in blocks of `Lanes`, interleaved innermost: x [blocks, In, Lanes], y [blocks, Out, Lanes]; weight [Out,
/// In]. Lanes is a power of two, at most 16.
template <int Lanes, index_t In, index_t Out>
struct Problem {
    static constexpr int lanes = Lanes;
    static constexpr index_t inputs = In, outputs = Out;

    static_assert(Lanes == 1 || Lanes == 2 || Lanes == 4 || Lanes == 8 || Lanes == 16);
    static_assert(In > 0 && Out > 0);
};

} // namespace tenon::linear
