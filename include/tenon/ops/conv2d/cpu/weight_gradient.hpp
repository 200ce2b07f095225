/// @file
/// The weight gradient of a convolution: dw[o][i][ky][kx] = sum over images and positions of dy[o][y][x] x[i][y + ky][x
/// + kx].
///
/// A vector of dy holds the images of one position or, where that is less than a register, those of several output
/// channels. A tile of (channels x taps) accumulators stays in registers while the positions of a chunk pass; lanes are
/// summed at the very end. Chunks are as large as the first-level cache lets them be, because every tap reads dy again.
#pragma once

#include <tenon/ops/conv2d/cpu/axis.hpp>
#include <tenon/ops/conv2d/cpu/problem.hpp>

#include <utility>

namespace tenon::conv2d {

/// dw for all blocks and a group of output channels. The order of summation depends on the problem and on `blocks`
/// alone.
template <class P>
class WeightGradient {
    static constexpr int lanes = P::lanes, native = cpu::native_lanes<float>;
    /// Output channels in a vector, lanes of a vector, and how often the lanes of a position need one.
    static constexpr int packed = packed_channels(lanes, P::group_outputs);
    static constexpr int width = lanes >= native ? native : packed * lanes;
    static constexpr int group = width / packed, parts = lanes / group;
    using V = cpu::Vec<float, width>;

    static constexpr index_t units = ceil_divide(P::group_outputs, packed); ///< vectors of output channels in a group

    // A tile: some units times (inputs x columns of the kernel).
    static constexpr Partition tap_tiles{P::kernel_width, P::kernel_width <= 7 ? P::kernel_width : 6};
    static constexpr Partition input_tiles{P::group_channels, tap_tiles.largest() >= 3   ? 1
                                                              : tap_tiles.largest() == 2 ? 2
                                                                                         : 4};
    static constexpr index_t tile_columns = tap_tiles.largest() * input_tiles.largest();
    static constexpr index_t tile_rows() {
        index_t best = 1, best_cost = -1;
        for (index_t rows = 1; rows <= most(1, least(units, cpu::accumulators / tile_columns)); ++rows)
            if (index_t const cost = cpu::tiling_cost(units, tile_columns, rows, tile_columns, {tile_columns, 1});
                best_cost < 0 || cost < best_cost)
                best = rows, best_cost = cost;
        return best;
    }
    static constexpr Partition unit_tiles{units, tile_rows()};

    // A chunk of positions: some rows of one block or, where blocks are small, several blocks.
    static constexpr index_t budget = 24 * 1024 / 4; ///< floats of dy that share the first-level cache with x
    static constexpr index_t row_floats = P::out_width * lanes, plane_floats = P::out_height * row_floats;
    static constexpr index_t tile_channels = unit_tiles.largest() * packed;
    static constexpr Partition row_chunks{P::out_height, most(1, budget / (tile_channels * row_floats))};
    static constexpr index_t chunk_blocks = row_chunks.tiles > 1 ? 1 : most(1, budget / (tile_channels * plane_floats));

    static constexpr index_t x_row = P::width * lanes, x_plane = P::height * x_row, x_step = P::stride_width * lanes;
    static constexpr index_t taps = P::weights_per_output, padded_taps = ceil_divide(taps, width) * width;

    static constexpr Axis rows_axis{
        P::out_height, P::height, P::kernel_height, P::stride_height, P::padding_height, P::dilation_height, false};
    static constexpr Axis columns_axis{P::out_width,      P::width, P::kernel_width, P::stride_width, P::padding_width,
                                       P::dilation_width, false};
    static constexpr index_t inner_begin() {
        index_t x = 0;
        while (x < P::out_width && !columns_axis.inside(x)) ++x;
        return x;
    }
    static constexpr index_t inner_end() {
        index_t x = P::out_width;
        while (x > inner_begin() && !columns_axis.inside(x - 1)) --x;
        return x;
    }

