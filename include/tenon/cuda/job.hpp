/// @file
/// Shapes of jobs that operations share: one thread for each element, one team of threads for each sum.
#pragma once

#include <tenon/cuda/block.hpp>
#include <tenon/cuda/stage.hpp>
#include <tenon/cuda/tile/shape.hpp>

namespace tenon::cuda {

/// Threads in a block: of every job, so that any of them can share a kernel.
inline constexpr int usual_threads = 32 * tile::block_warps;

using tile::divide_up;

/// The type for numbers below `count`.
template <index_t Count>
using index_for = std::conditional_t<(Count < (index_t{1} << 31)), std::uint32_t, std::uint64_t>;

/// How many places a job is told: those of its last program, unless Make names more.
template <class Make, class Post>
inline constexpr int slots_of = [] {
    if constexpr (requires { Make::slots; }) return Make::slots > Post::slots ? Make::slots : Post::slots;
    else return Post::slots;
}();

/// One thread for each K elements: `Make::value(context, sample, at)` is what the anchor makes of one, the program follows.
/// Capacity: the most samples, which decides how wide indices are.
template <int Threads, index_t Capacity, int K, class Make, class Post>
struct ElementJob {
    static constexpr int threads = Threads;
    static constexpr int slots = slots_of<Make, Post>;
    static constexpr index_t shared = 0;
    static constexpr index_t blocks(index_t capacity) { return divide_up((Post::batched ? capacity : 1) * Post::count, index_t{Threads} * K); }

    template <class C>
    __device__ static void run(C const& c, index_t block, std::byte*) {
        using Index = index_for<(Post::batched ? Capacity : 1) * Post::count + Threads * K>;
        constexpr auto count = static_cast<Index>(Post::count);
        Index const end = Post::batched ? static_cast<Index>(c.samples) * count : count;
        Index const first = static_cast<Index>(block) * static_cast<Index>(Threads * K) + static_cast<Index>(threadIdx.x);
        if constexpr (K > 1) {
            if (first + static_cast<Index>(Threads * (K - 1)) < end) return elements<K>(c, first);
        }
#pragma unroll 1
        for (int k = 0; k < K; ++k) {
            Index const i = first + static_cast<Index>(Threads * k);
            if (i < end) elements<1>(c, i);
        }
    }

private:
    /// K elements, Threads apart, the first of which is `first`.
    template <int N, class C, class Index>
    __device__ static void elements(C const& c, Index first) {
        constexpr auto count = static_cast<Index>(Post::count);
        index_t sample[N];
        typename Post::Index at[N];
        float tile[N];
#pragma unroll
        for (int k = 0; k < N; ++k) {
            Index const i = first + static_cast<Index>(Threads * k);
            Index const s = Post::batched ? i / count : Index{0};
            sample[k] = static_cast<index_t>(s);
            at[k] = static_cast<typename Post::Index>(i - s * count);
            tile[k] = Make::value(c, sample[k], at[k]);
        }
        Post::template run<N>(c, sample, at, tile);
    }
};

/// One team of threads for each sum: its threads take turns with the terms, then their partial sums are added in one order.
///     Make::terms(samples)                   how many terms a sum of this batch has
///     Make::term(context, sample, at, t)     one of them
/// Team: 32, or Threads.
template <int Threads, int Team, class Make, class Post>
struct SumJob {
    static_assert(Team == warp_size || Team == Threads);
    static constexpr int threads = Threads;
    static constexpr int slots = slots_of<Make, Post>;
    static constexpr int sums = Threads / Team; ///< of a block
    static constexpr index_t shared = Threads / warp_size * static_cast<index_t>(sizeof(float));
    static constexpr index_t blocks(index_t capacity) { return divide_up((Post::batched ? capacity : 1) * Post::count, sums); }

    template <class C>
    __device__ static void run(C const& c, index_t block, std::byte* memory) {
        auto* const results = reinterpret_cast<float*>(memory);
        index_t const end = Post::batched ? c.samples * Post::count : Post::count;
        index_t const first = block * sums, mine = first + (Team == Threads ? 0 : warp_number());
        float sum = 0;
        if (mine < end) {
            index_t const sample = Post::batched ? mine / Post::count : 0;
            auto const at = static_cast<typename Post::Index>(mine - sample * Post::count);
            index_t const terms = Make::terms(c.samples);
            for (index_t t = thread_number() % Team; t < terms; t += Team) sum += Make::term(c, sample, at, t);
        }
        if constexpr (Team == Threads) {
            sum = block_sum<Threads>(sum, results);
        } else { // the block's sums go on side by side, so that the program's memory is touched in one line
            sum = warp_sum(sum);
            if (lane_number() == 0) results[warp_number()] = sum;
            __syncthreads();
            if (thread_number() < sums) sum = results[thread_number()];
        }
        index_t const result = first + thread_number();
        if (thread_number() < sums && result < end) {
            index_t const sample = Post::batched ? result / Post::count : 0;
            Post::run(c, sample, static_cast<typename Post::Index>(result - sample * Post::count), sum);
        }
    }
};

/// The team for sums of so many terms.
[[nodiscard]] constexpr int team_for(int threads, index_t terms) { return terms >= 4096 ? threads : warp_size; }

} // namespace tenon::cuda
