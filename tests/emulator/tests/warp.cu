// Instructions of a warp and barriers of a block.
#include "check.cuh"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void shuffles(int* out) {
    int const lane = threadIdx.x;
    int* const o = out + 12 * lane;
    o[0] = __shfl_sync(~0u, lane * 10, 5);
    o[1] = __shfl_up_sync(~0u, lane, 3);
    o[2] = __shfl_down_sync(~0u, lane, 3, 8);
    o[3] = __shfl_xor_sync(~0u, lane, 6);
    o[4] = __shfl_sync(~0u, lane, 3, 4);
    o[5] = static_cast<int>(__ballot_sync(~0u, lane % 3 == 0));
    o[6] = __any_sync(~0u, lane == 7) + 2 * __all_sync(~0u, lane < 32) + 4 * __all_sync(~0u, lane < 31);
    o[7] = static_cast<int>(__match_any_sync(~0u, lane / 5));
    int same = 0;
    o[8] = static_cast<int>(__match_all_sync(~0u, 42, &same)) + same;
    o[9] = -1;
    if (lane & 1) o[9] = __shfl_xor_sync(0xaaaaaaaau, lane, 2); // half of the warp, with its true mask
    double const d = __shfl_down_sync(~0u, lane + 0.5, 1);      // 64 bits: two shuffles
    o[10] = static_cast<int>(2 * d);
#if __CUDA_ARCH__ >= 800
    o[11] = __reduce_add_sync(~0u, lane) + __reduce_max_sync(~0u, lane - 40) +
            static_cast<int>(__reduce_xor_sync(~0u, 1u << lane) != ~0u);
#else
    o[11] = 496 - 9;
#endif
}

void test_shuffles() {
    check::Device<int> output(std::size_t{12 * 32});
    shuffles<<<1, 32>>>(output.data());
    auto const out = output.host();
    bool good[12];
    for (bool& g : good) g = true;
    for (int l = 0; l < 32; ++l) {
        unsigned thirds = 0, group = 0;
        for (int i = 0; i < 32; ++i) thirds |= i % 3 == 0 ? 1u << i : 0, group |= i / 5 == l / 5 ? 1u << i : 0;
        int const want[12] = {50,
                              l < 3 ? l : l - 3,
                              l % 8 + 3 < 8 ? l + 3 : l,
                              l ^ 6,
                              l / 4 * 4 + 3,
                              static_cast<int>(thirds),
                              3,
                              static_cast<int>(group),
                              0,
                              l & 1 ? l ^ 2 : -1,
                              l < 31 ? 2 * l + 3 : 63,
                              496 - 9};
        for (int k = 0; k < 12; ++k) good[k] &= out[12 * l + k] == want[k];
    }
    for (bool g : good) CHECK(g);
}

/// A last warp that is not full, and votes of a whole block.
__global__ void votes(int* out) {
    int const t = threadIdx.x;
    unsigned const mask = t < 64 ? ~0u : (1u << (blockDim.x - 64)) - 1;
    int const sum = __popc(__ballot_sync(mask, t & 1));
    int const count = __syncthreads_count(t % 3 == 0), every = __syncthreads_and(t < 1000),
              any = __syncthreads_or(t == 70);
    if (t == 71) out[0] = sum, out[1] = count, out[2] = every, out[3] = any;
}

void test_votes() {
    check::Device<int> output(std::size_t{4});
    votes<<<1, 72>>>(output.data());
    auto const out = output.host();
    CHECK(out[0] == 4 && out[1] == 24 && out[2] == 1 && out[3] == 1);
}

/// Producer warps arrive, a consumer warp waits: named barriers with counts.
__global__ void named_barriers(int* out) {
    __shared__ int box[64];
    int const t = threadIdx.x;
    if (t < 64) {
        box[t] = t * t;
        asm volatile("bar.arrive 1, 96;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 96;" ::: "memory");
        out[t - 64] = box[t - 64] + box[t - 32];
    }
}

void test_named_barriers() {
    check::Device<int> output(std::size_t{32});
    named_barriers<<<1, 96>>>(output.data());
    auto const out = output.host();
    bool good = true;
    for (int i = 0; i < 32; ++i) good &= out[i] == i * i + (i + 32) * (i + 32);
    CHECK(good);
}

__global__ void tiles(int const* in, int* out) {
    auto const block = cg::this_thread_block();
    auto const tile = cg::tiled_partition<8>(block);
    int value = in[block.thread_rank()];
    for (int offset = 4; offset; offset /= 2) value += tile.shfl_down(value, offset);
    if (tile.thread_rank() == 0) out[block.thread_rank() / 8] = value;
}

void test_tiles() {
    std::vector<int> in(64);
    for (int i = 0; i < 64; ++i) in[i] = i * i;
    check::Device<int> input(in), output(std::size_t{8});
    tiles<<<1, 64>>>(input.data(), output.data());
    auto const out = output.host();
    bool good = true;
    for (int g = 0; g < 8; ++g) {
        int sum = 0;
        for (int i = 0; i < 8; ++i) sum += in[8 * g + i];
        good &= out[g] == sum;
    }
    CHECK(good);
}

/// The whole grid meets: every block reads what all others wrote.
__global__ void grid_phases(int* data, int rounds) {
    auto const grid = cg::this_grid();
    int const i = static_cast<int>(grid.thread_rank()), n = static_cast<int>(grid.num_threads());
    data[i] = i;
    for (int r = 0; r < rounds; ++r) {
        grid.sync();
        int const next = data[(i + 1) % n];
        grid.sync();
        data[i] = next;
    }
}

void test_grid() {
    check::Device<int> data(std::size_t{6 * 64});
    int rounds = 3;
    int* pointer = data.data();
    void* arguments[] = {&pointer, &rounds};
    CHECK_CUDA(
        cudaLaunchCooperativeKernel(reinterpret_cast<void*>(grid_phases), dim3(6), dim3(64), arguments, 0, nullptr));
    auto const out = data.host();
    bool good = true;
    for (int i = 0; i < 6 * 64; ++i) good &= out[i] == (i + rounds) % (6 * 64);
    CHECK(good);
}

int main() {
    test_shuffles();
    test_votes();
    test_named_barriers();
    test_tiles();
    test_grid();
    return check::summary();
}
