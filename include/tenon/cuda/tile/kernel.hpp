/// @file
/// The tile kernel: one product, or two that do not depend on each other, in one launch.
///
///     using P = LinearForward<Plain, 800, 500>;                       // products.hpp
///     using T = Tile<64, 64, 16, 2, 2>;
///     using K = Product<P, T, Float, MyEpilogue>;
///     product_kernel<K><<<K::blocks(samples), K::threads>>>({{x, weight, samples}, epilogue_args, meeting});
///
/// Each block computes a tile of the result: a pipeline of Stages tiles of both operands in shared memory, register tiles on top
/// of it (multiply.hpp), sums across warps and blocks where those share the depth, the epilogue.
#pragma once

#include <tenon/cuda/tile/copy.hpp>
#include <tenon/cuda/tile/epilogue.hpp>
#include <tenon/cuda/tile/fold.hpp>
#include <tenon/cuda/tile/multiply.hpp>
#include <tenon/cuda/tile/split.hpp>

namespace tenon::cuda::tile {

/// How many rows, or steps of the depth, a product has: a number, or so many for each sample.
template <int Count>
struct Fixed {
    static constexpr bool sampled = false;
    static constexpr int count = Count;
    TENON_HOST_DEVICE static constexpr index_t extent(index_t) { return Count; }
};
/// @tparam Window rows that an epilogue gets at once, as a pooling window; 1: none
template <int Count, int Window = 1>
struct PerSample {
    static constexpr bool sampled = true;
    static constexpr int count = Count, window = Window;
    TENON_HOST_DEVICE static constexpr index_t extent(index_t samples) { return samples * Count; }
};

/// A product: its extents, where its operands lie, and (for the gradients of weights and for convolutions) in how many groups.
template <class RowExtent, int ColumnCount, class DepthExtent, class RowOperand, class ColumnOperand, Order O, int Groups = 1, class Folding = Unfolded>
struct Problem {
    using Rows = RowExtent;
    using Depth = DepthExtent;
    using A = RowOperand;
    using B = ColumnOperand;
    using Fold = Folding; ///< what becomes of the sums before the epilogue (fold.hpp)
    static constexpr int columns = ColumnCount, groups = Groups;
    static constexpr Order order = O;

    struct Args {
        typename A::Element::Args a;
        typename B::Element::Args b;
        int samples;
    };
};

/// A problem, and how it is computed.
template <class P, class T, class Precision, class Epilogue>
class Product {
    using Core = Multiply<Precision, P::order, T::warp_rows, T::warp_columns>;
    using PanelA = Panel<P::order, T::rows, T::depth, Core::row_step>;
    using PanelB = Panel<P::order, T::columns, T::depth, Core::column_step>;
    using Gather = Gathering<T::splits, Core::rows * Core::columns, T::team>;

    using Fold = typename P::Fold;
    /// From one tile to the next: all of it, or the whole samples and channels that fit.
    static constexpr int row_step = T::rows / Fold::positions * Fold::positions, column_step = T::columns / Fold::taps * Fold::taps;
    using CopyA = Copy<typename P::A, PanelA, T::threads, row_step>;
    using CopyB = Copy<typename P::B, PanelB, T::threads, column_step>;
    static_assert(row_step > 0 && column_step > 0, "tenon: a folded tile holds whole samples and channels");
    static constexpr int column_tiles = static_cast<int>(divide_up(P::columns, column_step));
    static constexpr int fold_stride = row_step + 4;
    static constexpr int fold_floats = Fold::folds ? column_step * fold_stride : 0;
    static constexpr int sums = Core::rows * Core::columns;
    static constexpr int stage_floats = PanelA::floats + PanelB::floats;
    static constexpr int pipeline_floats = T::stages * stage_floats + CopyA::table_floats + CopyB::table_floats;
    static constexpr int team_floats = (T::depth_warps - 1) * sums * T::team;

    static_assert(T::warp_depth % Core::depth_step == 0, "tenon: a warp's share of the depth is a multiple of what it multiplies at once");
    static_assert(sums + (Core::rows + Core::columns) * 4 <= 200, "tenon: the register tile is too large");

public:
    static constexpr int threads = T::threads;
    /// That a multiprocessor must hold: no bound in practice, but without it ptxas saves registers by spilling.
    static constexpr int least_blocks = threads <= 128 ? 2 : 1;
    /// Of shared memory. 48 KiB is what every device gives without being asked.
    static constexpr int shared_floats = (pipeline_floats > team_floats ? (pipeline_floats > fold_floats ? pipeline_floats : fold_floats)
                                                                        : (team_floats > fold_floats ? team_floats : fold_floats)) + 4;
    static_assert(shared_floats * 4 <= 48 * 1024, "tenon: the tile's stages do not fit shared memory");

