// Memory: vectors, narrow types, atomics, variables of the device, local arrays, calls, branches, printf.
#include "check.cuh"

#include <cstdint>

__constant__ float scale[4] = {1, 2, 3, 4};
__device__ int counter = 7;
__device__ double table[3] = {0.5, -1.5, 1e300};
__device__ int* pointer_to_counter = &counter;
__managed__ int managed_value = 3;

__global__ void vectors(float4 const* a, uchar4 const* b, double2 const* d, float* out) {
    int const i = threadIdx.x;
    float4 const v = __ldg(a + i);
    float4 const w = __ldcs(a + i);
    uchar4 const u = b[i];
    out[i] = v.x * scale[0] + v.y * scale[1] + v.z * scale[2] + w.w * scale[3] + u.x + 256.f * u.w +
             static_cast<float>(d[i].x + d[i].y);
    __stcg(out + i, out[i] + 1);
}

void test_vectors() {
    std::vector<float4> a(32);
    std::vector<uchar4> b(32);
    std::vector<double2> d(32);
    for (int i = 0; i < 32; ++i) {
        float const f = static_cast<float>(i);
        a[i] = {f, f + 1, f + 2, f + 3};
        b[i] = {static_cast<unsigned char>(i * 9), 1, 2, static_cast<unsigned char>(255 - i)};
        d[i] = {i / 4., i / 8.};
    }
    float const scales[4] = {4, 3, 2, 1};
    CHECK_CUDA(cudaMemcpyToSymbol(scale, scales, sizeof scales));
    check::Device<float4> da(a);
    check::Device<uchar4> db(b);
    check::Device<double2> dd(d);
    check::Device<float> output(std::size_t{32});
    vectors<<<1, 32>>>(da.data(), db.data(), dd.data(), output.data());
    auto const out = output.host();
    bool good = true;
    for (int i = 0; i < 32; ++i)
        good &= out[i] == 4 * a[i].x + 3 * a[i].y + 2 * a[i].z + a[i].w + b[i].x + 256.f * b[i].w +
                              static_cast<float>(d[i].x + d[i].y) + 1;
    CHECK(good);
}

__global__ void atomics(int* i, unsigned* u, float* f, double* d, unsigned long long* l) {
    int const t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&i[0], t), atomicMax(&i[1], t), atomicMin(&i[2], -t), atomicSub(&i[3], 2);
    atomicOr(&u[0], 1u << (t % 32)), atomicAnd(&u[1], ~(1u << (t % 16))), atomicXor(&u[2], 1u << (t % 4)),
        atomicInc(&u[3], 99), atomicDec(&u[4], 9);
    atomicAdd(f, 0.5f), atomicAdd(d, 0.25), atomicAdd(l, 1ull << 33);
    unsigned old = *static_cast<unsigned volatile*>(&u[5]); // a lock-free maximum by compare and swap
    while (old < static_cast<unsigned>(t)) {
        unsigned const seen = atomicCAS(&u[5], old, static_cast<unsigned>(t));
        if (seen == old) break;
        old = seen;
    }
    __shared__ int histogram[8];
    if (threadIdx.x < 8) histogram[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&histogram[t % 8], 1);
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(&i[4 + threadIdx.x], histogram[threadIdx.x]);
}

void test_atomics() {
    check::Device<int> i(std::vector<int>(12));
    check::Device<unsigned> u(std::vector<unsigned>{0, ~0u, 0, 0, 5, 0});
    check::Device<float> f(std::vector<float>{1});
    check::Device<double> d(std::vector<double>{1});
    check::Device<unsigned long long> l(std::vector<unsigned long long>{0});
    atomics<<<4, 64>>>(i.data(), u.data(), f.data(), d.data(), l.data());
    auto const hi = i.host();
    auto const hu = u.host();
    CHECK(hi[0] == 255 * 128 && hi[1] == 255 && hi[2] == -255 && hi[3] == -512);
    CHECK(hu[0] == ~0u && hu[1] == 0xffff0000u && hu[2] == 0 && hu[3] == 56 && hu[4] == 9 && hu[5] == 255);
    CHECK(f.host()[0] == 129 && d.host()[0] == 65 && l.host()[0] == 256ull << 33);
    bool good = true;
    for (int k = 0; k < 8; ++k) good &= hi[4 + k] == 32;
    CHECK(good);
}

