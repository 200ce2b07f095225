/// @file
/// A product of the tile kernel (tile/kernel.hpp) as a stage's job: operands come from the stage's slots, its program is the epilogue.
#pragma once

#include <tenon/cuda/job.hpp>
#include <tenon/cuda/tile/choose.hpp>

namespace tenon::cuda {

/// Where a product's two operands lie: slots of floats.
template <int A, int B>
struct FloatSlots {
    template <class Args, class C>
    __device__ static Args problem(C const& c) {
        return {c.template at<float const, A>(), c.template at<float const, B>(), c.samples};
    }
};

/// The same, the first being pooled gradients whose winning taps are in slot 2.
template <int A, int B>
struct UnpooledSlots {
    template <class Args, class C>
    __device__ static Args problem(C const& c) {
        return {{c.template at<float const, A>(), c.template at<std::uint8_t const, input_slot + 2>()}, c.template at<float const, B>(), c.samples};
    }
};

/// What follows on a product's sums: the stage's program. Endings say what tile epilogue they are, for a context C.
template <class Post>
struct ProgramEnding {
    static constexpr int slots = Post::slots;

    template <class C>
    struct Epilogue {
        using Args = C;

        template <int Count>
        __device__ static void apply(C const& c, tile::Position const& position, float const (&value)[Count]) {
            float line[Count];
#pragma unroll
            for (int i = 0; i < Count; ++i) line[i] = value[i];
            Post::template run_line<Count>(c, position.sample, static_cast<typename Post::Index>(position.index), line);
        }
    };
};

/// P: a tile::Problem. Factors: float32, tf32, tf32x3 or bf16. Capacity: the most samples, for which the tile is chosen.
/// Slots: FloatSlots or UnpooledSlots.
template <class P, class Factors, index_t Capacity, class Slots, class Ending>
struct TileJob {
    template <class Epilogue>
    using Product = tile::ProductFor<P, Factors, Epilogue, Capacity>;
    using Shape = Product<tile::Store>;

    static constexpr int threads = Shape::threads;
    static constexpr int slots = Ending::slots;
    static constexpr index_t shared = Shape::shared_floats * index_t{sizeof(float)};
    static constexpr index_t partial_floats = Shape::partial_floats(Capacity); ///< for blocks that share a sum: see detail::Workspace
    static constexpr index_t counters = Shape::counters(Capacity);
    static constexpr int least_architecture = tile::least_architecture<typename tile::TileFor<P, Factors, Capacity>::precision>;
    static constexpr index_t blocks(index_t capacity) { return Shape::blocks(capacity); }

    template <class C>
    __device__ static void run(C const& c, index_t block, std::byte* memory) {
        using K = Product<typename Ending::template Epilogue<C>>;
        K::run(block, {Slots::template problem<typename P::Args>(c), c, {c.partial, c.counters}}, reinterpret_cast<float*>(memory));
    }
};

/// The job of product P in the compiled graph C. A function, not an alias: nvcc's host stubs spell aliases out, and C with them.
template <class C, class P, class Slots, class Ending>
constexpr auto tile_job() {
    return TileJob<P, typename C::From::factors, C::layout.capacity, Slots, Ending>{};
}

} // namespace tenon::cuda
