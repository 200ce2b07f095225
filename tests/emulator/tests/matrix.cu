// Tensor-core products, matrix loads and asynchronous copies.
#include "check.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

namespace {

template <class To, class From>
__host__ __device__ To bits(From from) {
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

struct Tf32 {
    using Scalar = float;
};
struct Bf16 {
    using Scalar = __nv_bfloat16;
};
struct Fp16 {
    using Scalar = __half;
};

#if defined(__CUDA_ARCH__)
#define DEVICE_ARCH __CUDA_ARCH__
#else
#define DEVICE_ARCH 0
#endif

/// d += a b for one warp: a is 16 x k, b is k x 8, both in registers as PTX lays them out.
template <class Format, int K>
__device__ void product(float (&d)[4], std::uint32_t const* a, std::uint32_t const* b) {
#define OUT "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
#define A4 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])
#define A2 "r"(a[0]), "r"(a[1]), "r"(b[0])
#define LONG " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
#define SHORT " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
#if DEVICE_ARCH >= 800
    if constexpr (std::is_same_v<Format, Tf32> && K == 8)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32" LONG:OUT : A4);
    if constexpr (std::is_same_v<Format, Tf32> && K == 4)
        asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32" SHORT:OUT : A2);
    if constexpr (std::is_same_v<Format, Bf16> && K == 16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" LONG:OUT : A4);
    if constexpr (std::is_same_v<Format, Bf16> && K == 8)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32" SHORT:OUT : A2);
    if constexpr (std::is_same_v<Format, Fp16> && K == 16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" LONG:OUT : A4);
#endif
    if constexpr (std::is_same_v<Format, Fp16> && K == 8)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32" SHORT:OUT : A2);
}

/// Rows of a (row-major, 16 x K) and columns of b (column-major, 8 x K), read straight from memory.
template <class Format, int K>
__global__ void multiply(typename Format::Scalar const* a, typename Format::Scalar const* b, float* c) {
    constexpr int per_register = 4 / sizeof(typename Format::Scalar), columns = 4 * per_register;
    int const group = threadIdx.x / 4, member = threadIdx.x % 4;
    std::uint32_t ra[4] = {}, rb[2] = {};
    for (int step = 0; step < K / columns; ++step) {
        int const k = step * columns + member * per_register;
        for (int rows = 0; rows < 2; ++rows)
            ra[2 * step + rows] = *reinterpret_cast<std::uint32_t const*>(a + (group + 8 * rows) * K + k);
        rb[step] = *reinterpret_cast<std::uint32_t const*>(b + group * K + k);
    }
    float d[4] = {1, 1, 1, 1};
    product<Format, K>(d, ra, rb);
    for (int i = 0; i < 4; ++i) c[(group + 8 * (i / 2)) * 8 + 2 * member + i % 2] = d[i];
}

template <class Format, int K, class Convert>
void test_product(Convert convert) {
    auto const x = check::random_floats(24 * K, K);
    std::vector<typename Format::Scalar> a, b;
    for (int i = 0; i < 16 * K; ++i) a.push_back(convert(x[i]));
    for (int i = 0; i < 8 * K; ++i) b.push_back(convert(x[16 * K + i]));
    check::Device<typename Format::Scalar> da(a), db(b);
    check::Device<float> dc(std::size_t{128});
    multiply<Format, K><<<1, 32>>>(da.data(), db.data(), dc.data());
    auto const c = dc.host();
    bool good = true;
    for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 8; ++j) {
            double sum = 1;
            for (int k = 0; k < K; ++k)
                sum += static_cast<double>(static_cast<float>(a[i * K + k])) * static_cast<float>(b[j * K + k]);
            good &= check::near(c[8 * i + j], sum, 1e-6);
        }
    CHECK(good);
}

/// Accumulators in half, two to a register.
__global__ void multiply_half(__half const* a, __half const* b, __half* c) {
    int const group = threadIdx.x / 4, member = threadIdx.x % 4;
    std::uint32_t const a0 = *reinterpret_cast<std::uint32_t const*>(a + group * 8 + 2 * member),
                        a1 = *reinterpret_cast<std::uint32_t const*>(a + (group + 8) * 8 + 2 * member),
                        b0 = *reinterpret_cast<std::uint32_t const*>(b + group * 8 + 2 * member);
    std::uint32_t d[2] = {0, 0};
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a0), "r"(a1), "r"(b0));
    for (int i = 0; i < 2; ++i) *reinterpret_cast<std::uint32_t*>(c + (group + 8 * i) * 8 + 2 * member) = d[i];
}

void test_half_accumulators() {
    auto const x = check::random_floats(24 * 8, 4);
    std::vector<__half> a, b;
    for (int i = 0; i < 128; ++i) a.push_back(__float2half_rn(x[i]));
    for (int i = 0; i < 64; ++i) b.push_back(__float2half_rn(x[128 + i]));
    check::Device<__half> da(a), db(b), dc(std::size_t{128});
    multiply_half<<<1, 32>>>(da.data(), db.data(), dc.data());
    auto const c = dc.host();
    bool good = true;
    for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 8; ++j) {
            double sum = 0;
            for (int k = 0; k < 8; ++k)
                sum += static_cast<double>(__half2float(a[i * 8 + k])) * __half2float(b[j * 8 + k]);
            good &= check::near(__half2float(c[8 * i + j]), sum, 1e-3);
        }
    CHECK(good);
}

