/// @file
/// The elementary functions on what tenon computes with: float and double (host and device) and, in host code, SIMD
/// vectors of them. In namespace tenon::math, so that they never clash with the C library's in a program that says
/// `using namespace tenon`.
///
/// float: own code on the host (one algorithm for scalars and vectors), CUDA's functions on the device; a few ulp
/// either way. double: the C library's, lane by lane.
#pragma once

#include <tenon/core/float_math.hpp>
#include <tenon/core/float_math_wide.hpp>

namespace tenon::math {

#if defined(__CUDA_ARCH__)
#define TENON_HOST_OR_DEVICE(host, device) device
#else
#define TENON_HOST_OR_DEVICE(host, device) host
#endif

/// name(x) for float, double and vectors of them, from single::name and the C library's c_name.
#define TENON_ELEMENTARY(name, c_name)                                                                                 \
    TENON_HOST_DEVICE inline float name(float x) { return TENON_HOST_OR_DEVICE(single::name(x), ::c_name##f(x)); }     \
    TENON_HOST_DEVICE inline double name(double x) { return ::c_name(x); }                                             \
    template <class V>                                                                                                 \
    TENON_ALWAYS_INLINE V name(V x) {                                                                                  \
        static_assert(std::is_floating_point_v<element_t<V>>, #name " of integers: convert to float or double first"); \
        if constexpr (std::is_same_v<element_t<V>, float>) return single::name(x);                                     \
        else return lane_by_lane(x, [](double lane) { return ::c_name(lane); });                                       \
    }
TENON_ELEMENTARY(exp, exp)
TENON_ELEMENTARY(expm1, expm1)
TENON_ELEMENTARY(log, log)
TENON_ELEMENTARY(log1p, log1p)
TENON_ELEMENTARY(sin, sin)
TENON_ELEMENTARY(cos, cos)
TENON_ELEMENTARY(tanh, tanh)
TENON_ELEMENTARY(erf, erf)
TENON_ELEMENTARY(floor, floor)
TENON_ELEMENTARY(ceil, ceil)
TENON_ELEMENTARY(round, rint) // ties to even, as PyTorch rounds
#undef TENON_ELEMENTARY

/// 1 / (1 + exp(-x)), without overflow on either side.
TENON_HOST_DEVICE inline double sigmoid(double x) { return x < 0 ? ::exp(x) / (1 + ::exp(x)) : 1 / (1 + ::exp(-x)); }
TENON_HOST_DEVICE inline float sigmoid(float x) {
    return TENON_HOST_OR_DEVICE(single::sigmoid(x), x < 0 ? ::expf(x) / (1 + ::expf(x)) : 1 / (1 + ::expf(-x)));
}
template <class V>
TENON_ALWAYS_INLINE V sigmoid(V x) {
    if constexpr (std::is_same_v<element_t<V>, float>) return single::sigmoid(x);
    else return lane_by_lane(x, [](double lane) { return math::sigmoid(lane); });
}

/// x^y by C's rules.
TENON_HOST_DEVICE inline double pow(double x, double y) { return ::pow(x, y); }
TENON_HOST_DEVICE inline float pow(float x, float y) { return TENON_HOST_OR_DEVICE(single::pow(x, y), ::powf(x, y)); }
template <class V>
TENON_ALWAYS_INLINE V pow(V x, V y) {
    if constexpr (std::is_same_v<element_t<V>, float>) {
        return single::pow(x, y);
    } else {
        for (int i = 0; i < lanes_of<V>; ++i) x[i] = ::pow(x[i], y[i]);
        return x;
    }
}
#undef TENON_HOST_OR_DEVICE

/// Square root, correctly rounded.
TENON_HOST_DEVICE inline float sqrt(float x) { return ::sqrtf(x); }
TENON_HOST_DEVICE inline double sqrt(double x) { return ::sqrt(x); }
template <class V>
TENON_ALWAYS_INLINE V sqrt(V x) {
    [[maybe_unused]] constexpr bool single_precision = std::is_same_v<element_t<V>, float>;
    // No vector extension has a square root, and a loop over std::sqrt is scalar where errno must be set: so the
    // instruction itself.
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64) {
        V root;
        if constexpr (single_precision) asm("vsqrtps {%1, %0|%0, %1}" : "=v"(root) : "v"(x));
        else asm("vsqrtpd {%1, %0|%0, %1}" : "=v"(root) : "v"(x));
        return root;
    }
#endif
#if defined(__AVX__)
    if constexpr (sizeof(V) == 32 || sizeof(V) == 16) {
        V root;
        if constexpr (single_precision) asm("vsqrtps {%1, %0|%0, %1}" : "=x"(root) : "x"(x));
        else asm("vsqrtpd {%1, %0|%0, %1}" : "=x"(root) : "x"(x));
        return root;
    }
#elif defined(__SSE2__)
    if constexpr (sizeof(V) == 16) {
        V root;
        if constexpr (single_precision) asm("sqrtps {%1, %0|%0, %1}" : "=x"(root) : "x"(x));
        else asm("sqrtpd {%1, %0|%0, %1}" : "=x"(root) : "x"(x));
        return root;
    }
#endif
    if constexpr (single_precision) return lane_by_lane(x, [](float lane) { return ::sqrtf(lane); });
    else return lane_by_lane(x, [](double lane) { return ::sqrt(lane); });
}

} // namespace tenon::math