    struct Args {
        typename P::Args problem;
        typename Epilogue::Args epilogue;
        Meeting meeting;
    };

    [[nodiscard]] TENON_HOST_DEVICE static constexpr index_t tiles(index_t samples) {
        return divide_up(P::Rows::extent(samples), row_step) * column_tiles * P::groups;
    }
    [[nodiscard]] TENON_HOST_DEVICE static constexpr index_t blocks(index_t samples) { return tiles(samples) * T::splits; }
    /// What a Meeting needs for at most so many samples: floats of partial sums, and words that are zero before the first launch.
    [[nodiscard]] static constexpr index_t partial_floats(index_t samples) { return tiles(samples) * Gather::floats; }
    [[nodiscard]] static constexpr index_t counters(index_t samples) { return tiles(samples) * Gather::counters; }

    /// What block number `block` does. `memory` is shared: shared_floats, aligned to 16 bytes. Code for a device without the
    /// precision is there, so that programs can be compiled for old and new ones, but must not be launched: it traps.
    __device__ static void run(index_t block, Args const& args, float* memory) {
        if constexpr (has_architecture<least_architecture<Precision>>) compute(block, args, memory);
        else __trap();
    }

private:
    __device__ static void compute(index_t block, Args const& args, float* memory) {
        int const samples = args.problem.samples;
        index_t const rows = P::Rows::extent(samples), depth = P::Depth::extent(samples);

        // Columns fastest: neighbouring blocks read the same rows, the larger operand.
        auto const column_tile = static_cast<int>(block % column_tiles);
        index_t rest = block / column_tiles;
        auto const group = static_cast<int>(rest % P::groups);
        rest /= P::groups;
        auto const split = static_cast<int>(rest % T::splits);
        index_t const row_tile = rest / T::splits;
        index_t const first_row = row_tile * row_step;
        int const first_column = column_tile * column_step;

        // This block's part of the depth, in whole tiles.
        index_t const part = T::splits == 1 ? depth : divide_up(divide_up(depth, T::splits), T::depth) * T::depth;
        index_t const first_step = split * part;
        auto const steps = static_cast<int>(first_step >= depth ? 0 : (depth - first_step < part ? depth - first_step : part));

        float sum[Core::rows][Core::columns];
#pragma unroll
        for (int i = 0; i < Core::rows; ++i)
#pragma unroll
            for (int j = 0; j < Core::columns; ++j) sum[i][j] = 0;

        CopyA a{args.problem.a, first_row, rows, group};
        CopyB b{args.problem.b, first_column, P::columns, group};
        accumulate(sum, a, b, first_step, steps, memory);
        if constexpr (T::depth_warps > 1) add_teams(sum, memory);
        bool const holds = T::depth_warps == 1 || thread() < T::team;
        if constexpr (T::splits > 1) {
            index_t const tile = (row_tile * P::groups + group) * column_tiles + column_tile;
            __syncthreads(); // the flag lies in memory that was read above
            if (!Gather::gather(&sum[0][0], args.meeting, tile, split, holds, reinterpret_cast<unsigned*>(memory))) return;
        }
        if constexpr (Fold::folds) fold(args.epilogue, sum, first_row, first_column, samples, group, holds, memory);
        else if (holds) finish(args.epilogue, sum, first_row, first_column, rows, group);
    }

    __device__ static int thread() { return static_cast<int>(threadIdx.x); }
    __device__ static int lane() { return thread() % 32; }
    __device__ static int warp_row() { return thread() / 32 % T::row_warps * T::warp_rows; }
    __device__ static int warp_column() { return thread() / 32 / T::row_warps % T::column_warps * T::warp_columns; }
    __device__ static int warp_step() { return thread() / T::team * T::warp_depth; }

