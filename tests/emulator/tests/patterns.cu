// Right programs that look suspicious: no mode may report them, whatever the order of the threads.
#include "check.cuh"

#include <cooperative_groups.h>

namespace {

/// Each block's sum is published with a fence; the last block to arrive adds them up (as in CUDA's
/// threadFenceReduction sample).
__global__ void last_block_sums(float const* x, float* partial, unsigned* arrived, float* out) {
    __shared__ float tile[64];
    __shared__ bool last;
    int const t = threadIdx.x;
    tile[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    for (int half = 32; half; half /= 2) {
        if (t < half) tile[t] += tile[t + half];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = tile[0];
        __threadfence();
        last = atomicAdd(arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        float sum = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) sum += *static_cast<float volatile*>(partial + b);
        *out = sum;
    }
}

/// Every thread writes the same value: a race in C++, a common idiom here.
__global__ void any_negative(float const* x, int* flag, int n) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (x[blockIdx.x * blockDim.x + threadIdx.x] < 0) found = 1;
    __syncthreads();
    if (threadIdx.x == 0 && found) *flag = 1;
}

/// One barrier a round is enough with two buffers.
__global__ void double_buffer(float* x, int rounds) {
    __shared__ float buffer[2][64];
    int const t = threadIdx.x;
    float value = x[t];
    for (int r = 0; r < rounds; ++r) {
        buffer[r % 2][t] = value;
        __syncthreads();
        value = buffer[r % 2][(t + 1) % 64];
    }
    x[t] = value;
}

/// Warps meet among themselves only; bytes of one word belong to different threads.
__global__ void transpose_bytes(unsigned char const* x, unsigned char* y) {
    __shared__ unsigned char tile[2][32];
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    tile[warp][lane] = x[threadIdx.x];
    __syncwarp();
    unsigned char const mine = tile[warp][31 - lane];
    __syncwarp();
    tile[warp][lane] = static_cast<unsigned char>(mine + 1);
    __syncwarp();
    y[threadIdx.x] = tile[warp][lane ^ 16];
}

/// A lock in global memory.
__global__ void locked(int* lock, int* value) {
    if (threadIdx.x != 0) return;
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
    __threadfence();
    *static_cast<int volatile*>(value) = *static_cast<int volatile*>(value) + 1;
    __threadfence();
    atomicExch(lock, 0);
}

/// A block waits for the one before it, which the scheduler may have put after it.
__global__ void chain(int volatile* flags, int volatile* sums) {
    if (threadIdx.x != 0) return;
    int const b = static_cast<int>(blockIdx.x);
    int before = 0;
    if (b > 0) {
        while (flags[b - 1] == 0) __nanosleep(10);
        __threadfence();
        before = sums[b - 1];
    }
    sums[b] = before + b;
    __threadfence();
    flags[b] = 1;
}

/// The lanes of a branch find each other.
__global__ void aggregated(int const* x, int* count) {
    namespace cg = cooperative_groups;
    if (x[threadIdx.x] % 3 == 0) {
        cg::coalesced_group const active = cg::coalesced_threads();
        if (active.thread_rank() == 0) atomicAdd(count, static_cast<int>(active.size()));
    }
}

/// Both halves of a warp use their own masks, then all lanes meet again.
__global__ void split_warp(int* out) {
    int const lane = threadIdx.x;
    unsigned const mask = lane < 16 ? 0xffffu : 0xffff0000u;
    int value = lane;
    if (lane < 16) value = __shfl_xor_sync(mask, value, 1);
    else value = __shfl_xor_sync(mask, value, 2);
    out[lane] = __shfl_sync(~0u, value, 31 - lane);
}

} // namespace

/// With the argument "strict": without the idiom that ThreadSanitizer reports, because C++ calls it a race.
int main(int argument_count, char**) {
    auto const x = check::random_floats(8 * 64, 6);
    check::Device<float> input(x), partial(std::size_t{8}), out(std::size_t{1});
    check::Device<unsigned> arrived(std::vector<unsigned>{0});
    last_block_sums<<<8, 64>>>(input.data(), partial.data(), arrived.data(), out.data());
    double sum = 0;
    for (float v : x) sum += v;
    CHECK(check::near(out.host()[0], sum, 1e-5));

    check::Device<int> flag(std::vector<int>{0});
    if (argument_count == 1) {
        any_negative<<<8, 64>>>(input.data(), flag.data(), 512);
        CHECK(flag.host()[0] == 1);
    }

    double_buffer<<<1, 64>>>(input.data(), 7);
    CHECK(input.host()[3] == x[10]);

    std::vector<unsigned char> bytes(64);
    for (int i = 0; i < 64; ++i) bytes[i] = static_cast<unsigned char>(3 * i);
    check::Device<unsigned char> from(bytes), to(std::size_t{64});
    transpose_bytes<<<1, 64>>>(from.data(), to.data());
    CHECK(to.host()[2] == bytes[31 - 18] + 1);

    check::Device<int> lock(std::vector<int>{0}), value(std::vector<int>{0});
    locked<<<6, 32>>>(lock.data(), value.data());
    CHECK(value.host()[0] == 6);

    check::Device<int> flags{std::vector<int>(10)}, sums{std::vector<int>(10)};
    chain<<<10, 32>>>(flags.data(), sums.data());
    CHECK(sums.host()[9] == 45);

    std::vector<int> numbers(64);
    for (int i = 0; i < 64; ++i) numbers[i] = i;
    check::Device<int> values(numbers), count(std::vector<int>{0}), lanes(std::size_t{32});
    aggregated<<<1, 64>>>(values.data(), count.data());
    CHECK(count.host()[0] == 22);

    split_warp<<<1, 32>>>(lanes.data());
    CHECK(lanes.host()[0] == (31 ^ 2) && lanes.host()[31] == 1);
    return check::summary();
}
