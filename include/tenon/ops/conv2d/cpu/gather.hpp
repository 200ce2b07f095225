/// @file
/// The convolution kernel behind the forward pass and the input gradient: each tile of the output gathers what it
/// needs.
///
/// A vector holds Lanes images of one pixel; where that is less than a register, it holds several output channels of
/// them, and where it is more, the lanes are walked in parts. A tile of (channels x columns) accumulators stays in
/// registers while all inputs and taps pass. Nothing is padded: a tap that falls beside the input is left out.
#pragma once

#include <tenon/ops/conv2d/cpu/axis.hpp>
#include <tenon/ops/conv2d/cpu/problem.hpp>

#include <utility>

namespace tenon::conv2d {

/// out_tile [channels, Rows, columns.out, Lanes] from in [inputs of all groups, rows.in, columns.in, Lanes].
///
/// @tparam M the problem: Axis rows, columns; index_t groups, inputs, outputs (of one group); weight_group,
///           weight_input, weight_output (floats from one to the next). Rows of the kernel follow each other, as do the
///           taps of a row.
/// @tparam Rows the most rows of a call
template <class M, int Lanes, index_t Rows>
class Gather {
    static constexpr Axis rows_axis = M::rows, columns_axis = M::columns;
    static constexpr int native = cpu::native_lanes<float>;
    /// Output channels in a vector, lanes of a vector, and how often the lanes of a pixel need one.
    static constexpr int packed = packed_channels(Lanes, M::outputs);
    static constexpr int width = Lanes >= native ? native : packed * Lanes;
    static constexpr int parts = Lanes / (width / packed);
    using V = cpu::Vec<float, width>;

    static constexpr index_t units = ceil_divide(M::outputs, packed); ///< vectors of output channels in a group
    static constexpr index_t phases = columns_axis.phases();
    static constexpr TileShape shape =
        choose_tile(units, ceil_divide(columns_axis.out, phases),
                    {ceil_divide(columns_axis.kernel, columns_axis.tap_step()), columns_axis.source_per_output()});
    static constexpr Partition unit_tiles{units, shape.rows};

    static constexpr index_t row_floats = columns_axis.out * Lanes, plane_floats = Rows * row_floats;
    static constexpr index_t budget =
        20 * 1024 / 4; ///< floats of an output tile that share the first-level cache with the input
    static constexpr Partition group_tasks{unit_tiles.tiles,
                                           most(1, budget / (plane_floats * packed * unit_tiles.largest()))};

    static constexpr index_t first_unit(index_t task) {
        return unit_tiles.begin(group_tasks.begin(task % group_tasks.tiles));
    }
    static constexpr index_t end_unit(index_t task) {
        index_t const t = task % group_tasks.tiles;
        return unit_tiles.begin(group_tasks.begin(t) + group_tasks.size(t));
    }
    static constexpr index_t task_units = group_tasks.largest() * unit_tiles.largest();

    static constexpr index_t taps = rows_axis.kernel * columns_axis.kernel;
    static constexpr index_t padded = task_units * packed; ///< output channels in a packed row of weights

    // Floats from one to the next: in the input ...
    static constexpr index_t source_row = columns_axis.in * Lanes, source_input = rows_axis.in * source_row;
    static constexpr index_t source_column = columns_axis.source_per_output() * Lanes;
    static constexpr index_t source_tap = columns_axis.source_step() * Lanes;
    // ... and in the weights, as they are or packed [inputs, kernel, channels]
    static constexpr index_t weight_tap = packed == 1 ? 1 : padded, weight_row = columns_axis.kernel * weight_tap;
    static constexpr index_t weight_input = packed == 1 ? M::weight_input : taps * padded;
    static constexpr index_t weight_unit = packed == 1 ? M::weight_output : packed;

public:
    static constexpr index_t tasks = M::groups * group_tasks.tiles;
    static constexpr index_t tile = least(task_units * packed, M::outputs);
    static constexpr index_t workspace = packed == 1 ? 0 : M::inputs * taps * padded;

