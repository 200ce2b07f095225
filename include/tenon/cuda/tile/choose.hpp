/// @file
/// Which tile a product gets: a constexpr search over the tiles that fit, by an estimate of cycles. What it knows of the hardware is
/// in Machine; the estimate ranks tiles and predicts nothing else.
#pragma once

#include <tenon/cuda/tile/products.hpp>

namespace tenon::cuda::tile {

/// What the estimate assumes: an H100-class device. Sources: CUDA C++ Programming Guide, arithmetic throughput; latencies rounded
/// from published microbenchmarks.
struct Machine {
    static constexpr index_t multiprocessors = 132;
    static constexpr index_t resident_blocks = 4;   ///< of 128 threads with 128 registers each
    static constexpr index_t ffma = 128;            ///< multiply-adds in a cycle of one multiprocessor
    static constexpr index_t tf32 = 512, bf16 = 1024;
    static constexpr index_t copies = 16;           ///< asynchronous copies that threads start in a cycle
    static constexpr index_t shared = 128;          ///< bytes of shared memory read in a cycle
    static constexpr index_t memory_latency = 700;  ///< cycles until a copy arrives
    static constexpr index_t block_latency = 1500;  ///< start, first copies, epilogue
    static constexpr index_t meeting_latency = 2000; ///< partial sums written, the last block told, partial sums read
    static constexpr index_t memory = 2500;         ///< bytes moved in a cycle, by all multiprocessors together
};

/// A product's size, in numbers.
struct Sizes {
    index_t rows, columns, depth, groups;
    bool rows_gather, columns_gather; ///< copied element by element?
    bool may_split;                   ///< the depth among blocks
    int window;                       ///< rows that stay with one lane
    bool across;
    int positions, taps;   ///< that a tile must not cut: of folded problems; else 1
    index_t folded;        ///< shared-memory reads that fold one channel of one sample; else 0
    index_t tensor; ///< multiply-adds in a cycle on tensor cores, all passes counted; 0: FFMA
};

/// A Tile in numbers.
struct Cut {
    int rows = 0, columns = 0, depth = 0, row_warps = 1, column_warps = 1, depth_warps = 1, stages = 2, splits = 1;
    index_t cost = 0;
    bool tensor = false;
};

namespace detail {

/// Floats of one stage, at most: padding included.
[[nodiscard]] constexpr index_t stage_floats(Cut const& c, bool across) {
    return across ? index_t{c.depth} * (c.rows + c.columns + 16) : index_t{c.rows + c.columns} * (c.depth + 16);
}

[[nodiscard]] constexpr index_t cycles(Sizes const& s, Cut const& c) {
    index_t const row_step = c.rows / s.positions * s.positions, column_step = c.columns / s.taps * s.taps;
    index_t const tiles = divide_up(s.rows, row_step) * divide_up(s.columns, column_step) * s.groups, blocks = tiles * c.splits;
    index_t const steps = divide_up(divide_up(s.depth, c.splits), c.depth);
    index_t const products = index_t{c.rows} * c.columns * c.depth;
    // What lanes of a warp read from shared memory: each of the rows and columns of its part once per step; 16-byte reads by 8 lanes
    // of FFMA fetch 4 x 8 different addresses of 32.
    index_t const warp_rows = c.rows / c.row_warps, warp_columns = c.columns / c.column_warps;
    index_t const reads = index_t{c.row_warps} * c.column_warps * c.depth * (s.tensor > 0 && c.tensor ? 4 * (warp_rows + warp_columns) : 4 * (warp_rows / 4 + warp_columns / 8) * 16);
    index_t const multiply = products / (c.tensor ? s.tensor : Machine::ffma);
    index_t const copy = (index_t{c.rows} * c.depth / (s.rows_gather ? 1 : 4) + index_t{c.columns} * c.depth / (s.columns_gather ? 1 : 4)) / Machine::copies;
    index_t const issue = multiply > reads / Machine::shared ? multiply : reads / Machine::shared;
    index_t const busy = issue + copy / 2;
    index_t const folding = row_step / s.positions * (column_step / s.taps) * s.folded * 4 / 128; // four instructions each
    index_t const waiting = Machine::memory_latency / (c.stages - 1);
    // Throughput: all blocks of a multiprocessor one after the other. Latency: rounds of resident blocks.
    index_t const throughput = divide_up(blocks, Machine::multiprocessors) * (steps * busy + folding + 200);
    index_t const rounds = divide_up(blocks, Machine::multiprocessors * Machine::resident_blocks);
    index_t const latency = rounds * (Machine::block_latency + folding + steps * (busy > waiting ? busy : waiting));
    index_t const sums = index_t{warp_rows} * warp_columns / 32;
    index_t const together = c.splits == 1 ? 0
                                           : Machine::meeting_latency * (c.splits > 16 ? 2 : 1) + (c.splits < 16 ? c.splits : 32) * sums * 4 +
                                                 blocks * c.rows * c.columns * 8 / Machine::memory;
    return (throughput > latency ? throughput : latency) + together + (c.depth_warps > 1 ? 100 * c.depth_warps : 0);
}

/// Rows x columns by four warps: the most square parts that sums in registers allow; what is left over shares the depth.
[[nodiscard]] constexpr Cut with_warps(Cut c) {
    int const least_rows = c.tensor ? (c.rows % 32 == 0 ? 32 : 16) : 32, least_columns = c.tensor ? 8 : 32;
    while (c.row_warps * c.column_warps < block_warps) {
        bool const can_rows = c.rows / (2 * c.row_warps) >= least_rows && c.rows % (2 * c.row_warps) == 0;
        bool const can_columns = c.columns / (2 * c.column_warps) >= least_columns && c.columns / c.column_warps % 16 == 0;
        if (can_rows && (c.rows / c.row_warps >= c.columns / c.column_warps || !can_columns)) c.row_warps *= 2;
        else if (can_columns && c.columns / c.column_warps > 16) c.column_warps *= 2;
        else break;
    }
    c.depth_warps = block_warps / (c.row_warps * c.column_warps);
    return c;
}

[[nodiscard]] constexpr bool fits(Cut const& c, Sizes const& s) {
    int const warp_rows = c.rows / c.row_warps, warp_columns = c.columns / c.column_warps;
    int const sums = warp_rows * warp_columns / 32, height = c.tensor ? warp_rows / 8 : warp_rows / 4, width = c.tensor ? warp_columns / 4 : warp_columns / 8;
    if (warp_rows % (c.tensor ? 16 : 4) != 0 || warp_columns % 8 != 0 || sums > 64 || sums + 4 * (height + width) > 160) return false;
    if (c.depth % c.depth_warps != 0 || c.depth / c.depth_warps % (c.tensor ? 16 : 4) != 0) return false;
    if (s.window > 1 && height % s.window != 0) return false;
    if (s.window > 1 && c.tensor && warp_rows % 32 != 0) return false;
    int const row_step = c.rows / s.positions * s.positions, column_step = c.columns / s.taps * s.taps;
    if (row_step == 0 || column_step == 0 || (s.folded > 0 && index_t{column_step} * (row_step + 4) > 12 * 1024 - 4)) return false;
    index_t const table = 8 * 1024 * 2 / 4;
    index_t const teams = index_t{c.depth_warps - 1} * c.rows * c.columns;
    return c.stages * stage_floats(c, s.across) + (s.rows_gather ? table : 0) + 4 <= 12 * 1024 && teams <= 12 * 1024 - 4;
}

} // namespace detail

/// The cheapest tile for a product. FFMA takes the place of tensor cores where there are too few rows to fill them, and where no
/// tile of theirs fits: nearer the truth, never further.
[[nodiscard]] constexpr Cut choose(Sizes const& s) {
    Cut best;
    constexpr int row_choices[] = {4, 8, 16, 32, 64, 128}, column_choices[] = {8, 16, 24, 32, 40, 48, 56, 64, 128}, depth_choices[] = {16, 32, 64, 128};
    for (bool const tensor : {true, false}) {
        if (tensor && (s.tensor == 0 || s.rows <= 8)) continue;
        if (!tensor && best.rows > 0) continue;
        for (int rows : row_choices)
            for (int columns : column_choices)
                for (int depth : depth_choices)
                    for (int stages = 2; stages <= 4; ++stages)
                        for (int splits = 1; splits <= (s.may_split ? 256 : 1); splits *= 2) {
                            if (rows > 4 * s.window && rows >= 2 * s.rows) continue;
                            if (columns > 8 && columns >= 2 * s.columns) continue;
                            if (splits > 1 && splits * depth > s.depth) continue;
                            Cut c = detail::with_warps({.rows = rows, .columns = columns, .depth = depth, .stages = stages, .splits = splits, .tensor = tensor});
                            if (!detail::fits(c, s)) continue;
                            c.cost = detail::cycles(s, c);
                            if (best.rows == 0 || c.cost < best.cost) best = c;
                        }
    }
    return best;
}

namespace detail {

template <class Precision>
inline constexpr index_t tensor_rate = 0;
template <>
inline constexpr index_t tensor_rate<Tf32> = Machine::tf32;
template <>
inline constexpr index_t tensor_rate<Tf32x3> = Machine::tf32 / 3;
template <>
inline constexpr index_t tensor_rate<Bf16> = Machine::bf16;

template <class Rows>
constexpr int window_of() {
    if constexpr (Rows::sampled) return Rows::window;
    else return 1;
}

/// Does an operand lie so that four elements are copied at once?
template <class Operand, Order O>
inline constexpr bool gathers = !(O == Order::across ? Operand::across : Operand::along) || Operand::vector < 4 || !Operand::Element::direct;

} // namespace detail

/// What the search knows of problem P for batches of about `Samples`.
template <class P, class Precision, index_t Samples>
inline constexpr Sizes sizes_of{P::Rows::extent(Samples), P::columns, P::Depth::extent(Samples), P::groups, detail::gathers<typename P::A, P::order>,
                                detail::gathers<typename P::B, P::order>, true, detail::window_of<typename P::Rows>(), P::order == Order::across,
                                P::Fold::positions, P::Fold::taps, P::Fold::reads, detail::tensor_rate<Precision>};

/// The tile of problem P for batches of about `Samples`.
template <class P, class Precision, index_t Samples>
class TileFor {
public:
    static constexpr Cut cut = choose(sizes_of<P, Precision, Samples>);
    static_assert(cut.rows > 0, "tenon: no tile fits this product");
    using type = Tile<cut.rows, cut.columns, cut.depth, cut.row_warps, cut.column_warps, cut.depth_warps, cut.stages, cut.splits>;
    using precision = std::conditional_t<cut.tensor, Precision, Float>;
};

/// Problem P for batches of about `Samples`, with the tile that suits it.
template <class P, class Precision, class Epilogue, index_t Samples>
using ProductFor = Product<P, typename TileFor<P, Precision, Samples>::type, typename TileFor<P, Precision, Samples>::precision, Epilogue>;

namespace detail {
template <class Plain, class Folded, class Precision, index_t Samples>
constexpr bool folding_pays() {
    Cut const folded = choose(sizes_of<Folded, Precision, Samples>);
    return folded.rows > 0 && folded.cost < choose(sizes_of<Plain, Precision, Samples>).cost;
}
} // namespace detail

/// The input gradient's problem, folded where that is cheaper. Arguments are the same for both.
template <class DY, class G, class Map, class Precision, index_t Samples>
using Conv2dInputGradientFor =
    std::conditional_t<detail::folding_pays<Conv2dInputGradient<DY, G, Map>, Conv2dFoldedInputGradient<DY, G, Map>, Precision, Samples>(),
                       Conv2dFoldedInputGradient<DY, G, Map>, Conv2dInputGradient<DY, G, Map>>;

} // namespace tenon::cuda::tile
