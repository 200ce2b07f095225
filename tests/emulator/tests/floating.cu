// Floating point: functions, rounding modes, NaN, conversions, and the half formats against CUDA's host
// implementations.
#include "check.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cfenv>
#include <cstdint>
#include <cstring>

__global__ void functions(float const* x, float* y, int n) {
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float const v = x[i], p = fabsf(v) + 0.1f;
    float* const out = y + 24 * i;
    out[0] = expf(v), out[1] = tanhf(v), out[2] = logf(p), out[3] = sqrtf(p), out[4] = erff(v), out[5] = sinf(v),
    out[6] = powf(p, 1.5f);
    out[7] = v / 3.0f, out[8] = rsqrtf(p), out[9] = floorf(v), out[10] = log1pf(p), out[11] = __expf(v),
    out[12] = __logf(p), out[13] = __fdividef(v, p);
    out[14] = rintf(v), out[15] = truncf(v), out[16] = roundf(v), out[17] = fmodf(v, 0.7f), out[18] = cbrtf(v),
    out[19] = atan2f(v, p);
    out[20] = static_cast<float>(exp(static_cast<double>(v))),
    out[21] = static_cast<float>(sqrt(static_cast<double>(p))), out[22] = ldexpf(v, 3), out[23] = __saturatef(v);
}

void test_functions() {
    constexpr int n = 200;
    auto x = check::random_floats(n, 1, -4, 4);
    check::Device<float> input(x), output(std::size_t{24 * n});
    functions<<<4, 64>>>(input.data(), output.data(), n);
    auto const y = output.host();
    for (int k = 0; k < 24; ++k) {
        double worst = 0;
        for (int i = 0; i < n; ++i) {
            double const v = x[i], p = std::fabs(v) + 0.1f;
            double const want[] = {std::exp(v),
                                   std::tanh(v),
                                   std::log(p),
                                   std::sqrt(p),
                                   std::erf(v),
                                   std::sin(v),
                                   std::pow(p, 1.5),
                                   v / 3,
                                   1 / std::sqrt(p),
                                   std::floor(v),
                                   std::log1p(p),
                                   std::exp(v),
                                   std::log(p),
                                   v / p,
                                   std::nearbyint(v),
                                   std::trunc(v),
                                   std::round(v),
                                   std::fmod(v, 0.7f),
                                   std::cbrt(v),
                                   std::atan2(v, p),
                                   std::exp(v),
                                   std::sqrt(p),
                                   v * 8,
                                   v < 0   ? 0
                                   : v > 1 ? 1
                                           : v};
            worst = std::fmax(worst, std::fabs(y[24 * i + k] - want[k]) / (1 + std::fabs(want[k])));
        }
        if (!(worst < 2e-6)) std::printf("function %d: error %g\n", k, worst);
        CHECK(worst < 2e-6);
    }
}

__global__ void rounding(float a, float b, float c, float* y) {
    y[0] = __fadd_rz(a, b), y[1] = __fadd_ru(a, b), y[2] = __fadd_rd(a, b), y[3] = __fmul_rz(a, c),
    y[4] = __fmaf_ru(a, b, c), y[5] = __fdiv_rd(a, c);
    y[6] = __fsqrt_ru(b), y[7] = __frcp_rz(c), y[8] = __int2float_rz(0x7fffff81),
    y[9] = __double2float_ru(1.0000000001);
    y[10] = __fmaf_rn(a, b, -a * b);
}

void test_rounding() {
    float volatile a = 1.2345678f, b = 1e-4f, c = -3.3333f;
    check::Device<float> output(std::size_t{11});
    rounding<<<1, 1>>>(a, b, c, output.data());
    auto const y = output.host();
    auto const in_mode = [](int mode, auto operation) {
        std::fesetround(mode);
        float volatile const r = operation();
        std::fesetround(FE_TONEAREST);
        return static_cast<float>(r);
    };
    CHECK(y[0] == in_mode(FE_TOWARDZERO, [&] { return a + b; }));
    CHECK(y[1] == in_mode(FE_UPWARD, [&] { return a + b; }));
    CHECK(y[2] == in_mode(FE_DOWNWARD, [&] { return a + b; }));
    CHECK(y[1] > y[2]);
    CHECK(y[3] == in_mode(FE_TOWARDZERO, [&] { return a * c; }));
    CHECK(y[4] == in_mode(FE_UPWARD, [&] { return static_cast<float>(static_cast<double>(a) * b + c); }));
    CHECK(y[5] == in_mode(FE_DOWNWARD, [&] { return a / c; }));
    CHECK(y[6] == in_mode(FE_UPWARD, [&] { return std::sqrt(static_cast<float>(b)); }));
    CHECK(y[7] == in_mode(FE_TOWARDZERO, [&] { return 1.0f / c; }));
    CHECK(y[8] == 2147483520.0f);
    CHECK(y[9] == std::nextafter(1.0f, 2.0f));
    CHECK(y[10] == std::fma(static_cast<float>(a), static_cast<float>(b), -a * b));
}