    static constexpr index_t channel_begin(index_t task) {
        return task / group_tasks.tiles * M::outputs + first_unit(task) * packed;
    }
    static constexpr index_t channel_count(index_t task) {
        return least(end_unit(task) * packed, M::outputs) - first_unit(task) * packed;
    }

    static void prepare(index_t /*row_begin*/, float const* /*in*/, float* /*space*/) {}

    static void run(index_t task, index_t row_begin, float const* in, float const* weight, float* out, float* space) {
        weight += task / group_tasks.tiles * M::weight_group + first_unit(task) * packed * M::weight_output;
        if constexpr (packed > 1) {
            pack(weight, channel_count(task), 0, M::inputs, space);
            weight = space;
        }
        run_rows(task, row_begin, least(Rows, rows_axis.out - row_begin), in, weight, out);
    }

    /// For callers who split the rows of one task among threads, which then share the packed weights: what run() does
    /// with inputs [begin, end) of the weights, where it packs them at all ...
    static constexpr bool packs = packed > 1;
    static void pack_inputs(index_t begin, index_t end, float const* weight, float* space) {
        static_assert(tasks == 1);
        pack(weight, M::outputs, begin, end, space);
    }
    /// ... and what it does with rows [begin, end) of all.
    static void run_packed(index_t begin, index_t end, float const* in, float const* weight, float* out) {
        static_assert(tasks == 1 && Rows == rows_axis.out);
        run_rows(0, begin, end - begin, in, weight, out + begin * row_floats);
    }

private:
    /// @param weight of the task's first channel, packed where this packs  @param out first channel, at the first row
    static void run_rows(index_t task, index_t row_begin, index_t rows, float const* in, float const* weight,
                         float* out) {
        in += task / group_tasks.tiles * M::inputs * source_input;
        index_t const first_tile = group_tasks.begin(task % group_tasks.tiles);
        for (int part = 0; part < parts; ++part)
            for (index_t row = 0; row < rows; ++row)
                run_strip({rows_axis.taps(row_begin + row), in + part * width, weight,
                           out + row * row_floats + part * width, first_tile,
                           group_tasks.size(task % group_tasks.tiles), channel_count(task)});
    }

    /// One row of all channels of a task, one part of the lanes.
    struct Strip {
        Taps rows;                 ///< of the kernel
        float const* in;           ///< first input of the group
        float const* weight;       ///< of the first channel
        float* out;                ///< first channel, at the row
        index_t first_tile, tiles; ///< of unit_tiles
        index_t channels;
    };

    /// Inputs [begin, end): [channels][inputs][taps] -> [inputs][taps][channels], channels filled up with zeros
    static void pack(float const* weight, index_t channels, index_t begin, index_t end, float* to) {
        weight += begin * M::weight_input, to += begin * taps * padded;
        for (index_t i = begin; i < end; ++i, weight += M::weight_input, to += taps * padded) {
            index_t const fours = channels / 4 * 4;
            for (index_t c = 0; c < fours; c += 4) pack_four(weight + c * M::weight_output, to + c);
            for (index_t c = fours; c < padded; ++c)
                for (index_t tap = 0; tap < taps; ++tap)
                    to[tap * padded + c] = c < channels ? weight[c * M::weight_output + tap] : 0.0F;
        }
    }
    TENON_ALWAYS_INLINE static void pack_four(float const* weight, float* to) {
        constexpr index_t fours = taps / 4 * 4;
        for (index_t tap = 0; tap < fours; tap += 4) {
            cpu::Registers<cpu::Vec<float, 4>, 4> v;
            TENON_UNROLL for (int c = 0; c < 4; ++c) v[c] = cpu::load<4>(weight + c * M::weight_output + tap);
            cpu::interleave<4>(v);
            TENON_UNROLL for (int k = 0; k < 4; ++k) cpu::store<4>(to + (tap + k) * padded, v[k]);
        }
        for (index_t tap = fours; tap < taps; ++tap)
            for (index_t c = 0; c < 4; ++c) to[tap * padded + c] = weight[c * M::weight_output + tap];
    }

