/// @file
/// Convolution's stages on the CPU: kernels (cpu.hpp) joined with the pointwise programs that follow them.
#pragma once

#include <tenon/cpu/stage.hpp>
#include <tenon/ops/conv2d/conv2d.hpp>
#include <tenon/ops/conv2d/cpu.hpp>
#include <tenon/ops/pool2d/cpu.hpp>

namespace tenon::cpu {

/// The kernel's problem from a node's geometry and its shapes.
template <class C, graph::Node N, Dims X, Dims Y>
struct conv2d_problem {
    static constexpr auto g = conv2d::Geometry::of(N);
    using type = conv2d::Problem<C::layout.lanes, X[0], X[1], X[2], Y[0], g.kernel.height, g.kernel.width, g.stride.height, g.stride.width,
                                 g.padding.height, g.padding.width, g.dilation.height, g.dilation.width, g.groups>;
};

/// Forward, the program, optionally a max-pool of the tile and a second program. Pool is void where none follows, Index where
/// the winning taps are not wanted.
template <class P, class First, class Pool, class Second, class Index>
struct Conv2dForward {
    using Kernel = conv2d::Forward<P>;
    static constexpr index_t workspace = whole_lines(Kernel::workspace), tile_size = whole_lines(Kernel::tile_size);

    static constexpr index_t scratch(index_t) {
        if constexpr (std::is_void_v<Pool>) return workspace + tile_size;
        else return workspace + tile_size + whole_lines(Kernel::tile * Pool::out_plane * P::lanes);
    }

    static void run(StageContext const& c) { c.run_tasks(&task, c.blocks * Kernel::tasks); }

    static void task(StageContext const& c, index_t task, float* scratch, index_t previous) {
        index_t const block = task / Kernel::tasks, group = task % Kernel::tasks;
        float const* const x = c.at<float const>(input_slot) + block * P::x_block;
        float* const tile = scratch + workspace;
        if (previous < 0 || previous / Kernel::tasks != block) Kernel::prepare(0, x, scratch);
        Kernel::run(group, 0, x, c.at<float const>(input_slot + 1), tile, scratch);
        First::template run_task<Kernel>(c, group, block, tile);
        if constexpr (!std::is_void_v<Pool>) {
            float* const pooled = tile + tile_size;
            index_t const count = Kernel::channel_count(group);
            if constexpr (std::is_void_v<Index>) {
                pool2d::max_forward<Pool, P::lanes>(count, tile, pooled, static_cast<std::uint8_t*>(nullptr));
            } else {
                index_t const at = (block * P::outputs + Kernel::channel_begin(group)) * Pool::out_plane * P::lanes;
                pool2d::max_forward<Pool, P::lanes>(count, tile, pooled, c.at<Index>(pool_companion_slot) + at);
            }
            Second::template run_task<Kernel>(c, group, block, pooled);
        }
    }
};

template <class P, class Post>
struct Conv2dInputGradient {
    using Kernel = conv2d::InputGradient<P>;
    static constexpr index_t workspace = whole_lines(Kernel::workspace);
    static constexpr index_t scratch(index_t) { return workspace + whole_lines(Kernel::tile_size); }

    static void run(StageContext const& c) { c.run_tasks(&task, c.blocks * Kernel::tasks); }

    static void task(StageContext const& c, index_t task, float* scratch, index_t previous) {
        index_t const block = task / Kernel::tasks, group = task % Kernel::tasks;
        float const* const dy = c.at<float const>(input_slot) + block * P::y_block;
        float* const tile = scratch + workspace;
        if (previous < 0 || previous / Kernel::tasks != block) Kernel::prepare(0, dy, scratch);
        Kernel::run(group, 0, dy, c.at<float const>(input_slot + 1), tile, scratch);
        Post::template run_task<Kernel>(c, group, block, tile);
    }
};

/// The same where a kernel is one task and there are few blocks of images, so that threads would have nothing to do:
/// they share the packing of the weights, then the rows, then the channels of the program. All meet in the scratch
/// memory of thread 0, which holds the packed weights and the whole result.
template <class P, class Post>
struct Conv2dInputGradientByRows {
    using Kernel = conv2d::InputGradient<P>;
    static constexpr index_t workspace = whole_lines(Kernel::workspace), result = whole_lines(Kernel::tile_size);
    static constexpr index_t inputs_per_task = ceil_divide(P::outputs, enough_tasks);
    static constexpr index_t plane = P::height * P::width * P::lanes;
    static constexpr index_t scratch(index_t blocks) { return workspace + blocks * result; }

