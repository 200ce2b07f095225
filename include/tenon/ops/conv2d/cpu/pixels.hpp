/// @file
/// The forward convolution for blocks of fewer images than a vector has lanes: the lanes hold neighbouring pixels too.
///
/// In a row of the output, pixels and images together are one run of floats, and with stride 1 so is what a tap meets
/// in the input: a vector is simply loaded from there. Where that does not fit, the input is first copied into a shape
/// in which it does: padded with zeros, and with several strips of the image side by side, one row of each, as if they
/// were further images.
#pragma once

#include <tenon/ops/conv2d/cpu/problem.hpp>

#include <utility>

namespace tenon::conv2d {

/// y_tile [channels, Rows, out_width, Lanes] from x_block [C, H, W, Lanes]. Members as in Forward (ops/conv2d/cpu.hpp).
template <class P, index_t Rows>
class Pixels {
    static constexpr int width = cpu::native_lanes<float>, lanes = P::lanes;
    static_assert(lanes < width);
    using V = cpu::Vec<float, width>;

    /// Vectors in a row of n strips, and in all rows.
    static constexpr index_t vectors_in_row(index_t n) {
        return P::stride_width == 1 ? ceil_divide(P::out_width * n * lanes, width) : P::out_width;
    }
    static constexpr index_t vectors(index_t n) { return vectors_in_row(n) * ceil_divide(Rows, n); }
    /// A row stride of more than 1 leaves no run of floats: then a vector is one pixel of as many strips as it holds.
    static constexpr int choose_strips() {
        if (P::stride_width > 1) return width / lanes;
        int best = 1;
        for (int n = 2; n * lanes <= width; n *= 2)
            if (vectors(n) * 100 < vectors(best) * 95) best = n;
        return best;
    }
    static constexpr int strips = choose_strips();
    static constexpr index_t strip_rows = ceil_divide(Rows, strips), row_vectors = vectors_in_row(strips);
    static constexpr int pixel = strips * lanes; ///< floats of one pixel in the copy
    static constexpr index_t step =
        P::stride_width == 1 ? width : P::stride_width * width; ///< floats from vector to vector in a row
    static constexpr bool direct = strips == 1 && P::padding_height == 0 && P::padding_width == 0 &&
                                   P::stride_width == 1 && P::out_width * lanes % width == 0;

    // The copy: [C, copy_rows, row_floats]
    static constexpr index_t copy_rows =
        (strip_rows - 1) * P::stride_height + (P::kernel_height - 1) * P::dilation_height + 1;
    static constexpr index_t copy_columns =
        (P::out_width - 1) * P::stride_width + (P::kernel_width - 1) * P::dilation_width + 1;
    static constexpr index_t copied =
        most(0, least(copy_columns - P::padding_width, P::width)); ///< columns of the input that some tap meets
    static constexpr index_t row_floats =
        direct ? P::width * lanes
               : (row_vectors - 1) * step + (P::kernel_width - 1) * P::dilation_width * pixel + width;
    static constexpr index_t input_floats = (direct ? P::height : copy_rows) * row_floats;

    // Columns of a tile are vectors of a row or, where a row has but one, rows.
    static constexpr bool columns_are_rows = row_vectors == 1;
    static constexpr index_t columns = columns_are_rows ? strip_rows : row_vectors;
    /// Where tiles are few, half as tall ones: more tasks for several threads, if eight multiply-adds still are under way.
    static constexpr TileShape choose_shape() {
        TileShape best = choose_tile(P::group_outputs, columns, {P::kernel_width, P::stride_width});
        bool const few = P::groups * ceil_divide(P::group_outputs, best.rows) < enough_tasks;
        if (few && best.rows % 2 == 0 && best.rows / 2 * best.columns >= 8) best.rows /= 2;
        return best;
    }
    static constexpr TileShape shape = choose_shape();
    static constexpr Partition units{P::group_outputs, shape.rows}, column_tiles{columns, shape.columns};

    static constexpr index_t plane_floats = Rows * P::out_width * lanes;
    static constexpr index_t budget = 16 * 1024 / 4; ///< floats of an output tile
    static constexpr Partition group_tasks{
        units.tiles, most(1, least(budget / (plane_floats * units.largest()), units.tiles / enough_tasks))};

    static constexpr index_t column_step = columns_are_rows ? P::stride_height * row_floats : step;

    /// What a tile multiplies.
    struct Operands {
        TENON_ALWAYS_INLINE static V row(float const* weight, int u) {
            return cpu::broadcast<width>(weight[u * P::weights_per_output]);
        }
        TENON_ALWAYS_INLINE static V column(float const* in, int c) { return cpu::load<width>(in + c * column_step); }
    };

public:
    static constexpr index_t tasks = P::groups * group_tasks.tiles;
    static constexpr index_t tile = least(group_tasks.largest() * units.largest(), P::group_outputs);
    static constexpr index_t workspace = direct ? 0 : P::channels * input_floats;

    static constexpr index_t channel_begin(index_t task) {
        return task / group_tasks.tiles * P::group_outputs + units.begin(group_tasks.begin(task % group_tasks.tiles));
    }
    static constexpr index_t channel_count(index_t task) {
        index_t const t = task % group_tasks.tiles, begin = group_tasks.begin(t);
        return units.begin(begin + group_tasks.size(t)) - units.begin(begin);
    }

    static void prepare(index_t row_begin, float const* x, float* space) {
        if constexpr (!direct) {
            for (index_t c = 0; c < P::channels; ++c, x += P::height * P::width * lanes)
                for (index_t r = 0; r < copy_rows; ++r, space += row_floats) {
                    std::memset(space, 0, row_floats * sizeof(float));
                    for (int s = 0; s < strips; ++s) {
                        index_t const y = (row_begin + s * strip_rows) * P::stride_height + r - P::padding_height;
                        if (y >= 0 && y < P::height)
                            copy_row(x + y * P::width * lanes, space + P::padding_width * pixel + s * lanes);
                    }
                }
        }
    }