__global__ void variables(double* out) {
    out[0] = counter++;
    out[1] = table[0] + table[1], out[2] = table[2], out[3] = *pointer_to_counter, out[4] = managed_value;
}

void test_variables() {
    check::Device<double> output(std::size_t{5});
    variables<<<1, 1>>>(output.data());
    auto const out = output.host();
    CHECK(out[0] == 7 && out[1] == -1 && out[2] == 1e300 && out[3] == 8 && out[4] == 3);
    int after = 0;
    CHECK_CUDA(cudaMemcpyFromSymbol(&after, counter, sizeof after));
    CHECK(after == 8);
    void* address = nullptr;
    std::size_t size = 0;
    CHECK_CUDA(cudaGetSymbolAddress(&address, table));
    CHECK_CUDA(cudaGetSymbolSize(&size, table));
    double copy[3] = {};
    CHECK_CUDA(cudaMemcpy(copy, address, size, cudaMemcpyDeviceToHost));
    CHECK(size == 24 && copy[2] == 1e300);
}

struct Shape {
    __device__ virtual int area(int n) const { return n; }
};
struct Square : Shape {
    __device__ int area(int n) const override { return n * n; }
};

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
struct Triple {
    int a;
    double b;
    char c;
};
__device__ __noinline__ Triple make(int n) { return {n, n / 2., static_cast<char>(n + 1)}; }
__device__ int twice(int n) { return 2 * n; }
__device__ int thrice(int n) { return 3 * n; }

__global__ void calls(int* out) {
    int const t = threadIdx.x;
    Square const square;
    Shape const shape;
    Shape const* const which = t & 1 ? static_cast<Shape const*>(&square) : &shape;
    int (*const function)(int) = t & 1 ? twice : thrice;
    Triple const triple = make(t);
    int local[16];
    for (int i = 0; i < 16; ++i) local[i] = i * t;
    int choice;
    switch (t % 8) {
    case 0: choice = 11; break;
    case 1: choice = t / 3; break;
    case 2: choice = t % 5; break;
    case 3: choice = -t; break;
    case 4: choice = t << 3; break;
    case 5: choice = t ^ 9; break;
    default: choice = 99;
    }
    out[4 * t] = fibonacci(t % 10) + which->area(t),
            out[4 * t + 1] = function(t) + triple.a + static_cast<int>(2 * triple.b) + triple.c;
    out[4 * t + 2] = local[(t * 7) % 16], out[4 * t + 3] = choice;
}

void test_calls() {
    check::Device<int> output(std::size_t{4 * 32});
    calls<<<1, 32>>>(output.data());
    auto const out = output.host();
    int const fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34};
    bool good = true;
    for (int t = 0; t < 32; ++t) {
        int const choices[] = {11, t / 3, t % 5, -t, t << 3, t ^ 9, 99, 99};
        good &= out[4 * t] == fib[t % 10] + (t & 1 ? t * t : t) &&
                out[4 * t + 1] == (t & 1 ? 2 : 3) * t + t + t + t + 1 && out[4 * t + 2] == (t * 7 % 16) * t &&
                out[4 * t + 3] == choices[t % 8];
    }
    CHECK(good);
}

/// A large argument, by value.
struct Big {
    float values[200];
    int count;
};
__global__ void sum(Big const big, float* out) {
    float total = 0;
    for (int i = 0; i < big.count; ++i) total += big.values[i];
    *out = total;
}

void test_arguments() {
    Big big{};
    big.count = 150;
    for (int i = 0; i < 200; ++i) big.values[i] = static_cast<float>(i);
    check::Device<float> output(std::size_t{1});
    sum<<<1, 1>>>(big, output.data());
    CHECK(output.host()[0] == 150 * 149 / 2);
}

__global__ void say(int n) { printf("printed by the device: %d %.2f %s %lld %%\n", n, n / 4., "text", 1ll << 40); }

int main() {
    test_vectors();
    test_atomics();
    test_variables();
    test_calls();
    test_arguments();
    say<<<1, 1>>>(6);
    CHECK_CUDA(cudaDeviceSynchronize());
    return check::summary();
}