    /// The pipeline: tile t is multiplied while the next stages - 1 are on their way.
    __device__ static void accumulate(float (&sum)[Core::rows][Core::columns], CopyA& a, CopyB& b, index_t first_step, int steps, float* memory) {
        constexpr bool asynchronous = CopyA::direct || CopyB::direct;
        auto* const table_a = reinterpret_cast<TableEntry*>(memory + T::stages * stage_floats);
        auto* const table_b = reinterpret_cast<TableEntry*>(memory + T::stages * stage_floats + CopyA::table_floats);
        if constexpr (CopyA::table > 0 || CopyB::table > 0) {
            CopyA::tabulate(table_a);
            CopyB::tabulate(table_b);
            __syncthreads();
        }
        int const tiles = (steps + T::depth - 1) / T::depth;
        auto const stage_of = [memory](int stage) { return memory + stage * stage_floats; };
        auto const start = [&](int tile, int stage) {
            if (tile < tiles) {
                a.start(first_step, tile * T::depth, steps, stage_of(stage), table_a);
                b.start(first_step, tile * T::depth, steps, stage_of(stage) + PanelA::floats, table_b);
            }
            if constexpr (asynchronous) commit_copies();
        };
        auto const finish_copies = [&](int tile, int stage) {
            if (tile < tiles) {
                a.finish(stage_of(stage));
                b.finish(stage_of(stage) + PanelA::floats);
            }
        };

#pragma unroll
        for (int s = 0; s < T::stages - 1; ++s) {
            start(s, s);
            finish_copies(s, s);
        }
        int now = 0, next = T::stages - 1;
#pragma unroll 1
        for (int tile = 0; tile < tiles; ++tile) {
            if constexpr (asynchronous) wait_for_copies<T::stages - 2>();
            __syncthreads(); // tile's copies are there, and the stage that is filled next has been used up
            start(tile + T::stages - 1, next);
            float const* const panels = stage_of(now);
            Core::template add<T::warp_depth, PanelA, PanelB>(sum, panels + PanelA::at(warp_row(), warp_step()),
                                                              panels + PanelA::floats + PanelB::at(warp_column(), warp_step()), lane());
            finish_copies(tile + T::stages - 1, next);
            now = now + 1 == T::stages ? 0 : now + 1;
            next = next + 1 == T::stages ? 0 : next + 1;
        }
        if constexpr (asynchronous) wait_for_copies<0>();
    }

    /// Adds the sums of the other teams to those of the first, in their order.
    __device__ static void add_teams(float (&sum)[Core::rows][Core::columns], float* memory) {
        __syncthreads();
        int const team = thread() / T::team, member = thread() % T::team;
        if (team > 0) {
#pragma unroll
            for (int i = 0; i < sums; ++i) memory[((team - 1) * sums + i) * T::team + member] = sum[i / Core::columns][i % Core::columns];
        }
        __syncthreads();
        if (team == 0) {
#pragma unroll 1
            for (int other = 0; other < T::depth_warps - 1; ++other)
#pragma unroll
                for (int i = 0; i < sums; ++i) sum[i / Core::columns][i % Core::columns] += memory[(other * sums + i) * T::team + member];
        }
    }

    /// Lays the sums out in shared memory and hands the folded ones to the epilogue.
    __device__ static void fold(typename Epilogue::Args const& args, float const (&sum)[Core::rows][Core::columns], index_t first_row, int first_column, int samples,
                                int group, bool holds, float* memory) {
        __syncthreads();
        if (holds) {
#pragma unroll
            for (int i = 0; i < Core::rows; i += Core::row_group)
#pragma unroll
                for (int j = 0; j < Core::columns; ++j) {
                    int const row = warp_row() + Core::row(lane(), i), column = warp_column() + Core::column(lane(), j);
                    if (column >= column_step) continue;
#pragma unroll
                    for (int q = 0; q < Core::row_group; ++q)
                        if (row + q < row_step) memory[column * fold_stride + row + q] = sum[i + q][j];
                }
        }
        __syncthreads();
        Fold::template fold<Epilogue, row_step / Fold::positions, column_step / Fold::taps, fold_stride, T::threads>(
            args, memory, first_row / Fold::positions, samples, first_column / Fold::taps, group);
    }

    /// Hands the sums to the epilogue, in groups of neighbours in memory: positions of a plane, or columns.
    __device__ static void finish(typename Epilogue::Args const& args, float const (&sum)[Core::rows][Core::columns], index_t first_row, int first_column,
                                  index_t rows, int group) {
        if constexpr (P::Rows::sampled) {
            if constexpr (P::Rows::count > 1) finish_planes(args, sum, first_row, first_column, rows, group);
            else finish_rows(args, sum, first_row, first_column, rows, group);
        } else {
            finish_rows(args, sum, first_row, first_column, rows, group);
        }
    }

