/// @file
/// Matrix products with the features in the lanes: for blocks of fewer images than a vector has lanes, and for the
/// weight gradient of any. Each weight vector then serves all images from registers, and the weights are read once, in
/// order.
#pragma once

#include <tenon/ops/linear/cpu/problem.hpp>

namespace tenon::linear {

/// One block, [features][Lanes], to rows of features: image l to `to + l * row`, features beyond `features` up to a
/// multiple of the vector's width as zeros.
template <int Lanes>
inline void separate_images(float const* from, index_t features, float* to, index_t row) {
    constexpr int width = cpu::native_lanes<float>, together = static_cast<int>(least(Lanes, width));
    index_t f = 0;
    for (; f + width <= features; f += width)
        for (int part = 0; part < Lanes; part += together) { // `together` images at a time
            cpu::Registers<cpu::Vec<float, width>, together> v;
            for (int i = 0; i < together; ++i)
                v[i] = cpu::load<width>(Lanes <= width ? from + f * Lanes + i * width : from + (f + i) * Lanes + part);
            cpu::deinterleave<together>(v);
            for (int l = 0; l < together; ++l) cpu::store<width>(to + (part + l) * row + f, v[l]);
        }
    if (f == features) return;
    for (int l = 0; l < Lanes; ++l)
        for (int i = 0; i < width; ++i) to[l * row + f + i] = f + i < features ? from[(f + i) * Lanes + l] : 0.0F;
}

/// Forward for few lanes: y[o] = sum over i of w[o][i] x[i], i in the lanes.
template <class P>
class FewForward {
    static constexpr int width = cpu::native_lanes<float>, lanes = P::lanes;
    using V = cpu::Vec<float, width>;
    static constexpr int rows =
        width / lanes; ///< outputs of a tile: it has `width` accumulators, whose sums make up one vector
    static constexpr index_t vectors = P::inputs / width, padded = ceil_divide(P::inputs, width) * width;
    static constexpr index_t tail = P::inputs % width;

public:
    static constexpr index_t tile = least(ceil_divide(P::outputs, rows), most(1, 32 / rows)) * rows;
    static constexpr index_t tasks = ceil_divide(P::outputs, tile);
    static constexpr index_t channel_begin(index_t task) { return task * tile; }
    static constexpr index_t channel_count(index_t task) { return least(tile, P::outputs - task * tile); }
    static constexpr index_t workspace(index_t blocks) { return blocks * lanes * padded; }

    static void prepare(float const* x, index_t blocks, float* space) {
        for (index_t b = 0; b < blocks; ++b)
            separate_images<lanes>(x + b * P::inputs * lanes, P::inputs, space + b * lanes * padded, padded);
    }

    static void run(index_t task, float const* /*x*/, index_t blocks, float const* weight, float* out,
                    float const* space) {
        index_t const count = channel_count(task);
        weight += channel_begin(task) * P::inputs;
        for (index_t b = 0; b < blocks; ++b, space += lanes * padded) {
            index_t o = 0;
            for (; o + rows <= count; o += rows, out += width)
                cpu::store<width>(out, run_tile<rows>(weight + o * P::inputs, space));
            if constexpr (constexpr int left = static_cast<int>(P::outputs % rows); left > 0)
                if (o < count) {
                    cpu::store_some<width>(out, run_tile<left>(weight + o * P::inputs, space), left * lanes);
                    out += left * lanes;
                }
        }
    }

private:
    /// The sums of `Rows` outputs of all images, [Rows][lanes].
    template <int Rows>
    TENON_NEVER_INLINE static V run_tile(float const* weight, float const* x) {
        cpu::Registers<V, width> sum{};
        for (index_t i = 0; i < vectors; ++i) {
            step<Rows, width>(sum, weight, x);
            weight = cpu::opaque(weight + width);
            x += width;
        }
        if constexpr (tail > 0) step<Rows, static_cast<int>(tail)>(sum, weight, x);
        return cpu::sum_groups<width>(sum);
    }
    template <int Rows, int Valid>
    TENON_ALWAYS_INLINE static void step(V* sum, float const* weight, float const* x) {
        multiply_add<Operands<Valid>, Rows, lanes>(sum, weight, x);
    }
    /// What a tile multiplies: `Valid` weights of an output, as many features of an image.
    template <int Valid>
    struct Operands {
        TENON_ALWAYS_INLINE static V row(float const* weight, int r) {
            return cpu::load_some<width>(weight + r * P::inputs, Valid);
        }
        TENON_ALWAYS_INLINE static V column(float const* x, int l) {
            return cpu::load_some<width>(x + l * padded, Valid);
        }
    };
};

/// Input gradient for few lanes: dx[i] = sum over o of w[o][i] dy[o], i in the lanes.
template <class P>
class FewInputGradient {
    static constexpr int width = cpu::native_lanes<float>, lanes = P::lanes;
    using V = cpu::Vec<float, width>;
    static constexpr index_t vectors = ceil_divide(P::inputs, width);
    static constexpr Partition tiles{vectors, lanes == 1 ? 8 : most(1, cpu::accumulators / lanes)};

public:
    static constexpr index_t tasks = tiles.tiles;
    static constexpr index_t tile = least(tiles.largest() * width, P::inputs);
    static constexpr index_t channel_begin(index_t task) { return tiles.begin(task) * width; }
    static constexpr index_t channel_count(index_t task) {
        return least((tiles.begin(task) + tiles.size(task)) * width, P::inputs) - tiles.begin(task) * width;
    }