__global__ void not_a_number(float nan, float x, float* y, int* flags) {
    y[0] = fmaxf(nan, x), y[1] = fminf(x, nan), y[2] = x > nan ? 1.f : 2.f;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(y[3]) : "f"(nan), "f"(x));
    asm("add.ftz.f32 %0, %1, %2;" : "=f"(y[4]) : "f"(1e-40f), "f"(0.f));
    asm("add.f32 %0, %1, %2;" : "=f"(y[5]) : "f"(1e-40f), "f"(0.f));
    asm("mul.sat.f32 %0, %1, %2;" : "=f"(y[6]) : "f"(nan), "f"(x));
    flags[0] = nan == nan, flags[1] = nan != nan, flags[2] = isnan(nan), flags[3] = !(x < nan),
    flags[4] = static_cast<int>(nan), flags[5] = static_cast<int>(x * 6e10f);
    flags[6] = static_cast<int>(-2.7f), flags[7] = __float2int_rn(2.5f), flags[8] = __float2int_ru(2.1f),
    flags[9] = static_cast<int>(static_cast<unsigned char>(200.9f));
}

void test_nan() {
    check::Device<float> output(std::size_t{7});
    check::Device<int> flags(std::size_t{10});
    not_a_number<<<1, 1>>>(NAN, 0.5f, output.data(), flags.data());
    auto const y = output.host();
    auto const f = flags.host();
    CHECK(y[0] == 0.5f && y[1] == 0.5f && y[2] == 2.f && std::isnan(y[3]) && y[4] == 0 && y[5] != 0 && y[6] == 0);
    CHECK(f[0] == 0 && f[1] == 1 && f[2] == 1 && f[3] == 1 && f[4] == 0 && f[5] == 0x7fffffff && f[6] == -2 &&
          f[7] == 2 && f[8] == 3 && f[9] == 200);
}

// ---- half formats

__global__ void narrow(float const* x, __half* h, __nv_bfloat16* b, int n) {
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) h[i] = __float2half_rn(x[i]), b[i] = __float2bfloat16_rn(x[i]);
}

__global__ void widen(std::uint16_t const* patterns, float* h, float* b) {
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    h[i] = __half2float(__ushort_as_half(patterns[i])), b[i] = __bfloat162float(__ushort_as_bfloat16(patterns[i]));
}

template <class T>
std::uint16_t pattern(T value) {
    std::uint16_t p;
    std::memcpy(&p, &value, sizeof p);
    return p;
}

void test_half_conversions() {
    std::vector<std::uint16_t> patterns(65536);
    for (int i = 0; i < 65536; ++i) patterns[i] = static_cast<std::uint16_t>(i);
    check::Device<std::uint16_t> input(patterns);
    check::Device<float> h(std::size_t{65536}), b(std::size_t{65536});
    widen<<<256, 256>>>(input.data(), h.data(), b.data());
    auto const hv = h.host(), bv = b.host();
    bool good = true;
    for (int i = 0; i < 65536; ++i) {
        float const want_h = __half2float(__ushort_as_half(patterns[i])),
                    want_b = __bfloat162float(__ushort_as_bfloat16(patterns[i]));
        good &= (std::isnan(want_h) ? std::isnan(hv[i]) : hv[i] == want_h) &&
                (std::isnan(want_b) ? std::isnan(bv[i]) : bv[i] == want_b);
    }
    CHECK(good);

    std::vector<float> x;
    std::mt19937 generator(3);
    for (int i = 0; i < 20000; ++i) {
        std::uint32_t const bits = generator();
        float v;
        std::memcpy(&v, &bits, 4);
        x.push_back(
            i % 2 ? v
                  : std::ldexp(static_cast<float>(generator() % 4097) / 2, static_cast<int>(generator() % 40) - 30));
    }
    int const n = static_cast<int>(x.size());
    check::Device<float> floats(x);
    check::Device<__half> halves(x.size());
    check::Device<__nv_bfloat16> bfloats(x.size());
    narrow<<<(n + 255) / 256, 256>>>(floats.data(), halves.data(), bfloats.data(), n);
    auto const narrow_h = halves.host();
    auto const narrow_b = bfloats.host();
    for (int i = 0; i < n; ++i)
        good &= std::isnan(x[i]) || (pattern(narrow_h[i]) == pattern(__float2half_rn(x[i])) &&
                                     pattern(narrow_b[i]) == pattern(__float2bfloat16_rn(x[i])));
    CHECK(good);
}