    TENON_ALWAYS_INLINE static V load_input(float const* from) {
        if constexpr (packed == 1) return cpu::load<width>(from);
        else return cpu::load_repeated<width, Lanes>(from);
    }
    TENON_ALWAYS_INLINE static V load_weight(float const* from) {
        if constexpr (packed == 1) return cpu::broadcast<width>(*from);
        else return cpu::load_repeating_each<width, Lanes>(from);
    }
    /// What a uniform tile multiplies.
    struct Operands {
        TENON_ALWAYS_INLINE static V row(float const* weight, int u) { return load_weight(weight + u * weight_unit); }
        TENON_ALWAYS_INLINE static V column(float const* in, int c) { return load_input(in + c * source_column); }
    };

    /// Writes accumulators [Units][Columns] to columns `column`, `column + phases`, ... of units `unit` ...
    template <int Units, int Columns>
    TENON_ALWAYS_INLINE static void write(V const* sum, Strip const& strip, index_t unit, index_t column) {
        TENON_UNROLL for (int u = 0; u < Units; ++u) {
            float* const to = strip.out + (unit + u) * packed * plane_floats + column * Lanes;
            TENON_UNROLL for (int c = 0; c < Columns; ++c) {
                write_vector(sum[u * Columns + c], to + c * phases * Lanes, strip.channels - (unit + u) * packed);
            }
        }
    }
    /// `channels` that there still are may be fewer than a vector holds.
    TENON_ALWAYS_INLINE static void write_vector(V const& sum, float* to, index_t channels) {
        if constexpr (packed == 1) {
            cpu::store<width>(to, sum);
        } else {
            cpu::Registers<float, width> lane;
            cpu::store<width>(lane, sum);
            for (index_t q = 0; q < least(packed, channels); ++q)
                std::memcpy(to + q * plane_floats, lane + q * Lanes, Lanes * sizeof(float));
        }
    }

    /// `tiles` tiles side by side, in whose columns the same taps meet something.
    template <int Units, int Columns>
    TENON_NEVER_INLINE static void run_uniform(Strip const& strip, index_t unit, index_t column, index_t tiles,
                                               Taps columns) {
        float const* first_in = strip.in + strip.rows.source * source_row + columns.source * Lanes;
        float const* const first_weight =
            strip.weight + unit * weight_unit + strip.rows.first * weight_row + columns.first * weight_tap;
        for (index_t end = column + tiles * Columns * phases; column < end;
             column += Columns * phases, first_in += Columns * source_column) {
            cpu::Registers<V, Units * Columns> sum{};
            float const *in = first_in, *weight = first_weight;
            for (index_t i = 0; i < M::inputs; ++i, in += source_input, weight += weight_input) {
                float const *in_row = in, *w_row = weight;
                for (index_t ky = 0; ky < strip.rows.count; ++ky) {
                    float const *x = in_row, *w = w_row;
                    for (index_t kx = 0; kx < columns.count; ++kx) {
                        multiply_add<Operands, Units, Columns>(sum, w, x);
                        x = cpu::opaque(x + source_tap);
                        w += columns_axis.tap_step() * weight_tap;
                    }
                    in_row += rows_axis.source_step() * source_row;
                    w_row += rows_axis.tap_step() * weight_row;
                }
            }
            write<Units, Columns>(sum, strip, unit, column);
        }
    }

