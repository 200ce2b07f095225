/// @file
/// How exactly matrix products and convolutions take their factors on a GPU. Sums are float in all of them, and so are weights,
/// activations and updates in memory.
#pragma once

namespace tenon {

struct float32 {}; ///< as they are: exact products, one rounding for each multiply-add
struct tf32 {};    ///< tensor cores, factors rounded to 11 significant bits; compute capability 8.0 and later
struct tf32x3 {};  ///< tensor cores, factors as sums of two tf32: about 21 bits. Infinite factors give NaN; 8.0 and later
struct bf16 {};    ///< tensor cores, factors rounded to 8 significant bits; 8.0 and later

/// The factors of a trainer's products, as a type: `Trainer trainer{Net{}, CrossEntropy{}, SGD{}, batch<64>, precision<tf32>, Cuda{}}`.
/// Left out it is float32. The CPU ignores it: it always computes in float32.
/// @tparam Factors float32, tf32, tf32x3 or bf16
template <class Factors>
struct Precision {};
template <class Factors>
inline constexpr Precision<Factors> precision{};

} // namespace tenon