    // The workspace: for each tile of a task accumulators [units][taps][width] and sums for the bias [units][width]; dy
    // in vectors where it has none.
    static constexpr index_t sums_floats = unit_tiles.largest() * padded_taps * width,
                             tile_floats = sums_floats + unit_tiles.largest() * width;
    static constexpr index_t dy_step = packed > 1 ? unit_tiles.largest() * width
                                                  : lanes; ///< floats from position to position
    static constexpr index_t dy_unit = packed > 1 ? width : plane_floats;
    static constexpr index_t packed_block =
        row_chunks.largest() * P::out_width * dy_step; ///< floats of a packed chunk of one block

    /// Tiles of a task: they share what is read of x. Not so many that their accumulators crowd the second-level cache,
    /// nor that there are too few tasks for several threads.
    static constexpr Partition task_tiles{unit_tiles.tiles,
                                          most(1, least(128 * 1024 / 4 / tile_floats, unit_tiles.tiles / enough_tasks))};

    static constexpr index_t first_tile(index_t task) { return task_tiles.begin(task % task_tiles.tiles); }
    static constexpr index_t end_tile(index_t task) {
        return first_tile(task) + task_tiles.size(task % task_tiles.tiles);
    }
    /// Channels of tile `t`, counted within the group.
    static constexpr index_t tile_begin(index_t t) { return least(unit_tiles.begin(t) * packed, P::group_outputs); }

public:
    static constexpr index_t tasks = P::groups * task_tiles.tiles;
    static constexpr index_t tile =
        least(task_tiles.largest() * tile_channels, P::group_outputs); ///< most channels of a task
    static constexpr index_t tile_size = tile * taps;                  ///< floats of dw_tile
    static constexpr index_t workspace =
        task_tiles.largest() * tile_floats + (packed > 1 ? chunk_blocks * packed_block : 0); ///< floats of each thread

    [[nodiscard]] static constexpr index_t channel_begin(index_t task) {
        return task / task_tiles.tiles * P::group_outputs + tile_begin(first_tile(task));
    }
    [[nodiscard]] static constexpr index_t channel_count(index_t task) {
        return tile_begin(end_tile(task)) - tile_begin(first_tile(task));
    }

    /// @param x [blocks, C, H, W, Lanes]  @param dy [blocks, O, out_height, out_width, Lanes]
    /// @param dw_tile [channel_count(task), C / Groups, KH, KW]
    /// @param db_tile [channel_count(task)] for the sum of dy, or null
    /// @param accumulate adds to the tiles instead of overwriting them
    static void run(index_t task, float const* x, float const* dy, index_t blocks, float* dw_tile, float* db_tile,
                    float* space, bool accumulate = false) {
        x += task / task_tiles.tiles * P::group_channels * x_plane;
        dy += task / task_tiles.tiles * P::group_outputs * plane_floats;
        float* const packed_dy = space + task_tiles.largest() * tile_floats;
        index_t const begin = first_tile(task), end = end_tile(task);
        for (index_t block = 0; block < blocks; block += chunk_blocks)
            for (index_t c = 0; c < row_chunks.tiles; ++c) {
                Chunk const chunk{x + block * P::x_block,
                                  dy + block * P::y_block + row_chunks.begin(c) * row_floats,
                                  packed_dy,
                                  least(chunk_blocks, blocks - block),
                                  P::y_block,
                                  row_chunks.begin(c),
                                  row_chunks.begin(c) + row_chunks.size(c),
                                  block == 0 && c == 0,
                                  db_tile != nullptr};
                for (index_t t = begin; t < end; ++t)
                    if (unit_tiles.size(t) == unit_tiles.largest())
                        add_chunk<static_cast<int>(unit_tiles.largest())>(chunk, t, space + (t - begin) * tile_floats);
                    else if constexpr (unit_tiles.larger_tiles() > 0)
                        add_chunk<static_cast<int>(unit_tiles.small())>(chunk, t, space + (t - begin) * tile_floats);
            }
        for (index_t t = begin; t < end; ++t) {
            index_t const channel = tile_begin(t) - tile_begin(begin), channels = tile_begin(t + 1) - tile_begin(t);
            finish(space + (t - begin) * tile_floats, channels, dw_tile + channel * taps, accumulate);
            if (db_tile != nullptr)
                finish_bias(space + (t - begin) * tile_floats + sums_floats, channels, db_tile + channel, accumulate);
        }
    }

private:
    /// The positions that are in the cache: rows [row_begin, row_end) of `blocks` blocks.
    struct Chunk {
        float const *x, *dy; ///< of the first block and the group; dy at row_begin
        float* packed_dy;
        index_t blocks, dy_block, row_begin, row_end;
        bool first, bias;
    };

