// The instructions of cuda/mma.hpp, each as its comment describes it. Most came with compute capability 8.0: kernels for older devices
// are empty, and not launched.
#include "tile_testing.cuh"

#include <cstring>

namespace mma_testing {

using namespace tenon::cuda;

/// d [16, 8] = a [16, 8] b [8, 8], lanes loading what multiply_tf32 says they hold.
__global__ void product_tf32(float const* a, float const* b, float* d) {
    if constexpr (has_architecture<80>) {
        auto const lane = static_cast<int>(threadIdx.x);
        int const g = lane / 4, t = lane % 4;
        std::uint32_t const x[4] = {to_tf32(a[g * 8 + t]), to_tf32(a[(g + 8) * 8 + t]), to_tf32(a[g * 8 + t + 4]), to_tf32(a[(g + 8) * 8 + t + 4])};
        std::uint32_t const y[2] = {to_tf32(b[t * 8 + g]), to_tf32(b[(t + 4) * 8 + g])};
        float sum[4] = {0, 0, 0, 0};
        multiply_tf32(sum[0], sum[1], sum[2], sum[3], x, y);
        for (int i = 0; i < 4; ++i) d[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = sum[i];
    }
}

/// d [16, 8] = a [16, 16] b [16, 8]
__global__ void product_bf16(float const* a, float const* b, float* d) {
    if constexpr (has_architecture<80>) {
        auto const lane = static_cast<int>(threadIdx.x);
        int const g = lane / 4, t = lane % 4;
        float const *const row = a + g * 16 + 2 * t, *const column = b + 2 * t * 8 + g;
        std::uint32_t const x[4] = {to_bf16_pair(row[0], row[1]), to_bf16_pair(row[8 * 16], row[8 * 16 + 1]), to_bf16_pair(row[8], row[9]),
                                    to_bf16_pair(row[8 * 16 + 8], row[8 * 16 + 9])};
        std::uint32_t const y[2] = {to_bf16_pair(column[0], column[8]), to_bf16_pair(column[8 * 8], column[9 * 8])};
        float sum[4] = {0, 0, 0, 0};
        multiply_bf16(sum[0], sum[1], sum[2], sum[3], x, y);
        for (int i = 0; i < 4; ++i) d[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = sum[i];
    }
}

__global__ void round_to_tf32(float const* from, std::uint32_t* to) {
    if constexpr (has_architecture<80>) to[threadIdx.x] = to_tf32(from[threadIdx.x]);
}

/// Copies 32 floats in pieces of `Floats`, of which those from `count` on are outside.
template <int Floats>
__global__ void copy_pieces(float const* from, float* to, int count) {
    if constexpr (has_architecture<80>) {
        alignas(16) __shared__ float line[32];
        auto const thread = static_cast<int>(threadIdx.x);
        if (thread * Floats < 32) copy_async<4 * Floats>(line + thread * Floats, from + thread * Floats, thread * Floats < count);
        commit_copies();
        wait_for_copies<0>();
        __syncthreads();
        to[thread] = line[31 - thread];
    }
}

__global__ void matrices(std::uint32_t* to) {
    alignas(16) __shared__ std::uint16_t rows[32][8];
    auto const lane = static_cast<int>(threadIdx.x);
    for (int i = 0; i < 8; ++i) rows[lane][i] = static_cast<std::uint16_t>(lane * 8 + i);
    __syncwarp();
    std::uint32_t d[4];
    load_matrices(d, rows[lane]);
    for (int m = 0; m < 4; ++m) to[m * 32 + lane] = d[m];
}

} // namespace mma_testing

using namespace tile_testing;
using namespace mma_testing;

TEST_CASE("tensor-core products take and give what they say") {
    if (!on_this_device<tile::Tf32>()) return;
    auto const a = random_floats(16 * 16, 1), b = random_floats(16 * 8, 2);
    OnDevice<float> const device_a{a}, device_b{b}, tf32{poison(128)}, bf16{poison(128)};
    product_tf32<<<1, 32>>>(device_a.data(), device_b.data(), tf32.data());
    CHECK(relative_error(tf32.host(), product({a.begin(), a.begin() + 128}, transposed({b.begin(), b.begin() + 64}, 8, 8), 16, 8, 8)) < 1e-3);
    product_bf16<<<1, 32>>>(device_a.data(), device_b.data(), bf16.data());
    CHECK(relative_error(bf16.host(), product(a, transposed(b, 16, 8), 16, 8, 16)) < 1e-2);
}

TEST_CASE("tf32 is the nearest, and NaN stays NaN") {
    if (!on_this_device<tile::Tf32>()) return;
    std::vector<float> values(32, 1.0f);
    values[0] = 1.0f + 0x1p-11f;           // a tie: away from zero
    values[1] = -(1.0f + 0x1.8p-11f);
    values[2] = 1.0f + 0x1.8p-12f;         // below the tie
    std::uint32_t const nan = 0x7fffffffu; // all ones: adding to it would carry into the sign
    std::memcpy(&values[3], &nan, sizeof nan);
    OnDevice<float> const from{values};
    OnDevice<std::uint32_t> const to{std::vector<std::uint32_t>(32, 0u)};
    round_to_tf32<<<1, 32>>>(from.data(), to.data());
    auto const bits = to.host();
    auto const value = [&](std::size_t i) {
        std::uint32_t const kept = bits[i] & 0xffffe000u;
        float v;
        std::memcpy(&v, &kept, sizeof v);
        return v;
    };
    CHECK(value(0) == 1.0f + 0x1p-10f);
    CHECK(value(1) == -(1.0f + 0x1p-10f));
    CHECK(value(2) == 1.0f);
    CHECK(std::isnan(value(3)));
}

TEST_CASE("asynchronous copies write zeros for what is outside") {
    if (!on_this_device<tile::Tf32>()) return;
    auto const values = random_floats(32, 3);
    OnDevice<float> const from{values};
    auto const check = [&](auto kernel) {
        OnDevice<float> const to{poison(32)};
        kernel<<<1, 32>>>(from.data(), to.data(), 20);
        auto const got = to.host();
        for (std::size_t i = 0; i < 32; ++i) CHECK(got[31 - i] == (i < 20 ? values[i] : 0.0f));
    };
    check(copy_pieces<1>);
    check(copy_pieces<2>);
    check(copy_pieces<4>);
}

TEST_CASE("matrix loads") {
    OnDevice<std::uint32_t> const to{std::vector<std::uint32_t>(128, 0u)};
    matrices<<<1, 32>>>(to.data());
    auto const got = to.host();
    for (std::uint32_t m = 0; m < 4; ++m)
        for (std::uint32_t lane = 0; lane < 32; ++lane) {
            std::uint32_t const low = m * 64 + lane / 4 * 8 + lane % 4 * 2;
            CHECK(got[m * 32 + lane] == (low | (low + 1) << 16));
        }
}
