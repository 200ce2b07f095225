/// @file
/// Register tiles: how matrix-like kernels (convolution, matrix product) cut their work into tiles of accumulators.
#pragma once

#include <tenon/cpu/vector.hpp>

namespace tenon::cpu {

[[nodiscard]] constexpr index_t least(index_t a, index_t b) { return a < b ? a : b; }
[[nodiscard]] constexpr index_t most(index_t a, index_t b) { return a < b ? b : a; }
[[nodiscard]] constexpr index_t ceil_divide(index_t a, index_t b) { return (a + b - 1) / b; }

/// `count` things in as few tiles of at most `largest` as will do, and those as equal as they can be: the first
/// `larger_tiles` hold one more than the others.
struct Partition {
    index_t count, tiles;

    constexpr Partition(index_t things, index_t largest_tile)
        : count{things}, tiles{ceil_divide(things, largest_tile)} {}

    [[nodiscard]] constexpr index_t small() const { return count / tiles; }
    [[nodiscard]] constexpr index_t larger_tiles() const { return count % tiles; }
    [[nodiscard]] constexpr index_t largest() const { return ceil_divide(count, tiles); }
    [[nodiscard]] constexpr index_t begin(index_t tile) const { return tile * small() + least(tile, larger_tiles()); }
    [[nodiscard]] constexpr index_t size(index_t tile) const { return small() + (tile < larger_tiles() ? 1 : 0); }
};

/// A stage of so many tasks keeps several threads busy: as few threads as this do not wait long for the last one.
inline constexpr index_t enough_tasks = 8;

/// Accumulators that leave room for what is multiplied; without fused multiply-adds also for the products.
#if defined(__FMA__) || defined(__aarch64__)
inline constexpr int accumulators = vector_registers * 3 / 4;
#else
inline constexpr int accumulators = vector_registers * 9 / 16;
#endif

/// Accumulators: `rows` values, each in all lanes, times `columns` vectors that differ.
struct TileShape {
    int rows, columns;
};

/// What a row of a kernel does with the columns of a tile: how many taps, and how many columns apart they read.
struct Reach {
    index_t taps, stride;
};

/// What one tap of a tile costs, in multiply-adds. A core starts two of them in a cycle and wants eight under way; it
/// also loads two vectors in a cycle, and one from the second-level cache in a cycle and a half.
[[nodiscard]] constexpr index_t tile_cost(index_t rows, index_t columns, Reach reach) {
    if (rows == 0 || columns == 0) return 0;
    index_t const lines = ceil_divide((columns - 1) * least(reach.stride, reach.taps) + reach.taps, reach.taps);
    return most(most(rows * columns, rows + columns), most(8, 3 * lines)) + 1;
}

/// What a whole row of the problem costs: rows x columns accumulators cut into tiles of `r` x `c`.
[[nodiscard]] constexpr index_t tiling_cost(index_t rows, index_t columns, index_t r, index_t c, Reach reach) {
    Partition const down{rows, r}, across{columns, c};
    index_t const tall = down.larger_tiles(), wide = across.larger_tiles();
    index_t const low = down.small(), narrow = across.small();
    index_t const cost = (down.tiles - tall) * (across.tiles - wide) * tile_cost(low, narrow, reach) +
                         tall * (across.tiles - wide) * tile_cost(low + 1, narrow, reach) +
                         (down.tiles - tall) * wide * tile_cost(low, narrow + 1, reach) +
                         tall * wide * tile_cost(low + 1, narrow + 1, reach);
    return cost * (tall > 0 ? 103 : 100) * (wide > 0 ? 103 : 100); // unequal tiles are compiled twice
}

/// The tile with which rows x columns accumulators cost least.
[[nodiscard]] constexpr TileShape choose_tile(index_t rows, index_t columns, Reach reach) {
    TileShape best{1, 1};
    index_t best_cost = -1;
    for (int r = 1; r <= least(rows, accumulators); ++r)
        for (int c = 1; c <= least(columns, accumulators / r); ++c) {
            if (c > r && r < rows)
                continue; // wide and flat: compilers spill, and each row of tiles reads all of the input again
            index_t const cost = tiling_cost(rows, columns, r, c, reach);
            if (best_cost < 0 || cost < best_cost) best = {r, c}, best_cost = cost;
        }
    return best;
}

/// One step of a tile of Rows x Columns accumulators: sum[r][c] += Operands::row(rows, r) * Operands::column(columns,
/// c), two functions that load a vector. What there is less of waits in registers, the other passes by.
template <class Operands, int Rows, int Columns, class V, class R, class C>
TENON_ALWAYS_INLINE void multiply_add(V* sum, R const& rows, C const& columns) {
    if constexpr (Columns <= Rows) {
        Registers<V, Columns> column;
        TENON_UNROLL for (int c = 0; c < Columns; ++c) {
            column[c] = Operands::column(columns, c);
            keep(column[c]);
        }
        TENON_UNROLL for (int r = 0; r < Rows; ++r) {
            V row = Operands::row(rows, r);
            keep(row);
            TENON_UNROLL for (int c = 0; c < Columns; ++c) sum[r * Columns + c] += row * column[c];
        }
    } else {
        Registers<V, Rows> row;
        TENON_UNROLL for (int r = 0; r < Rows; ++r) {
            row[r] = Operands::row(rows, r);
            keep(row[r]);
        }
        TENON_UNROLL for (int c = 0; c < Columns; ++c) {
            V column = Operands::column(columns, c);
            keep(column);
            TENON_UNROLL for (int r = 0; r < Rows; ++r) sum[r * Columns + c] += row[r] * column;
        }
    }
}

} // namespace tenon::cpu