    /// Adds what a chunk contributes to the accumulators of a tile.
    template <int Units>
    static void add_chunk(Chunk chunk, index_t t, float* sums) {
        chunk.dy += tile_begin(t) * plane_floats;
        if constexpr (packed > 1) {
            pack<Units>(chunk, tile_begin(t + 1) - tile_begin(t), chunk.packed_dy);
            chunk.dy = chunk.packed_dy;
            chunk.dy_block = packed_block;
        }
        if (chunk.bias) add_bias<Units>(chunk, sums + sums_floats);
        run_taps<Units>(chunk, sums);
    }

    /// dy [channels][positions][lanes] -> [positions][units][packed][lanes], channels filled up with zeros
    template <int Units>
    static void pack(Chunk const& chunk, index_t channels, float* to) {
        index_t const positions = (chunk.row_end - chunk.row_begin) * P::out_width;
        for (index_t b = 0; b < chunk.blocks; ++b, to += packed_block)
            for (index_t u = 0; u < Units; ++u) {
                float const* const from = chunk.dy + b * chunk.dy_block + u * packed * plane_floats;
                index_t const here = least(packed, channels - u * packed);
                index_t const vectors = positions / packed; // a vector of each channel is `packed` positions
                for (index_t i = 0; i < vectors * packed; i += packed) {
                    cpu::Registers<V, packed> v;
                    for (index_t q = 0; q < packed; ++q)
                        v[q] = q < here ? cpu::load<width>(from + q * plane_floats + i * lanes) : V{};
                    cpu::interleave<packed, lanes>(v);
                    for (index_t q = 0; q < packed; ++q) cpu::store<width>(to + (i + q) * dy_step + u * width, v[q]);
                }
                for (index_t i = vectors * packed; i < positions; ++i) {
                    std::memset(to + i * dy_step + u * width, 0, width * sizeof(float));
                    for (index_t q = 0; q < here; ++q)
                        std::memcpy(to + i * dy_step + u * width + q * lanes, from + q * plane_floats + i * lanes,
                                    lanes * sizeof(float));
                }
            }
    }

    template <int Units>
    static void add_bias(Chunk const& chunk, float* bias) {
        for (int u = 0; u < Units; ++u) {
            V sum = chunk.first ? V{} : cpu::load<width>(bias + u * width);
            for (index_t b = 0; b < chunk.blocks; ++b) {
                float const* const from = chunk.dy + b * chunk.dy_block + u * dy_unit;
                for (index_t i = 0; i < (chunk.row_end - chunk.row_begin) * P::out_width; ++i)
                    for (int part = 0; part < parts; ++part) sum += cpu::load<width>(from + i * dy_step + part * width);
            }
            cpu::store<width>(bias + u * width, sum);
        }
    }

