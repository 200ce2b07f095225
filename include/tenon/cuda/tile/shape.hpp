/// @file
/// How the tile kernel cuts a product: precision, tile sizes, how a tile lies in shared memory.
///
/// A product is result(x, y) = sum over k of a(x, k) b(k, y). x runs over rows, y over columns, k over the depth.
#pragma once

#include <tenon/core/config.hpp>
#include <tenon/core/precision.hpp>

namespace tenon::cuda::tile {

// --- precision: of the factors. Sums are float in all of them.

using Float = float32; ///< FFMA
using Tf32 = tf32;
using Tf32x3 = tf32x3;
using Bf16 = bf16;

template <class Precision>
inline constexpr bool on_tensor_cores = true;
template <>
inline constexpr bool on_tensor_cores<Float> = false;

/// Warps of a chosen tile's block: of every one, so that any products can share a launch.
inline constexpr int block_warps = 4;

/// The least compute capability that has it, as 80 for 8.0.
template <class Precision>
inline constexpr int least_architecture = on_tensor_cores<Precision> ? 80 : 0;

/// What lies next to each other in shared memory: neighbours across the tile's edge (the same k), or along the sum. Both operands
/// of a product have the same order, because the register tiles want it so.
enum class Order : int { across, along };

/// Depth x Columns threads and sizes of one block. Rows x Columns of the result are computed by RowWarps x ColumnWarps warps;
/// DepthWarps of such teams share the depth of each tile. Stages tiles are in shared memory at a time; Splits blocks share the
/// whole depth, and combine their sums in a fixed order.
template <int Rows, int Columns, int Depth, int RowWarps, int ColumnWarps, int DepthWarps = 1, int Stages = 3, int Splits = 1>
struct Tile {
    static constexpr int rows = Rows, columns = Columns, depth = Depth;
    static constexpr int row_warps = RowWarps, column_warps = ColumnWarps, depth_warps = DepthWarps;
    static constexpr int stages = Stages, splits = Splits;
    static constexpr int team = RowWarps * ColumnWarps * 32; ///< threads that share the result
    static constexpr int threads = team * DepthWarps;
    static constexpr int warp_rows = Rows / RowWarps, warp_columns = Columns / ColumnWarps, warp_depth = Depth / DepthWarps;

    static_assert(Rows % RowWarps == 0 && Columns % ColumnWarps == 0 && Depth % DepthWarps == 0, "tenon: warps share a tile evenly");
    static_assert(Stages >= 2 && Splits >= 1 && Splits <= 256 && threads <= 1024);
    static_assert(warp_depth % 4 == 0, "tenon: a warp walks the depth in steps of 4");
};

/// The largest power of two up to `most` that divides n.
[[nodiscard]] TENON_HOST_DEVICE constexpr int common_power(index_t n, int most) {
    int power = 1;
    while (power < most && n % (2 * power) == 0) power *= 2;
    return power;
}

[[nodiscard]] TENON_HOST_DEVICE constexpr int common_divisor(int a, int b) { return b == 0 ? a : common_divisor(b, a % b); }

[[nodiscard]] TENON_HOST_DEVICE constexpr index_t divide_up(index_t a, index_t b) { return (a + b - 1) / b; }

/// An operand's tile in shared memory: Extent (rows or columns) x Depth floats, with a stride that keeps reading free of bank
/// conflicts. @tparam RowStep how many of the tile's rows apart neighbouring lanes of a tensor-core warp read, 0 for FFMA
template <Order O, int Extent, int Depth, int RowStep>
struct Panel {
    static constexpr Order order = O;
    static constexpr int extent = Extent, depth = Depth;

    /// across: lanes read 4 values of k at a time, so those rows lie 8 or 24 banks apart. along: 16-byte reads go by 8 lanes; for
    /// FFMA those are 8 rows in a line, for tensor cores 2 rows RowStep apart with 4 pieces each.
    static constexpr int stride = [] {
        if (O == Order::across) return Extent % 16 == 0 ? Extent + 8 : (Extent + 7) / 8 * 8;
        if (RowStep == 0) return Depth % 8 == 0 ? Depth + 4 : Depth;
        int s = Depth;
        while (RowStep * s % 32 != 16) s += 4;
        return s;
    }();
    static constexpr int floats = stride * (O == Order::across ? Depth : Extent);

    __device__ static int at(int x, int k) { return O == Order::across ? k * stride + x : x * stride + k; }
};

} // namespace tenon::cuda::tile
