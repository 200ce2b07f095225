/// @file
/// Sums over the batch and over axes on the CPU: gradients of what broadcasting had stretched, such as biases.
#pragma once

#include <tenon/cpu/stage.hpp>

namespace tenon::cpu {

namespace detail {

/// Sums x [blocks][R0, K, R1][Lanes] over blocks (if it is batched and the result is not), R0, R1 and lanes, for each of K.
/// K is the one run of axes that is kept. The order of summation depends on the shapes and the number of blocks alone.
template <int Lanes, bool OverBatch, index_t Outer, index_t Kept, index_t Inner, class Post>
struct SumTo {
    static constexpr index_t scratch(index_t) { return whole_lines(Kept * Lanes); }

    static void run(StageContext const& c) {
        if constexpr (OverBatch) sum(c, 0, c.scratch);
        else if constexpr (Post::batched) c.run_tasks([](StageContext const& context, index_t block, float* scratch, index_t) { sum(context, block, scratch); }, c.blocks);
        else sum(c, 0, c.scratch);
    }

private:
    static constexpr int width = OverBatch || Post::batched ? Lanes : 1; ///< of x

    static void sum(StageContext const& c, index_t first_block, float* tile) {
        constexpr index_t per_block = Outer * Kept * Inner * width;
        float const* x = c.at<float const>(input_slot) + first_block * per_block;
        index_t const blocks = OverBatch ? c.blocks : 1;
        for (index_t k = 0; k < Kept; ++k) {
            float total[std::size_t{width}]{};
            for (index_t block = 0; block < blocks; ++block)
                for (index_t o = 0; o < Outer; ++o) {
                    float const* row = x + block * per_block + (o * Kept + k) * Inner * width;
                    for (index_t i = 0; i < Inner; ++i)
                        for (int l = 0; l < width; ++l) total[l] += row[i * width + l];
                }
            if constexpr (OverBatch) {
                tile[k] = 0;
                for (int l = 0; l < width; ++l) tile[k] += total[l];
            } else {
                for (int l = 0; l < width; ++l) tile[k * width + l] = total[l];
            }
        }
        Post::template run<Post::rows>(c, first_block, 0, tile);
    }
};

/// Splits the axes of X into outer, kept and inner for a result of shape Y, aligned at the right.
struct SumAxes {
    index_t outer = 1, kept = 1, inner = 1;
    bool one_run = true; ///< are the kept axes side by side?
};
constexpr SumAxes sum_axes(Dims const& x, Dims const& y) {
    SumAxes s;
    int state = 0; // 0: before the kept axes, 1: in them, 2: after them
    for (int axis = 0; axis < x.rank; ++axis) {
        int const at = axis - (x.rank - y.rank);
        bool const keeps = at >= 0 && y[at] == x[axis] && x[axis] != 1;
        if (x[axis] == 1) continue;
        if (keeps) {
            if (state == 2) s.one_run = false;
            state = 1;
            s.kept *= x[axis];
        } else {
            if (state == 1) state = 2;
            (state == 0 ? s.outer : s.inner) *= x[axis];
        }
    }
    return s;
}

} // namespace detail

template <>
struct CpuStage<&graph::sum_to_op> {
    template <class C, int S>
    static constexpr StageKernel kernel() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        constexpr graph::Node x = C::nodes[static_cast<std::size_t>(node.input[0])];
        constexpr detail::SumAxes axes = detail::sum_axes(x.shape, node.shape);
        static_assert(axes.one_run, "tenon: a sum over axes on both sides of kept ones, with kept ones between them, is not supported");
        using Stage = detail::SumTo<C::layout.lanes, x.batched && !node.batched, axes.outer, axes.kept, axes.inner, EpilogueOf<C, S, 0>>;
        return {&Stage::run, &Stage::scratch};
    }
};

} // namespace tenon::cpu