template <class Scalar, class Vector>
__global__ void half_kernel(Vector const* in, Vector* all) {
    Vector const x = in[2 * threadIdx.x], y = in[2 * threadIdx.x + 1];
    Vector* const out = all + 14 * threadIdx.x;
    out[0] = __hadd2(x, y), out[1] = __hsub2(x, y), out[2] = __hmul2(x, y), out[3] = __hfma2(x, y, x),
    out[4] = __hmax2(x, y), out[5] = __hmin2(x, y);
    out[6] = __hneg2(x), out[7] = __habs2(y), out[8] = __h2div(x, y), out[9] = __hlt2(x, y), out[10] = __heq2(x, x);
    Scalar const a = x.x, b = y.y;
    out[11].x = a + b, out[11].y = __hgt(a, b) ? a : b, out[12].x = __hmul(a, b), out[12].y = __hfma(a, b, a),
    out[13] = y, out[13].x = __hmax(a, b);
}

/// The same in double, each result rounded once.
void half_reference(double const (&x)[2], double const (&y)[2], double (&out)[14][2]) {
    for (int i = 0; i < 2; ++i) {
        double const a = x[i], b = y[i];
        double const each[] = {a + b,           a - b,           a * b, std::fma(a, b, a),
                               std::fmax(a, b), std::fmin(a, b), -a,    std::fabs(b),
                               a / b,           a < b ? 1. : 0., 1.};
        for (int k = 0; k < 11; ++k) out[k][i] = each[k];
    }
    double const a = x[0], b = y[1];
    out[11][0] = a + b, out[11][1] = a > b ? a : b, out[12][0] = a * b, out[12][1] = std::fma(a, b, a),
    out[13][0] = std::fmax(a, b), out[13][1] = b;
}

template <class Scalar, class Vector>
void test_half_arithmetic(Scalar (*convert)(double)) {
    auto const values = check::random_floats(4 * 64, 9, -3, 3);
    std::vector<Vector> x(2 * 64);
    for (std::size_t i = 0; i < x.size(); ++i) x[i].x = convert(values[2 * i]), x[i].y = convert(values[2 * i + 1]);
    check::Device<Vector> input(x), output(std::size_t{14 * 64});
    half_kernel<Scalar><<<1, 64>>>(input.data(), output.data());
    auto const y = output.host();
    bool same[14];
    for (bool& s : same) s = true;
    for (int i = 0; i < 64; ++i) {
        double want[14][2];
        half_reference({static_cast<float>(x[2 * i].x), static_cast<float>(x[2 * i].y)},
                       {static_cast<float>(x[2 * i + 1].x), static_cast<float>(x[2 * i + 1].y)}, want);
        // Division is multiplication by an approximate reciprocal on the device: one unit in the last place is allowed.
        for (int k = 0; k < 14; ++k)
            same[k] &= std::abs(pattern(convert(want[k][0])) - pattern(y[14 * i + k].x)) <= (k == 8) &&
                       std::abs(pattern(convert(want[k][1])) - pattern(y[14 * i + k].y)) <= (k == 8);
    }
    for (int k = 0; k < 14; ++k) {
        if (!same[k]) std::printf("half operation %d differs\n", k);
        CHECK(same[k]);
    }
}

int main() {
    test_functions();
    test_rounding();
    test_nan();
    test_half_conversions();
    test_half_arithmetic<__half, __half2>([](double v) { return __double2half(v); });
#if TEST_ARCH >= 80
    test_half_arithmetic<__nv_bfloat16, __nv_bfloat162>([](double v) { return __double2bfloat16(v); });
#endif
    return check::summary();
}
