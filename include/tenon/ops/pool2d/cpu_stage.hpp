/// @file
/// Pooling's stages on the CPU, where a pool does not follow on a convolution's tile, and the pools' gradients.
#pragma once

#include <tenon/cpu/stage.hpp>
#include <tenon/ops/pool2d/cpu.hpp>

namespace tenon::cpu {

namespace detail {

/// One plane per task: `Make` fills the tile, the program follows.
template <int Lanes, index_t Channels, index_t TilePlane, class Make, class Post>
struct PlaneStage {
    static constexpr index_t scratch(index_t) { return whole_lines(TilePlane * Lanes); }

    static void run(StageContext const& c) { c.run_tasks(&task, c.blocks * Channels); }

    static void task(StageContext const& c, index_t task, float* tile, index_t) {
        Make::run(c, task, tile);
        Post::template run<1>(c, task / Channels, task % Channels, tile);
    }
};

template <class P, int Lanes, class Index, bool WithIndex>
struct MakeMaxPool {
    static void run(StageContext const& c, index_t plane, float* tile) {
        Index* index = nullptr;
        if constexpr (WithIndex) index = c.at<Index>(companion_slot) + plane * P::out_plane * Lanes;
        pool2d::max_forward<P, Lanes>(1, c.at<float const>(input_slot) + plane * P::plane * Lanes, tile, index);
    }
};

template <class P, int Lanes, class Index>
struct MakeMaxPoolGradient {
    static void run(StageContext const& c, index_t plane, float* tile) {
        index_t const at = plane * P::out_plane * Lanes;
        pool2d::max_backward<P, Lanes>(1, c.at<float const>(input_slot) + at, c.at<Index const>(input_slot + 1) + at, tile);
    }
};

template <class P, int Lanes>
struct MakeAveragePool {
    static void run(StageContext const& c, index_t plane, float* tile) {
        pool2d::average_forward<P, Lanes>(1, c.at<float const>(input_slot) + plane * P::plane * Lanes, tile);
    }
};

template <class P, int Lanes>
struct MakeAveragePoolGradient {
    static void run(StageContext const& c, index_t plane, float* tile) {
        pool2d::average_backward<P, Lanes>(1, c.at<float const>(input_slot) + plane * P::out_plane * Lanes, tile);
    }
};

} // namespace detail

template <>
struct CpuStage<&pool2d::max_op> {
    template <class C, int S>
    static constexpr StageKernel kernel() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        constexpr int lanes = C::layout.lanes;
        using P = typename pool2d::problem_of<node, graph::input_shape<C, node>()>::type;
        using Make = detail::MakeMaxPool<P, lanes, pool2d::index_type<node>, (C::stages[S].companion[0] >= 0)>;
        using Stage = detail::PlaneStage<lanes, node.shape[0], P::out_plane, Make, EpilogueOf<C, S, 0>>;
        return {&Stage::run, &Stage::scratch};
    }
};

template <>
struct CpuStage<&pool2d::max_gradient_op> {
    template <class C, int S>
    static constexpr StageKernel kernel() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        constexpr int lanes = C::layout.lanes;
        using P = typename pool2d::problem_of<node, node.shape>::type;
        using Stage = detail::PlaneStage<lanes, node.shape[0], P::plane, detail::MakeMaxPoolGradient<P, lanes, pool2d::index_type<node>>, EpilogueOf<C, S, 0>>;
        return {&Stage::run, &Stage::scratch};
    }
};

template <>
struct CpuStage<&pool2d::average_op> {
    template <class C, int S>
    static constexpr StageKernel kernel() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        constexpr int lanes = C::layout.lanes;
        using P = typename pool2d::problem_of<node, graph::input_shape<C, node>()>::type;
        using Stage = detail::PlaneStage<lanes, node.shape[0], P::out_plane, detail::MakeAveragePool<P, lanes>, EpilogueOf<C, S, 0>>;
        return {&Stage::run, &Stage::scratch};
    }
};

template <>
struct CpuStage<&pool2d::average_gradient_op> {
    template <class C, int S>
    static constexpr StageKernel kernel() {
        constexpr graph::Node node = graph::anchor_of<C, S>();
        constexpr int lanes = C::layout.lanes;
        using P = typename pool2d::problem_of<node, node.shape>::type;
        using Stage = detail::PlaneStage<lanes, node.shape[0], P::plane, detail::MakeAveragePoolGradient<P, lanes>, EpilogueOf<C, S, 0>>;
        return {&Stage::run, &Stage::scratch};
    }
};

} // namespace tenon::cpu
