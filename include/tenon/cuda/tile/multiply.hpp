/// @file
/// From shared memory to sums in registers: one warp's share of a tile.
///
/// A warp computes Height x Width sums; each lane holds rows x columns of them. Rows of a lane come in groups of row_group
/// neighbours, columns in groups of column_group: what an epilogue can store, or pool, at once.
///     row(lane, i), column(lane, j): where sum [i][j] lies in the warp's part
///     add(sum, a, b, depth): adds the products of `depth` steps; a and b point to the warp's first row, column and step
#pragma once

#include <tenon/cuda/mma.hpp>
#include <tenon/cuda/tile/shape.hpp>

namespace tenon::cuda::tile {

namespace detail {

/// N neighbouring floats from shared memory in as few loads as can be.
template <int N>
__device__ inline void load_line(float* to, float const* from) {
    if constexpr (N == 4) {
        float4 const v = *reinterpret_cast<float4 const*>(from);
        to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
    } else if constexpr (N == 2) {
        float2 const v = *reinterpret_cast<float2 const*>(from);
        to[0] = v.x, to[1] = v.y;
    } else {
        static_assert(N == 1);
        to[0] = *from;
    }
}

} // namespace detail

template <class Precision, Order O, int Height, int Width>
struct Multiply;

/// FFMA: 4 x 8 lanes. Lanes that differ in one of the lowest two bits share a row or a column, so that their 16-byte loads merge.
template <Order O, int Height, int Width>
struct Multiply<Float, O, Height, Width> {
    static constexpr int lane_rows = 4, lane_columns = 8;
    static constexpr int rows = Height / lane_rows, columns = Width / lane_columns;
    static constexpr int row_group = O == Order::across ? common_power(rows, 4) : 1;
    static constexpr int column_group = O == Order::across ? common_power(columns, 4) : 1;
    static constexpr int row_step = 0, column_step = 0; ///< see Panel
    static constexpr int depth_step = 4;
    static constexpr int next_group = 1, group_after = 16; ///< flip these bits of the lane's number: the next row group, and the one after it
    static_assert(Height % lane_rows == 0 && Width % lane_columns == 0, "tenon: a warp's part is a multiple of 4 x 8");

    __device__ static int row(int lane, int i) { return i / row_group * (lane_rows * row_group) + lane_row(lane) * row_group + i % row_group; }
    __device__ static int column(int lane, int j) {
        return j / column_group * (lane_columns * column_group) + lane_column(lane) * column_group + j % column_group;
    }

    /// Steps in a row: enough to hide the latency of shared memory; more would fetch ahead into too many registers.
    static constexpr int unrolled = rows * columns >= 32 ? 4 : 8;