    template <int Units>
    static void run_taps(Chunk const& chunk, float* sums) {
        constexpr int inputs = static_cast<int>(input_tiles.largest()),
                      few_inputs = static_cast<int>(input_tiles.small());
        constexpr int columns = static_cast<int>(tap_tiles.largest()),
                      few_columns = static_cast<int>(tap_tiles.small());
        for (index_t i = 0; i < input_tiles.tiles; ++i)
            for (index_t ky = 0; ky < P::kernel_height; ++ky)
                for (index_t k = 0; k < tap_tiles.tiles; ++k) {
                    index_t const input = input_tiles.begin(i), kx = tap_tiles.begin(k);
                    bool const full = input_tiles.size(i) == inputs;
                    if (tap_tiles.size(k) == columns) {
                        if (full) run_tile<Units, inputs, columns>(chunk, input, ky, kx, sums);
                        else if constexpr (few_inputs < inputs)
                            run_tile<Units, few_inputs, columns>(chunk, input, ky, kx, sums);
                    } else if constexpr (few_columns < columns) {
                        if (full) run_tile<Units, inputs, few_columns>(chunk, input, ky, kx, sums);
                        else if constexpr (few_inputs < inputs)
                            run_tile<Units, few_inputs, few_columns>(chunk, input, ky, kx, sums);
                    }
                }
    }

    TENON_ALWAYS_INLINE static V load_x(float const* from) {
        if constexpr (packed == 1) return cpu::load<width>(from);
        else return cpu::load_repeated<width, lanes>(from);
    }

    /// All positions of a chunk for one row of taps [Inputs][Columns] of all units.
    template <int Units, int Inputs, int Columns>
    TENON_NEVER_INLINE static void run_tile(Chunk const& chunk, index_t input, index_t ky, index_t kx, float* sums) {
        constexpr int count = Inputs * Columns;
        cpu::Registers<V, Units * count> sum;
        float* const to = sums + (input * P::kernel_height * P::kernel_width + ky * P::kernel_width + kx) * width;
        auto const address = [&](int u, int t) {
            return to + (u * padded_taps + t / Columns * P::kernel_height * P::kernel_width + t % Columns) * width;
        };
        TENON_UNROLL for (int u = 0; u < Units; ++u) {
            TENON_UNROLL for (int t = 0; t < count; ++t) {
                sum[u * count + t] = chunk.first ? V{} : cpu::load<width>(address(u, t));
            }
        }

        for (index_t b = 0; b < chunk.blocks; ++b)
            for (index_t row = chunk.row_begin; row < chunk.row_end; ++row) {
                index_t const y = rows_axis.source(row, ky);
                if (y < 0) continue;
                float const* x = chunk.x + b * P::x_block + input * x_plane + y * x_row;
                float const* dy = chunk.dy + b * chunk.dy_block + (row - chunk.row_begin) * P::out_width * dy_step;
                for (index_t column = 0; column < inner_begin(); ++column)
                    run_edge<Units, Inputs, Columns>(sum, x, dy, column, kx);
                run_inner<Units, Inputs, Columns>(
                    sum, x + (inner_begin() * P::stride_width - P::padding_width + kx * P::dilation_width) * lanes,
                    dy + inner_begin() * dy_step);
                for (index_t column = inner_end(); column < P::out_width; ++column)
                    run_edge<Units, Inputs, Columns>(sum, x, dy, column, kx);
            }

        TENON_UNROLL for (int u = 0; u < Units; ++u) {
            TENON_UNROLL for (int t = 0; t < count; ++t) cpu::store<width>(address(u, t), sum[u * count + t]);
        }
    }

    /// What a tile multiplies: dy of a unit, x under a tap.
    template <int Columns>
    struct Operands {
        TENON_ALWAYS_INLINE static V row(float const* dy, int u) { return cpu::load<width>(dy + u * dy_unit); }
        TENON_ALWAYS_INLINE static V column(float const* x, int t) {
            return load_x(x + t / Columns * x_plane + t % Columns * P::dilation_width * lanes);
        }
    };

