/// @file
/// Sums over blocks that share the depth of one tile. Whoever arrives last adds up, in the blocks' order: the same bits whatever
/// the order of arrival, and no atomics on floats.
#pragma once

#include <tenon/cuda/block.hpp>
#include <tenon/cuda/tile/shape.hpp>

#include <cuda_runtime.h>

namespace tenon::cuda::tile {

/// Where blocks meet. `arrived` is zero before the first launch that uses it, and again after each.
struct Meeting {
    float* partial = nullptr;
    unsigned* arrived = nullptr;
};

/// `Splits` blocks, in groups of at most `fan`: with many, the last of each group adds up its group, the last of those the groups.
template <int Splits, int Sums, int Threads>
struct Gathering {
    static constexpr int fan = 16;
    static constexpr int groups = Splits <= fan ? 1 : static_cast<int>(divide_up(Splits, fan));
    static constexpr index_t floats = Splits == 1 ? 0 : index_t{Splits} * Sums * Threads; ///< of `partial`, for each tile
    static constexpr int counters = Splits == 1 ? 0 : (groups == 1 ? 1 : groups + 1);     ///< of `arrived`, for each tile

    /// Leaves the sum over all splits in `sum` of the block that is to go on, and says whether this is the one. All threads of the
    /// block call it; the first `Threads` of them hold sums.
    /// @param flag one word of shared memory
    __device__ static bool gather(float* sum, Meeting const& meeting, index_t tile, int split, bool holds, unsigned* flag) {
        float* const mine = meeting.partial + tile * floats;
        unsigned* const arrived = meeting.arrived + tile * counters;
        int const group = split / fan, first = group * fan, members = Splits - first < fan ? Splits - first : fan;
        if (!meet(sum, mine, split, first, 1, groups == 1 ? Splits : members, arrived + group, holds, flag)) return false;
        if constexpr (groups > 1) return meet(sum, mine, first, 0, fan, groups, arrived + groups, holds, flag);
        return true;
    }

private:
    static_assert(Splits <= fan * fan);

    __device__ static bool meet(float* sum, float* partial, int own, int first, int step, int members, unsigned* arrived, bool holds, unsigned* flag) {
        int const thread = static_cast<int>(threadIdx.x);
        if (holds) {
#pragma unroll
            for (int i = 0; i < Sums; ++i) partial[(index_t{own} * Sums + i) * Threads + thread] = sum[i];
        }
        __threadfence();
        __syncthreads();
        if (thread == 0) *flag = atomicInc(arrived, static_cast<unsigned>(members - 1)); // wraps to zero for the next launch
        __syncthreads();
        bool const last = *flag == static_cast<unsigned>(members - 1);
        if (!last) return false;
        __threadfence();
        if (holds) {
#pragma unroll
            for (int i = 0; i < Sums; ++i) sum[i] = 0;
#pragma unroll 1
            for (int m = 0; m < members; ++m) {
                float const* const from = partial + index_t{first + m * step} * Sums * Threads + thread;
#pragma unroll
                for (int i = 0; i < Sums; ++i) sum[i] += load_shared_by_blocks(from + i * Threads);
            }
        }
        __syncthreads(); // before the flag is used again
        return true;
    }
};

} // namespace tenon::cuda::tile