    /// Result [samples, channels, positions]: rows of the product are positions, columns are channels.
    __device__ static void finish_planes(typename Epilogue::Args const& args, float const (&sum)[Core::rows][Core::columns], index_t first_row, int first_column,
                                         index_t rows, int group) {
        constexpr int window = P::Rows::window, positions = P::Rows::count / window, size = P::groups * P::columns * positions;
        constexpr int together = window > 1 ? window : common_power(P::Rows::count, Core::row_group);
        static_assert(Core::row_group % together == 0, "tenon: a pooling window does not fit a lane's rows");
        constexpr bool with_taps = window > 1 && stores_taps<Epilogue>;
#pragma unroll
        for (int i = 0; i < Core::rows; i += together) {
            int const local = warp_row() + Core::row(lane(), i);
            bool const row_inside = first_row + local < rows;
            if (!with_taps && !row_inside) continue;
            Spot const spot = find_spot<P::Rows::count>(first_row, local);
#pragma unroll
            for (int j = 0; j < Core::columns; ++j) {
                int const column = first_column + warp_column() + Core::column(lane(), j);
                bool const inside = row_inside && column < P::columns;
                if (!with_taps && !inside) continue;
                float value[together];
#pragma unroll
                for (int q = 0; q < together; ++q) value[q] = sum[i + q][j];
                int const channel = group * P::columns + column;
                Position const position{spot.sample, channel * positions + spot.position / window, channel, size};
                if constexpr (with_taps) {
                    static_assert(together == 4 && positions % 4 == 0, "tenon: taps are packed for windows of four positions, in planes of whole fours of windows");
                    unsigned taps = inside ? Epilogue::template apply_window<together>(args, position, value) << spot.position / window % 4 * 2 : 0u;
                    taps |= shuffle_xor(taps, Core::next_group); // all lanes of the warp are here
                    taps |= shuffle_xor(taps, Core::group_after);
                    if (inside && spot.position / window % 4 == 0) Epilogue::store_taps(args, position, taps);
                } else if constexpr (window > 1) {
                    Epilogue::template apply_window<together>(args, position, value);
                } else {
                    Epilogue::template apply<together>(args, position, value);
                }
            }
        }
    }

    /// Result [samples, columns], or the gradient [rows, columns].
    __device__ static void finish_rows(typename Epilogue::Args const& args, float const (&sum)[Core::rows][Core::columns], index_t first_row, int first_column,
                                       index_t rows, int group) {
        constexpr int together = common_power(P::columns, Core::column_group);
#pragma unroll
        for (int i = 0; i < Core::rows; ++i) {
            index_t const row = first_row + warp_row() + Core::row(lane(), i);
            if (row >= rows) continue;
#pragma unroll
            for (int j = 0; j < Core::columns; j += together) {
                int const column = first_column + warp_column() + Core::column(lane(), j);
                if (column >= P::columns) continue;
                float value[together];
#pragma unroll
                for (int q = 0; q < together; ++q) value[q] = sum[i][j + q];
                if constexpr (P::Rows::sampled) {
                    Epilogue::template apply<together>(args, Position{row, column, column, P::columns}, value);
                } else {
                    int const channel = group * P::Rows::count + static_cast<int>(row);
                    Epilogue::template apply<together>(args, Position{0, channel * P::columns + column, channel, P::groups * P::Rows::count * P::columns}, value);
                }
            }
        }
    }
};

template <class P>
__global__ void __launch_bounds__(P::threads, P::least_blocks) product_kernel(typename P::Args args) {
    alignas(16) __shared__ float memory[P::shared_floats];
    P::run(blockIdx.x, args, memory);
}

/// Two products in one launch: the first blocks are First's. Neither may read what the other writes.
template <class First, class Second>
__global__ void __launch_bounds__(First::threads, First::least_blocks) two_products_kernel(typename First::Args first, typename Second::Args second) {
    static_assert(First::threads == Second::threads, "tenon: products in one launch have blocks of one size");
    alignas(16) __shared__ float memory[First::shared_floats > Second::shared_floats ? First::shared_floats : Second::shared_floats];
    index_t const blocks = First::blocks(first.problem.samples);
    if (blockIdx.x < blocks) First::run(blockIdx.x, first, memory);
    else Second::run(blockIdx.x - blocks, second, memory);
}

} // namespace tenon::cuda::tile