    /// The columns of which every tap meets the input.
    template <int Units, int Inputs, int Columns>
    TENON_ALWAYS_INLINE static void run_inner(V* sum, float const* x, float const* dy) {
        if constexpr (parts == 1 ||
                      P::stride_width == 1) { // the parts of a position, and the positions, follow each other
            constexpr index_t x_next = parts == 1 ? x_step : width, dy_next = parts == 1 ? dy_step : width;
            for (index_t n = (inner_end() - inner_begin()) * parts; n > 0; --n) {
                multiply_add<Operands<Columns>, Units, Inputs * Columns>(sum, dy, x);
                x = cpu::opaque(x + x_next);
                dy += dy_next;
            }
        } else {
            for (index_t n = inner_end() - inner_begin(); n > 0; --n) {
                for (int part = 0; part < parts; ++part)
                    multiply_add<Operands<Columns>, Units, Inputs * Columns>(sum, dy + part * width, x + part * width);
                x = cpu::opaque(x + x_step);
                dy += dy_step;
            }
        }
    }

    /// A column of which some taps fall beside the input: those meet zeros.
    template <int Units, int Inputs, int Columns>
    TENON_ALWAYS_INLINE static void run_edge(V* sum, float const* x_row_begin, float const* dy, index_t column,
                                             index_t kx) {
        static constexpr cpu::Registers<float, width * parts> zeros{};
        constexpr int count = Inputs * Columns;
        cpu::Registers<float const*, Columns> at;
        cpu::Registers<index_t, Columns> plane;
        TENON_UNROLL for (int k = 0; k < Columns; ++k) {
            index_t const source = columns_axis.source(column, kx + k);
            at[k] = source >= 0 ? x_row_begin + source * lanes : zeros;
            plane[k] = source >= 0 ? x_plane : 0;
        }
        dy += column * dy_step;
        for (int part = 0; part < parts; ++part, dy += width) {
            TENON_UNROLL for (int t = 0; t < count; ++t) {
                V value = load_x(at[t % Columns] + t / Columns * plane[t % Columns] + part * width);
                cpu::keep(value);
                TENON_UNROLL for (int u = 0; u < Units; ++u) {
                    sum[u * count + t] += cpu::load<width>(dy + u * dy_unit) * value;
                }
            }
        }
    }

    /// Sums the lanes of each channel and writes dw [channels][taps].
    static void finish(float* sums, index_t channels, float* dw, bool accumulate) {
        for (index_t u = 0; u * packed < channels; ++u, sums += padded_taps * width) {
            std::memset(sums + taps * width, 0,
                        (padded_taps - taps) * width * sizeof(float)); // whole vectors of taps are read
            for (index_t tap = 0; tap < taps; tap += width) {
                cpu::Registers<V, packed> result; // `width` taps of one channel each
                for (int q = 0; q < packed; ++q) {
                    cpu::Registers<V, group> part;
                    float const* const from = sums + (tap + q * group) * width;
                    TENON_UNROLL for (int l = 0; l < group; ++l) part[l] = cpu::load<width>(from + l * width);
                    result[q] = cpu::sum_groups<group>(part); // `group` taps of all channels
                }
                cpu::deinterleave<packed>(result);
                for (index_t q = 0; q < least(packed, channels - u * packed); ++q) {
                    float* const to = dw + (u * packed + q) * taps + tap;
                    if (taps - tap >= width) {
                        if (accumulate) result[q] += cpu::load<width>(to);
                        cpu::store<width>(to, result[q]);
                    } else {
                        if (accumulate) result[q] += cpu::load_some<width>(to, taps % width);
                        cpu::store_some<width>(to, result[q], taps % width);
                    }
                }
            }
        }
    }

    static void finish_bias(float const* bias, index_t channels, float* db, bool accumulate) {
        for (index_t c = 0; c < channels; ++c) {
            float sum = 0;
            for (int l = 0; l < group; ++l) sum += bias[c * group + l];
            db[c] = accumulate ? db[c] + sum : sum;
        }
    }
};

} // namespace tenon::conv2d
