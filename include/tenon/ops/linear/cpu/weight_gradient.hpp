/// @file
/// The weight gradient of a fully connected layer: dw[o][i] = sum over images of dy[o] x[i], with i in the lanes.
#pragma once

#include <tenon/ops/linear/cpu/features.hpp>

namespace tenon::linear {

/// All blocks, one group of outputs. The order of summation depends on the shapes and on `blocks` alone.
template <class P>
class WeightGradient {
    static constexpr int width = cpu::native_lanes<float>, lanes = P::lanes;
    using V = cpu::Vec<float, width>;
    static constexpr index_t vectors = ceil_divide(P::inputs, width), padded = vectors * width;
    static constexpr index_t budget = 16 * 1024 / 4; ///< floats of a tile
    /// Few images leave so little to multiply that the way of the results to the cache and back counts for more.
    static constexpr index_t most_rows = lanes < width ? least(P::outputs, most(1, budget / P::inputs)) : P::outputs;
    static constexpr TileShape shape = choose_tile(most_rows, vectors, {1, 1});
    static constexpr Partition row_tiles{P::outputs, shape.rows}, column_tiles{vectors, shape.columns};
    static constexpr Partition task_tiles{row_tiles.tiles, most(1, budget / (row_tiles.largest() * P::inputs))};
    static constexpr int tail = static_cast<int>(P::inputs % width);

public:
    static constexpr index_t tasks = task_tiles.tiles;
    static constexpr index_t tile =
        least(task_tiles.largest() * row_tiles.largest(), P::outputs); ///< most outputs of a task
    static constexpr index_t tile_size = tile * P::inputs;             ///< floats of dw_tile

    [[nodiscard]] static constexpr index_t channel_begin(index_t task) {
        return row_tiles.begin(task_tiles.begin(task));
    }
    [[nodiscard]] static constexpr index_t channel_count(index_t task) {
        return row_tiles.begin(task_tiles.begin(task) + task_tiles.size(task)) - channel_begin(task);
    }
    /// Floats of each thread: x by images, [column tiles][images][features of the tile].
    [[nodiscard]] static constexpr index_t workspace(index_t blocks) { return blocks * lanes * padded; }

    /// Turns x into rows of features. Call it before run() for the same x on the same thread; several tasks may follow.
    static void prepare(float const* x, index_t blocks, float* space) {
        for (index_t t = 0; t < column_tiles.tiles; ++t) {
            index_t const begin = column_tiles.begin(t) * width, row = column_tiles.size(t) * width;
            for (index_t b = 0; b < blocks; ++b)
                separate_images<lanes>(x + (b * P::inputs + begin) * lanes, least(row, P::inputs - begin),
                                       space + begin * blocks * lanes + b * lanes * row, row);
        }
    }

    /// @param x [blocks, In, Lanes]  @param dy [blocks, Out, Lanes]
    /// @param dw_tile [channel_count(task), In]  @param db_tile [channel_count(task)], or null
    /// @param accumulate adds to the tiles instead of overwriting them
    static void run(index_t task, float const* /*x*/, float const* dy, index_t blocks, float* dw_tile, float* db_tile,
                    float const* space, bool accumulate = false) {
        dy += channel_begin(task) * lanes;
        for (index_t t = 0; t < column_tiles.tiles; ++t) {
            float const* const x = space + column_tiles.begin(t) * width * blocks * lanes;
            float* const dw = dw_tile + column_tiles.begin(t) * width;
            constexpr int larger = static_cast<int>(column_tiles.largest()),
                          smaller = static_cast<int>(column_tiles.small());
            constexpr int last = static_cast<int>(column_tiles.size(column_tiles.tiles - 1));
            if (tail > 0 && t == column_tiles.tiles - 1)
                run_rows<last, tail == 0 ? width : tail>(task, x, dy, blocks, dw, accumulate);
            else if (column_tiles.size(t) == larger) run_rows<larger, width>(task, x, dy, blocks, dw, accumulate);
            else if constexpr (smaller < larger && smaller > 0)
                run_rows<smaller, width>(task, x, dy, blocks, dw, accumulate);
        }
        if (db_tile != nullptr) sum_bias(channel_count(task), dy, blocks, db_tile, accumulate);
    }

private:
    template <int Columns, int Valid>
    TENON_ALWAYS_INLINE static void run_rows(index_t task, float const* x, float const* dy, index_t blocks, float* dw,
                                             bool accumulate) {
        constexpr int larger = static_cast<int>(row_tiles.largest()), smaller = static_cast<int>(row_tiles.small());
        for (index_t t = task_tiles.begin(task); t < task_tiles.begin(task) + task_tiles.size(task); ++t) {
            index_t const row = row_tiles.begin(t) - channel_begin(task);
            if (row_tiles.size(t) == larger)
                run_tile<larger, Columns, Valid>(x, dy + row * lanes, blocks, dw + row * P::inputs, accumulate);
            else if constexpr (smaller < larger && smaller > 0)
                run_tile<smaller, Columns, Valid>(x, dy + row * lanes, blocks, dw + row * P::inputs, accumulate);
        }
    }

    /// What a tile multiplies.
    struct Operands {
        TENON_ALWAYS_INLINE static V row(float const* dy, int r) { return cpu::broadcast<width>(dy[r * lanes]); }
        TENON_ALWAYS_INLINE static V column(float const* x, int c) { return cpu::load<width>(x + c * width); }
    };

    /// `Rows` outputs, `Columns` vectors of inputs of which the last has `Valid` lanes.
    template <int Rows, int Columns, int Valid>
    TENON_NEVER_INLINE static void run_tile(float const* x, float const* dy, index_t blocks, float* dw,
                                            bool accumulate) {
        cpu::Registers<V, Rows * Columns> sum{};
        for (index_t b = 0; b < blocks; ++b)
            for (index_t l = 0; l < lanes; ++l) {
                multiply_add<Operands, Rows, Columns>(sum, dy + b * P::outputs * lanes + l, x);
                x = cpu::opaque(x + Columns * width);
            }
        TENON_UNROLL for (int r = 0; r < Rows; ++r) {
            TENON_UNROLL for (int c = 0; c < Columns; ++c) {
                float* const to = dw + r * P::inputs + c * width;
                V result = sum[r * Columns + c];
                if (c < Columns - 1 || Valid == width) {
                    if (accumulate) result += cpu::load<width>(to);
                    cpu::store<width>(to, result);
                } else {
                    if (accumulate) result += cpu::load_some<width>(to, Valid);
                    cpu::store_some<width>(to, result, Valid);
                }
            }
        }
    }

    static void sum_bias(index_t count, float const* dy, index_t blocks, float* db, bool accumulate) {
        constexpr int together = static_cast<int>(least(lanes, width));
        for (index_t c = 0; c < count; ++c) {
            cpu::Registers<float, together> sums{};
            for (index_t b = 0; b < blocks; ++b)
                for (int part = 0; part < lanes; part += together)
                    for (int l = 0; l < together; ++l) sums[l] += dy[(b * P::outputs + c) * lanes + part + l];
            float sum = 0;
            for (float s : sums) sum += s;
            db[c] = accumulate ? db[c] + sum : sum;
        }
    }
};

} // namespace tenon::linear