    static constexpr index_t workspace(index_t /*blocks*/) { return 0; }

    static void prepare(float const* /*dy*/, index_t /*blocks*/, float* /*space*/) {}

    static void run(index_t task, float const* dy, index_t blocks, float const* weight, float* out, float* /*space*/) {
        run_outputs(task, {0, P::outputs}, dy, blocks, weight, out, channel_count(task) * lanes);
    }

    /// What outputs [begin, end) contribute to the task's inputs: out [blocks][channel_count(task)][lanes], `out_block`
    /// floats from one block to the next.
    struct Outputs {
        index_t begin, end;
    };
    static void run_outputs(index_t task, Outputs outputs, float const* dy, index_t blocks, float const* weight,
                            float* out, index_t out_block) {
        constexpr int larger = static_cast<int>(tiles.largest()), smaller = static_cast<int>(tiles.small());
        constexpr index_t last = tiles.size(tiles.tiles - 1);
        constexpr int tail = static_cast<int>(P::inputs % width);
        index_t const count = outputs.end - outputs.begin;
        weight += outputs.begin * P::inputs + channel_begin(task);
        dy += outputs.begin * lanes;
        for (index_t b = 0; b < blocks; ++b, dy += P::outputs * lanes, out += out_block) {
            if (tail > 0 && task == tiles.tiles - 1)
                run_tile<static_cast<int>(last), tail == 0 ? width : tail>(count, dy, weight, out);
            else if (tiles.size(task) == larger) run_tile<larger, width>(count, dy, weight, out);
            else if constexpr (smaller < larger && smaller > 0) run_tile<smaller, width>(count, dy, weight, out);
        }
    }

private:
    /// What a tile multiplies: vectors of weights of one output, of which the last has `Valid` lanes, with that output
    /// of an image.
    template <int Columns, int Valid>
    struct Operands {
        TENON_ALWAYS_INLINE static V row(float const* weight, int c) {
            return c == Columns - 1 ? cpu::load_some<width>(weight + c * width, Valid)
                                    : cpu::load<width>(weight + c * width);
        }
        TENON_ALWAYS_INLINE static V column(float const* dy, int l) { return cpu::broadcast<width>(dy[l]); }
    };

    /// `Columns` vectors of inputs of which the last has `Valid` lanes, from `outputs` outputs.
    template <int Columns, int Valid>
    TENON_NEVER_INLINE static void run_tile(index_t outputs, float const* dy, float const* weight, float* out) {
        cpu::Registers<V, Columns * lanes> sum{}; // [columns][images]
        for (index_t o = 0; o < outputs; ++o) {
            multiply_add<Operands<Columns, Valid>, Columns, lanes>(sum, weight, dy + o * lanes);
            weight = cpu::opaque(weight + P::inputs);
        }
        TENON_UNROLL for (int c = 0; c < Columns; ++c) {
            cpu::interleave<lanes>(sum + c * lanes);
            TENON_UNROLL for (int l = 0; l < lanes; ++l) {
                index_t const at = (c * lanes + l) * width, left = ((Columns - 1) * width + Valid) * lanes - at;
                if (left >= width) cpu::store<width>(out + at, sum[c * lanes + l]);
                else if (left > 0) cpu::store_some<width>(out + at, sum[c * lanes + l], left);
            }
        }
    }
};

} // namespace tenon::linear