    template <int Depth, class A, class B>
    __device__ static void add(float (&sum)[rows][columns], float const* a, float const* b, int lane) {
        if constexpr (O == Order::across) {
#pragma unroll unrolled
            for (int k = 0; k < Depth; ++k) {
                float x[rows], y[columns];
#pragma unroll
                for (int i = 0; i < rows; i += row_group) detail::load_line<row_group>(x + i, a + A::at(row(lane, i), k));
#pragma unroll
                for (int j = 0; j < columns; j += column_group) detail::load_line<column_group>(y + j, b + B::at(column(lane, j), k));
#pragma unroll
                for (int i = 0; i < rows; ++i)
#pragma unroll
                    for (int j = 0; j < columns; ++j) sum[i][j] = fmaf(x[i], y[j], sum[i][j]);
            }
        } else {
#pragma unroll unrolled / 4
            for (int k = 0; k < Depth; k += 4) {
                float y[columns][4];
#pragma unroll
                for (int j = 0; j < columns; ++j) detail::load_line<4>(y[j], b + B::at(column(lane, j), k));
#pragma unroll
                for (int i = 0; i < rows; ++i) {
                    float x[4];
                    detail::load_line<4>(x, a + A::at(row(lane, i), k));
#pragma unroll
                    for (int c = 0; c < 4; ++c)
#pragma unroll
                        for (int j = 0; j < columns; ++j) sum[i][j] = fmaf(x[c], y[j][c], sum[i][j]);
                }
            }
        }
    }

private:
    __device__ static int lane_row(int lane) { return lane % 2 + lane / 16 * 2; }
    __device__ static int lane_column(int lane) { return lane / 2 % 8; }
};

namespace detail {

/// One step of 16 along the sum for one 16 x 8 tile. a: rows 0 and 8 of the lane, b: its column; 4 steps each, of which the first
/// two and the last two go together. Templates, so that devices without tensor cores can read past them.
template <class Precision>
struct TileProduct;

template <>
struct TileProduct<Tf32> {
    template <int Needed = 80>
    __device__ static void add(float& d0, float& d1, float& d2, float& d3, float const (&a0)[4], float const (&a8)[4], float const (&b)[4]) {
#pragma unroll
        for (int s = 0; s < 4; s += 2) {
            std::uint32_t const x[4] = {to_tf32<Needed>(a0[s]), to_tf32<Needed>(a8[s]), to_tf32<Needed>(a0[s + 1]), to_tf32<Needed>(a8[s + 1])};
            std::uint32_t const y[2] = {to_tf32<Needed>(b[s]), to_tf32<Needed>(b[s + 1])};
            multiply_tf32<Needed>(d0, d1, d2, d3, x, y);
        }
    }
};

/// The small parts first, so that they are not lost in the large sum. Small times small is below the last bit.
template <>
struct TileProduct<Tf32x3> {
    template <int Needed = 80>
    __device__ static void add(float& d0, float& d1, float& d2, float& d3, float const (&a0)[4], float const (&a8)[4], float const (&b)[4]) {
#pragma unroll
        for (int s = 0; s < 4; s += 2) {
            float const a[4] = {a0[s], a8[s], a0[s + 1], a8[s + 1]};
            std::uint32_t large[4], small[4], y_large[2], y_small[2];
#pragma unroll
            for (int i = 0; i < 4; ++i) split<Needed>(a[i], large[i], small[i]);
#pragma unroll
            for (int i = 0; i < 2; ++i) split<Needed>(b[s + i], y_large[i], y_small[i]);
            multiply_tf32<Needed>(d0, d1, d2, d3, small, y_large);
            multiply_tf32<Needed>(d0, d1, d2, d3, large, y_small);
            multiply_tf32<Needed>(d0, d1, d2, d3, large, y_large);
        }
    }
    template <int Needed>
    __device__ static void split(float value, std::uint32_t& large, std::uint32_t& small) {
        large = to_tf32<Needed>(value);
        small = to_tf32<Needed>(value - __uint_as_float(large));
    }
};

template <>
struct TileProduct<Bf16> {
    template <int Needed = 80>
    __device__ static void add(float& d0, float& d1, float& d2, float& d3, float const (&a0)[4], float const (&a8)[4], float const (&b)[4]) {
        std::uint32_t const x[4] = {to_bf16_pair<Needed>(a0[0], a0[1]), to_bf16_pair<Needed>(a8[0], a8[1]), to_bf16_pair<Needed>(a0[2], a0[3]), to_bf16_pair<Needed>(a8[2], a8[3])};
        std::uint32_t const y[2] = {to_bf16_pair<Needed>(b[0], b[1]), to_bf16_pair<Needed>(b[2], b[3])};
        multiply_bf16<Needed>(d0, d1, d2, d3, x, y);
    }
};

} // namespace detail

/// Tensor cores. Lane 4 g + t takes row_group neighbouring rows from g row_group on, as rows g and g + 8 of its 16 x 8 tiles, and so
/// for columns: which of the warp's rows are called which inside a product is free, and neighbours are read and stored at once.
/// The steps of the sum are as free: 4 t .. 4 t + 3 where those are neighbours in shared memory, else t, t + 4, t + 8, t + 12.
template <class Precision, Order O, int Height, int Width>
struct Multiply {
    static constexpr int row_tiles = Height / 16, column_tiles = Width / 8;
    static constexpr int rows = 2 * row_tiles, columns = 2 * column_tiles;
    static constexpr int row_group = Height % 32 == 0 ? 4 : 2;
    static constexpr int column_step = common_power(column_tiles, 4), column_group = 2 * column_step;
    static constexpr int row_step = row_group;
    static constexpr int depth_step = 16;
    static constexpr int next_group = 4, group_after = 8; ///< flip these bits of the lane's number: the next row group, and the one after it
    static_assert(Height % 16 == 0 && Width % 8 == 0, "tenon: a warp's part is a multiple of 16 x 8");

    __device__ static int row(int lane, int i) { return i / row_group * (8 * row_group) + lane / 4 * row_group + i % row_group; }
    __device__ static int column(int lane, int j) { return j / column_group * (4 * column_group) + lane % 4 * column_group + j % column_group; }

    template <int Depth, class A, class B>
    __device__ static void add(float (&sum)[rows][columns], float const* a, float const* b, int lane) {
        static_assert(Depth % depth_step == 0, "tenon: tensor cores walk the depth in steps of 16");
#pragma unroll
        for (int k = 0; k < Depth; k += depth_step) {
            float x[rows][4], y[column_tiles][4];
            load<A, rows, row_group>(x, a, k, lane);
            load<B, column_tiles, column_step>(y, b, k, lane);
#pragma unroll
            for (int i = 0; i < rows; i += 2)
#pragma unroll
                for (int j = 0; j < column_tiles; ++j) {
                    int const c = j / column_step * column_group + j % column_step; // columns c and c + column_step
                    detail::TileProduct<Precision>::add(sum[i][c], sum[i][c + column_step], sum[i + 1][c], sum[i + 1][c + column_step], x[i], x[i + 1], y[j]);
                }
        }
    }

private:
    /// Four steps of each of the lane's Count rows (columns), which come in groups of Group neighbours, 8 lanes side by side.
    template <class Panel, int Count, int Group>
    __device__ static void load(float (&to)[Count][4], float const* panel, int k, int lane) {
        int const g = lane / 4, t = lane % 4;
#pragma unroll
        for (int i = 0; i < Count; i += Group) {
            int const x = i * 8 + g * Group;
            if constexpr (O == Order::across) {
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    float line[Group];
                    detail::load_line<Group>(line, panel + Panel::at(x, k + t + 4 * c));
#pragma unroll
                    for (int q = 0; q < Group; ++q) to[i + q][c] = line[q];
                }
            } else {
#pragma unroll
                for (int q = 0; q < Group; ++q) detail::load_line<4>(to[i + q], panel + Panel::at(x + q, k + 4 * t));
            }
        }
    }
};

} // namespace tenon::cuda::tile