    /// Columns Column ... of which each uses its own taps: unrolled, so that what falls beside the input costs nothing.
    template <int Units, int Columns, index_t Column>
    TENON_NEVER_INLINE static void run_exact(Strip const& strip, index_t unit) {
        cpu::Registers<V, Units * Columns> sum{};
        float const* in = strip.in + strip.rows.source * source_row;
        float const* weight = strip.weight + unit * weight_unit + strip.rows.first * weight_row;
        for (index_t i = 0; i < M::inputs; ++i, in += source_input, weight += weight_input) {
            float const *in_row = in, *w_row = weight;
            for (index_t ky = 0; ky < strip.rows.count; ++ky) {
                run_taps<Units, Columns, Column>(
                    sum, in_row, w_row, std::make_integer_sequence<int, static_cast<int>(columns_axis.kernel)>{});
                in_row = cpu::opaque(in_row + rows_axis.source_step() * source_row);
                w_row = cpu::opaque(w_row + rows_axis.tap_step() * weight_row);
            }
        }
        write<Units, Columns>(sum, strip, unit, Column);
    }
    template <int Units, int Columns, index_t Column, int... Tap>
    TENON_ALWAYS_INLINE static void run_taps(V* sum, float const* in_row, float const* w_row,
                                             std::integer_sequence<int, Tap...>) {
        (run_tap<Units, Columns, Column, Tap>(sum, in_row, w_row, std::make_integer_sequence<int, Columns>{}), ...);
    }
    template <int Units, int Columns, index_t Column, int Tap, int... C>
    TENON_ALWAYS_INLINE static void run_tap(V* sum, float const* in_row, float const* w_row,
                                            std::integer_sequence<int, C...>) {
        w_row += Tap * weight_tap;
        if constexpr (Columns <= Units) {
            cpu::Registers<V, Columns> value;
            (load_column<columns_axis.source(Column + C, Tap)>(value[C], in_row), ...);
            TENON_UNROLL for (int u = 0; u < Units; ++u) {
                V factor = load_weight(w_row + u * weight_unit);
                cpu::keep(factor);
                (add_column<columns_axis.source(Column + C, Tap)>(sum[u * Columns + C], value[C], factor), ...);
            }
        } else {
            cpu::Registers<V, Units> factor;
            TENON_UNROLL for (int u = 0; u < Units; ++u) {
                factor[u] = load_weight(w_row + u * weight_unit);
                cpu::keep(factor[u]);
            }
            (add_column_of_units<Units, Columns, columns_axis.source(Column + C, Tap)>(sum + C, factor, in_row), ...);
        }
    }
    template <index_t Source>
    TENON_ALWAYS_INLINE static void load_column(V& value, float const* in_row) {
        if constexpr (Source >= 0) {
            value = load_input(in_row + Source * Lanes);
            cpu::keep(value);
        }
    }
    template <index_t Source>
    TENON_ALWAYS_INLINE static void add_column(V& sum, V const& value, V const& factor) {
        if constexpr (Source >= 0) sum += value * factor;
    }
    template <int Units, int Columns, index_t Source>
    TENON_ALWAYS_INLINE static void add_column_of_units(V* sum, V const* factor, float const* in_row) {
        if constexpr (Source >= 0) {
            V value = load_input(in_row + Source * Lanes);
            cpu::keep(value);
            TENON_UNROLL for (int u = 0; u < Units; ++u) sum[u * Columns] += value * factor[u];
        }
    }

    /// Uniform tiles for all channels of the strip. The outer loop is over the one of channels and columns of which the
    /// next reads the same input again: over channels where all that a row needs fits the first-level cache, else over
    /// columns.
    template <int Columns>
    TENON_ALWAYS_INLINE static void run_uniform_tiles(Strip const& strip, index_t column, index_t tiles) {
        constexpr bool row_in_cache = M::inputs * rows_axis.kernel * columns_axis.in * width <= 24 * 1024 / 4;
        constexpr int larger = static_cast<int>(unit_tiles.largest()), smaller = static_cast<int>(unit_tiles.small());
        Taps columns = columns_axis.taps(column);
        for (index_t n = row_in_cache ? tiles : 1; tiles > 0; tiles -= n, column += n * Columns * phases,
                     columns.source += n * Columns * columns_axis.source_per_output()) {
            index_t unit = 0;
            for (index_t t = strip.first_tile; t < strip.first_tile + strip.tiles; unit += unit_tiles.size(t++))
                if (larger == smaller || unit_tiles.size(t) == larger)
                    run_uniform<larger, Columns>(strip, unit, column, n, columns);
                else run_uniform<smaller, Columns>(strip, unit, column, n, columns);
        }
    }

    /// An exact tile for all channels of the strip.
    template <int Columns, index_t Column>
    TENON_ALWAYS_INLINE static void run_exact_tiles(Strip const& strip) {
        constexpr int larger = static_cast<int>(unit_tiles.largest()), smaller = static_cast<int>(unit_tiles.small());
        index_t unit = 0;
        for (index_t t = strip.first_tile; t < strip.first_tile + strip.tiles; unit += unit_tiles.size(t++))
            if (larger == smaller || unit_tiles.size(t) == larger) run_exact<larger, Columns, Column>(strip, unit);
            else run_exact<smaller, Columns, Column>(strip, unit);
    }

