/// @file
/// A convolution as the CPU kernels see it: integers only.
#pragma once

#include <tenon/cpu/tiling.hpp>

namespace tenon::conv2d {

using cpu::ceil_divide, cpu::choose_tile, cpu::enough_tasks, cpu::least, cpu::most, cpu::multiply_add, cpu::Partition, cpu::TileShape;

/// Images come in blocks of `Lanes`, interleaved innermost: x [C, H, W, Lanes], y [O, out_height, out_width, Lanes];
/// weight [O, C / Groups, KH, KW]. Lanes is a power of two, at most 16.
template <int Lanes, index_t C, index_t H, index_t W, index_t O, index_t KH, index_t KW, index_t SH = 1, index_t SW = 1,
          index_t PH = 0, index_t PW = 0, index_t DH = 1, index_t DW = 1, index_t Groups = 1>
struct Problem {
    static constexpr int lanes = Lanes;
    static constexpr index_t channels = C, height = H, width = W, outputs = O, groups = Groups;
    static constexpr index_t kernel_height = KH, kernel_width = KW, stride_height = SH, stride_width = SW;
    static constexpr index_t padding_height = PH, padding_width = PW, dilation_height = DH, dilation_width = DW;
    static constexpr index_t out_height = (H + 2 * PH - DH * (KH - 1) - 1) / SH + 1;
    static constexpr index_t out_width = (W + 2 * PW - DW * (KW - 1) - 1) / SW + 1;
    static constexpr index_t group_channels = C / Groups, group_outputs = O / Groups;
    static constexpr index_t weights_per_output = group_channels * KH * KW;
    static constexpr index_t x_block = C * H * W * Lanes, y_block = O * out_height * out_width * Lanes; ///< floats

    static_assert(Lanes == 1 || Lanes == 2 || Lanes == 4 || Lanes == 8 || Lanes == 16);
    static_assert(C % Groups == 0 && O % Groups == 0 && out_height > 0 && out_width > 0);
};

/// Output channels that share a vector with `lanes` images each, where images alone do not fill one: as many as fit and
/// are there, and at least so many that the vector has four lanes.
[[nodiscard]] constexpr int packed_channels(int lanes, index_t channels) {
    constexpr int native = cpu::native_lanes<float>;
    if (lanes >= native) return 1;
    int packed = lanes < 4 ? 4 / lanes : 1;
    while (packed < channels && packed * lanes < native) packed *= 2;
    return packed;
}

} // namespace tenon::conv2d