    static void run(index_t task, index_t row_begin, float const* x, float const* weight, float* out,
                    float const* space) {
        index_t const rows = least(Rows, P::out_height - row_begin);
        float const* const in = (direct ? x + row_begin * P::stride_height * row_floats : space) +
                                task / group_tasks.tiles * P::group_channels * input_floats;
        Call const call{weight + channel_begin(task) * P::weights_per_output, out, rows,
                        group_tasks.begin(task % group_tasks.tiles), group_tasks.size(task % group_tasks.tiles)};
        index_t const here = direct ? rows : least(rows, strip_rows);
        if constexpr (!columns_are_rows) {
            for (index_t row = 0; row < here; ++row) run_columns(call, in + row * P::stride_height * row_floats, row);
        } else if (!direct || rows == Rows) {
            run_columns(call, in, 0);
        } else {
            for (index_t row = 0; row < here; ++row)
                run_units<1>(call, in + row * P::stride_height * row_floats, row, 0);
        }
    }

private:
    struct Call {
        float const* weight; ///< of the first channel of the task
        float* out;
        index_t rows, first_tile, tiles;
    };

    /// One row of an image, spread to where its strip lies.
    TENON_ALWAYS_INLINE static void copy_row(float const* from, float* to) {
        if constexpr (strips == 1) {
            std::memcpy(to, from, copied * lanes * sizeof(float));
        } else {
            for (index_t i = 0; i < copied; ++i)
                for (int l = 0; l < lanes; ++l) to[i * pixel + l] = from[i * lanes + l];
        }
    }

    static void run_columns(Call const& call, float const* in, index_t row) {
        for (index_t t = 0; t < column_tiles.tiles; ++t) {
            float const* const at = in + column_tiles.begin(t) * column_step;
            index_t const first = columns_are_rows ? 0 : column_tiles.begin(t),
                          y = columns_are_rows ? column_tiles.begin(t) : row;
            if (column_tiles.size(t) == column_tiles.largest())
                run_units<static_cast<int>(column_tiles.largest())>(call, at, y, first);
            else if constexpr (column_tiles.small() > 0)
                run_units<static_cast<int>(column_tiles.small())>(call, at, y, first);
        }
    }

    template <int Columns>
    TENON_ALWAYS_INLINE static void run_units(Call const& call, float const* in, index_t row, index_t vector) {
        index_t unit = 0;
        for (index_t t = call.first_tile; t < call.first_tile + call.tiles; unit += units.size(t++))
            if (units.size(t) == units.largest())
                run_tile<static_cast<int>(units.largest()), Columns>(call, in, row, vector, unit);
            else if constexpr (units.small() > 0)
                run_tile<static_cast<int>(units.small()), Columns>(call, in, row, vector, unit);
    }

    template <int Units, int Columns>
    TENON_NEVER_INLINE static void run_tile(Call const& call, float const* in, index_t row, index_t vector,
                                            index_t unit) {
        cpu::Registers<V, Units * Columns> sum{};
        float const* weight = call.weight + unit * P::weights_per_output;
        for (index_t i = 0; i < P::group_channels; ++i, in += input_floats) {
            float const* in_row = in;
            for (index_t ky = 0; ky < P::kernel_height; ++ky, in_row += P::dilation_height * row_floats) {
                float const* at = in_row;
                for (index_t kx = 0; kx < P::kernel_width; ++kx) {
                    multiply_add<Operands, Units, Columns>(sum, weight++, at);
                    at = cpu::opaque(at + P::dilation_width * pixel);
                }
            }
        }
        TENON_UNROLL for (int u = 0; u < Units; ++u) {
            float* const plane = call.out + (unit + u) * plane_floats;
            TENON_UNROLL for (int c = 0; c < Columns; ++c) {
                if constexpr (columns_are_rows) write(sum[u * Columns + c], call, plane, row + c, 0);
                else write(sum[u * Columns + c], call, plane, row, vector + c);
            }
        }
    }

    template <int... Lane>
    TENON_ALWAYS_INLINE static V
    sort_strips(V v, std::integer_sequence<int, Lane...>) { // [pixels][strips][lanes] -> [strips][pixels][lanes]
        constexpr int run = width / strips;
        return cpu::shuffle<(Lane % run / lanes * pixel + Lane / run * lanes + Lane % lanes)...>(v, v);
    }

    /// Writes one vector of row `row` of every strip to the plane of its channel.
    TENON_ALWAYS_INLINE static void write(V v, Call const& call, float* plane, index_t row, index_t vector) {
        constexpr index_t run = width / strips, row_out = P::out_width * lanes; // floats of one strip
        index_t const begin = vector * run, count = least(run, row_out - begin);
        if constexpr (strips == 1) {
            if (row_out % width == 0 || count == width) cpu::store<width>(plane + row * row_out + begin, v);
            else cpu::store_some<width>(plane + row * row_out + begin, v, count);
        } else {
            cpu::Registers<float, width> lane;
            cpu::store<width>(lane, sort_strips(v, std::make_integer_sequence<int, width>{}));
            TENON_UNROLL for (int s = 0; s < strips; ++s) {
                index_t const y = s * strip_rows + row;
                if (y >= call.rows) continue;
                float* const to = plane + y * row_out + begin;
                if (row_out % run == 0 || count == run) std::memcpy(to, lane + s * run, run * sizeof(float));
                else std::memcpy(to, lane + s * run, static_cast<std::size_t>(count) * sizeof(float));
            }
        }
    }
};

} // namespace tenon::conv2d