__device__ std::uint32_t shared_address(void const* p) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// Four 8x8 matrices straight and transposed, and back to memory where stmatrix exists.
__global__ void matrices(std::uint16_t* straight, std::uint16_t* transposed, std::uint16_t* stored) {
    __shared__ __align__(16) std::uint16_t tile[4][8][8];
    int const lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) (&tile[0][0][0])[i] = static_cast<std::uint16_t>(i);
    __syncwarp();
    std::uint32_t r[4], t[4];
    std::uint32_t const row = shared_address(&tile[lane / 8][lane % 8][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(t[0]), "=r"(t[1]), "=r"(t[2]), "=r"(t[3])
                 : "r"(row));
    for (int m = 0; m < 4; ++m)
        for (int h = 0; h < 2; ++h) {
            int const at = m * 64 + (lane / 4) * 8 + 2 * (lane % 4) + h;
            straight[at] = static_cast<std::uint16_t>(r[m] >> 16 * h),
            transposed[at] = static_cast<std::uint16_t>(t[m] >> 16 * h);
        }
    __syncwarp();
#if DEVICE_ARCH >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(row), "r"(r[0]), "r"(r[1]),
                 "r"(r[2]), "r"(r[3])
                 : "memory");
#else
    for (int i = lane; i < 256; i += 32)
        (&tile[0][0][0])[i] = static_cast<std::uint16_t>(i / 64 * 64 + i % 8 * 8 + i / 8 % 8);
#endif
    __syncwarp();
    for (int i = lane; i < 256; i += 32) stored[i] = (&tile[0][0][0])[i];
}

void test_matrices() {
    check::Device<std::uint16_t> straight(std::size_t{256}), transposed(std::size_t{256}), stored(std::size_t{256});
    matrices<<<1, 32>>>(straight.data(), transposed.data(), stored.data());
    auto const s = straight.host(), t = transposed.host(), m = stored.host();
    bool good = true;
    for (int i = 0; i < 256; ++i) {
        int const flipped = i / 64 * 64 + i % 8 * 8 + i / 8 % 8;
        good &= s[i] == i && t[i] == flipped && m[i] == flipped;
    }
    CHECK(good);
}

#if TEST_ARCH >= 80
/// A pipeline of two stages; past the end of the data the copies write zeros.
__global__ void pipeline(float const* in, float* out, int n, int steps) {
    __shared__ __align__(16) float stage[2][64];
    int const t = threadIdx.x;
    auto const load = [&](int s) {
        int const at = s * 64 + 4 * t;
        if (t < 16)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(&stage[s % 2][4 * t])),
                         "l"(in + at), "r"(at < n ? 16 : 0)
                         : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    load(0);
    float sum = 0;
    for (int s = 0; s < steps; ++s) {
        if (s + 1 < steps) load(s + 1);
        if (s + 1 < steps) asm volatile("cp.async.wait_group 1;" ::: "memory");
        else asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
        sum += stage[s % 2][63 - t];
        __syncthreads();
    }
    out[t] = sum;
}

void test_pipeline() {
    constexpr int steps = 5, n = 64 * 4 + 24;
    auto const x = check::random_floats(n, 8);
    check::Device<float> input(x), output(std::size_t{64});
    pipeline<<<1, 64>>>(input.data(), output.data(), n, steps);
    auto const y = output.host();
    bool good = true;
    for (int t = 0; t < 64; ++t) {
        float sum = 0;
        for (int s = 0; s < steps; ++s) sum += 64 * s + 63 - t < n ? x[64 * s + 63 - t] : 0;
        good &= y[t] == sum;
    }
    CHECK(good);
}
#endif

} // namespace

int main() {
    test_product<Fp16, 8>([](float v) { return __float2half_rn(v); });
#if TEST_ARCH >= 80
    auto const tf32 = [](float v) { return bits<float>(bits<std::uint32_t>(v) & 0xffffe000u); };
    test_product<Tf32, 8>(tf32);
    test_product<Tf32, 4>(tf32);
    test_product<Bf16, 16>([](float v) { return __float2bfloat16_rn(v); });
    test_product<Bf16, 8>([](float v) { return __float2bfloat16_rn(v); });
    test_product<Fp16, 16>([](float v) { return __float2half_rn(v); });
    test_pipeline();
#endif
    test_half_accumulators();
    test_matrices();
    return check::summary();
}
