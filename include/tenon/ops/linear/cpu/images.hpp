/// @file
/// Matrix product with the images in the lanes, for blocks that fill a vector:
/// out[j][image] = sum over k of weight(j, k) in[k][image].
/// One kernel for the forward pass and for the input gradient, which differ in how they step through the weights.
#pragma once

#include <tenon/ops/linear/cpu/problem.hpp>

namespace tenon::linear {

/// out_tile [blocks, rows of the task, Lanes] from in [blocks, Depth, Lanes].
///
/// @tparam RowStep, DepthStep floats in the weights from one j to the next and from one k to the next
template <int Lanes, index_t Rows, index_t Depth, index_t RowStep, index_t DepthStep>
class Images {
    static constexpr int width = cpu::native_lanes<float>, parts = Lanes / width;
    static_assert(parts > 0);
    using V = cpu::Vec<float, width>;

    /// Columns of a tile are vectors: `wide` of them where there are as many, else two or one with more rows.
    static constexpr int wide = cpu::vector_registers >= 32 ? 4 : 2;
    static constexpr index_t rows_of_a_tile() {
        index_t best = 1;
        for (index_t r = 2; r <= least(Rows, cpu::accumulators / wide); ++r)
            if (cpu::tiling_cost(Rows, wide, r, wide, {1, 1}) <= cpu::tiling_cost(Rows, wide, best, wide, {1, 1}))
                best = r;
        return best;
    }
    static constexpr Partition row_tiles{Rows, rows_of_a_tile()};
    static constexpr int larger = static_cast<int>(row_tiles.largest()), smaller = static_cast<int>(row_tiles.small());
    /// Rows of a task: where weights of neighbouring rows lie side by side, enough of them for whole cache lines.
    static constexpr Partition task_tiles{row_tiles.tiles, most(1, (RowStep == 1 ? 64 : 28) / larger)};
    /// Depth in chunks whose inputs stay in the first-level cache for all rows of a task.
    static constexpr Partition chunks{Depth, 128};
    /// Rows of weights that are large powers of two apart share few places in the caches: then a task's part of a chunk
    /// is copied.
    static constexpr bool packed = DepthStep % 128 == 0;

public:
    static constexpr index_t tasks = task_tiles.tiles;
    static constexpr index_t tile =
        task_tiles.largest() * larger; ///< most rows of a task; may exceed what any task has

    static constexpr index_t channel_begin(index_t task) { return row_tiles.begin(task_tiles.begin(task)); }
    static constexpr index_t channel_count(index_t task) {
        return row_tiles.begin(task_tiles.begin(task) + task_tiles.size(task)) - channel_begin(task);
    }

    static constexpr index_t workspace(index_t /*blocks*/) { return packed ? chunks.largest() * tile : 0; }

    static void prepare(float const* /*in*/, index_t /*blocks*/, float* /*space*/) {}

    static void run(index_t task, float const* in, index_t blocks, float const* weight, float* out,
                    [[maybe_unused]] float* space) {
        index_t const vectors = blocks * parts;
        weight += channel_begin(task) * RowStep;
        for (index_t chunk = 0; chunk < chunks.tiles; ++chunk) {
            Call call{task, channel_count(task), chunks.begin(chunk), chunks.size(chunk), in, weight, out};
            call.weight += call.k_begin * DepthStep;
            if constexpr (packed) {
                for (index_t k = 0; k < call.k_count; ++k)
                    std::memcpy(space + k * tile, call.weight + k * DepthStep,
                                static_cast<std::size_t>(call.rows) * sizeof(float));
                call.weight = space;
            }
            index_t v = 0;
            for (; v + wide <= vectors; v += wide) run_rows<wide, 1>(call, v);
            if constexpr (wide > 2)
                for (; v + 2 <= vectors; v += 2) run_rows<2, 2>(call, v);
            for (; v < vectors; ++v) run_rows<1, 2>(call, v);
        }
    }

private:
    struct Call {
        index_t task, rows, k_begin, k_count;
        float const *in, *weight; ///< weight: of row 0 and k_begin
        float* out;
    };
    static constexpr index_t weight_step = packed ? tile : DepthStep; ///< floats from one k to the next

    /// Where the vectors of a step lie, one for each column of a tile.
    struct Inputs {
        float const* const* column;
        index_t offset;
    };
    /// What a tile multiplies.
    struct Operands {
        TENON_ALWAYS_INLINE static V row(float const* weight, int r) {
            return cpu::broadcast<width>(weight[r * RowStep]);
        }
        TENON_ALWAYS_INLINE static V column(Inputs const& in, int c) {
            return cpu::load<width>(in.column[c] + in.offset);
        }
    };

    /// All rows of the task for `Columns` vectors from number `vector` on; `Joined` equal tiles at a time where there
    /// are as many.
    template <int Columns, int Joined>
    static void run_rows(Call const& call, index_t vector) {
        index_t const end = task_tiles.begin(call.task) + task_tiles.size(call.task);
        index_t row = 0;
        for (index_t t = task_tiles.begin(call.task); t < end;) {
            if (row_tiles.size(t) == larger) {
                if (Joined > 1 && t + Joined <= end && row_tiles.size(t + Joined - 1) == larger) {
                    run_tile<larger * Joined, Columns>(call, row, vector);
                    row += larger * Joined, t += Joined;
                } else {
                    run_tile<larger, Columns>(call, row, vector);
                    row += larger, ++t;
                }
            } else if constexpr (smaller < larger && smaller > 0) {
                run_tile<smaller, Columns>(call, row, vector);
                row += smaller, ++t;
            }
        }
    }

    template <int R, int Columns>
    TENON_NEVER_INLINE static void run_tile(Call const& call, index_t row, index_t vector) {
        cpu::Registers<float const*, Columns> in;
        cpu::Registers<float*, Columns> out;
        for (int c = 0; c < Columns; ++c) {
            index_t const block = (vector + c) / parts, part = (vector + c) % parts;
            in[c] = call.in + (block * Depth + call.k_begin) * Lanes + part * width;
            out[c] = call.out + (block * call.rows + row) * Lanes + part * width;
        }
        cpu::Registers<V, R * Columns> sum;
        bool const first = call.k_begin == 0;
        TENON_UNROLL for (int r = 0; r < R; ++r) {
            TENON_UNROLL for (int c = 0; c < Columns; ++c) {
                sum[r * Columns + c] = first ? V{} : cpu::load<width>(out[c] + r * Lanes);
            }
        }

        float const* weight = call.weight + row * RowStep;
        for (index_t k = 0; k < call.k_count; ++k) {
            multiply_add<Operands, R, Columns>(sum, weight, Inputs{in, k * Lanes});
            weight = cpu::opaque(weight + weight_step);
        }
        TENON_UNROLL for (int r = 0; r < R; ++r) {
            TENON_UNROLL for (int c = 0; c < Columns; ++c) cpu::store<width>(out[c] + r * Lanes, sum[r * Columns + c]);
        }
    }
};

} // namespace tenon::linear