    static void run(StageContext const& c) {
        if constexpr (Kernel::packs) c.run_tasks(&pack, ceil_divide(P::outputs, inputs_per_task));
        c.run_tasks(&row, c.blocks * P::height);
        c.run_tasks(&finish, c.blocks * P::channels);
    }
    static void pack(StageContext const& c, index_t task, float*, index_t) {
        index_t const begin = task * inputs_per_task;
        Kernel::pack_inputs(begin, least(begin + inputs_per_task, P::outputs), c.at<float const>(input_slot + 1),
                            c.scratch);
    }
    static void row(StageContext const& c, index_t task, float*, index_t) {
        index_t const block = task / P::height, row = task % P::height;
        Kernel::run_packed(row, row + 1, c.at<float const>(input_slot) + block * P::y_block,
                           Kernel::packs ? c.scratch : c.at<float const>(input_slot + 1),
                           c.scratch + workspace + block * result);
    }
    static void finish(StageContext const& c, index_t task, float*, index_t) {
        index_t const block = task / P::channels, channel = task % P::channels;
        Post::template run<1>(c, block, channel, c.scratch + workspace + block * result + channel * plane);
    }
};

template <class P, class Post>
struct Conv2dWeightGradient {
    using Kernel = conv2d::WeightGradient<P>;
    static constexpr index_t workspace = whole_lines(Kernel::workspace);
    static constexpr index_t scratch(index_t) { return workspace + whole_lines(Kernel::tile_size); }

    static void run(StageContext const& c) { c.run_tasks(&task, Kernel::tasks); }

    static void task(StageContext const& c, index_t task, float* scratch, index_t) {
        float* const tile = scratch + workspace;
        Kernel::run(task, c.at<float const>(input_slot), c.at<float const>(input_slot + 1), c.blocks, tile, nullptr, scratch);
        Post::template run_task<Kernel>(c, task, 0, tile);
    }
};

template <>
struct CpuStage<&conv2d::forward_op> {
    template <class C, int S>
    static constexpr StageKernel kernel() {
        constexpr graph::Stage stage = C::stages[S];
        constexpr graph::Node node = graph::anchor_of<C, S>();
        using P = typename conv2d_problem<C, node, C::nodes[static_cast<std::size_t>(node.input[0])].shape, node.shape>::type;
        if constexpr (stage.pool >= 0) {
            constexpr graph::Node pool = C::nodes[static_cast<std::size_t>(stage.pool)];
            static_assert(pool.is(pool2d::max_op), "tenon: only a max-pool can follow a convolution's tile");
            using Index = std::conditional_t<(stage.pool_companion[0] >= 0), pool2d::index_type<pool>, void>;
            using Stage = Conv2dForward<P, EpilogueOf<C, S, 0>, typename pool2d::problem_of<pool, node.shape>::type, EpilogueOf<C, S, 1>, Index>;
            return {&Stage::run, &Stage::scratch};
        } else {
            using Stage = Conv2dForward<P, EpilogueOf<C, S, 0>, void, void, void>;
            return {&Stage::run, &Stage::scratch};
        }
    }
};

template <>
struct CpuStage<&conv2d::input_gradient_op> {
    template <class C, int S>
    static constexpr StageKernel kernel() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        using P = typename conv2d_problem<C, node, node.shape, C::nodes[static_cast<std::size_t>(node.input[0])].shape>::type;
        constexpr bool by_rows = conv2d::InputGradient<P>::tasks == 1 && C::layout.blocks() < enough_tasks;
        using Stage = std::conditional_t<by_rows, Conv2dInputGradientByRows<P, EpilogueOf<C, S, 0>>,
                                         Conv2dInputGradient<P, EpilogueOf<C, S, 0>>>;
        return {&Stage::run, &Stage::scratch};
    }
};

template <>
struct CpuStage<&conv2d::weight_gradient_op> {
    template <class C, int S>
    static constexpr StageKernel kernel() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        using P = typename conv2d_problem<C, node, C::nodes[static_cast<std::size_t>(node.input[0])].shape,
                                                  C::nodes[static_cast<std::size_t>(node.input[1])].shape>::type;
        using Stage = Conv2dWeightGradient<P, EpilogueOf<C, S, 0>>;
        return {&Stage::run, &Stage::scratch};
    }
};

} // namespace tenon::cpu