    /// Tiles [begin, end) of a partition of columns that starts at `from`, in steps of `phases`: all uniform.
    template <index_t Count, index_t Largest>
    static void run_uniform_columns(Strip const& strip, index_t from, index_t begin, index_t end) {
        constexpr Partition columns{Count, Largest};
        if constexpr (columns.larger_tiles() > 0)
            if (index_t const n = least(end, columns.larger_tiles()) - begin; n > 0) {
                run_uniform_tiles<static_cast<int>(columns.largest())>(strip, from + columns.begin(begin) * phases, n);
                begin += n;
            }
        if constexpr (columns.small() > 0)
            if (begin < end)
                run_uniform_tiles<static_cast<int>(columns.small())>(strip, from + columns.begin(begin) * phases,
                                                                     end - begin);
    }

    // Without phases: the row in tiles as equal as can be; those at the ends, of which some column misses a tap, are
    // exact.
    static constexpr Partition column_tiles{columns_axis.out, shape.columns};
    static constexpr bool is_uniform(index_t t) {
        for (index_t c = column_tiles.begin(t); c < column_tiles.begin(t) + column_tiles.size(t); ++c)
            if (!columns_axis.inside(c)) return false;
        return true;
    }
    static constexpr index_t count_exact_tiles(bool from_the_left) {
        index_t n = 0;
        while (n < column_tiles.tiles && !is_uniform(from_the_left ? n : column_tiles.tiles - 1 - n)) ++n;
        return n;
    }
    static constexpr index_t exact_left = count_exact_tiles(true);
    static constexpr index_t exact_right = exact_left == column_tiles.tiles ? 0 : count_exact_tiles(false);
    static constexpr bool exact_ends =
        phases == 1 && (exact_left + exact_right) * columns_axis.kernel * shape.columns * shape.rows <= 800;

    template <index_t From, index_t... T>
    TENON_ALWAYS_INLINE static void run_exact_columns(Strip const& strip, std::integer_sequence<index_t, T...>) {
        (run_exact_tiles<static_cast<int>(column_tiles.size(From + T)), column_tiles.begin(From + T)>(strip), ...);
    }

    static void run_strip(Strip const& strip) {
        if constexpr (exact_ends) {
            run_exact_columns<0>(strip, std::make_integer_sequence<index_t, exact_left>{});
            run_uniform_columns<columns_axis.out, shape.columns>(strip, 0, exact_left,
                                                                 column_tiles.tiles - exact_right);
            run_exact_columns<column_tiles.tiles - exact_right>(strip,
                                                                std::make_integer_sequence<index_t, exact_right>{});
        } else {
            run_phases(strip, std::make_integer_sequence<index_t, least(phases, columns_axis.out)>{});
        }
    }

    /// With phases, or with ends too wide to unroll: in each phase the columns at the ends one by one, those between
    /// them in tiles.
    template <index_t... Phase>
    static void run_phases(Strip const& strip, std::integer_sequence<index_t, Phase...>) {
        (run_phase<Phase>(strip), ...);
    }
    template <index_t Phase>
    static void run_phase(Strip const& strip) {
        constexpr index_t count = ceil_divide(columns_axis.out - Phase, phases);
        constexpr index_t begin = [] {
            index_t j = 0;
            while (j < count && !columns_axis.inside(Phase + j * phases)) ++j;
            return j;
        }();
        constexpr index_t end = [] {
            index_t j = count;
            while (j > begin && !columns_axis.inside(Phase + (j - 1) * phases)) --j;
            return j;
        }();
        for (index_t j = 0; j < begin; ++j) run_uniform_tiles<1>(strip, Phase + j * phases, 1);
        if constexpr (end > begin)
            run_uniform_columns<end - begin, shape.columns>(strip, Phase + begin * phases, 0,
                                                            Partition{end - begin, shape.columns}.tiles);
        for (index_t j = end; j < count; ++j) run_uniform_tiles<1>(strip, Phase + j * phases, 1);
    }
};

} // namespace tenon::conv2d
