/// @file
/// Integer instructions that are more than one operator. Names follow what they do; the PTX mnemonic stands beside
/// them.
#pragma once

#include "bits.hpp"

#include <limits>

namespace emu {

template <class T>
inline constexpr std::uint32_t bit_width = 8 * sizeof(T);
template <>
inline constexpr std::uint32_t bit_width<unsigned __int128> = 128;

template <class T>
using UnsignedOf = Word<T>;

// ---- add.cc, addc, sub.cc, subc

template <class T>
inline T add_with_carry(T a, T b, bool carry_in, bool& carry_out) {
    T const first = static_cast<T>(a + b);
    T const sum = static_cast<T>(first + carry_in);
    carry_out = first < a || sum < first;
    return sum;
}

/// The flag after a subtraction is the carry of a + ~b + flag, 1 where nothing was borrowed: nvcc's division of 128-bit
/// integers reads it with addc after subc, so the PTX manual's "borrow" cannot be meant literally.
template <class T>
inline T sub_with_carry(T a, T b, bool carry_in, bool& carry_out) {
    return add_with_carry(a, static_cast<T>(~b), carry_in, carry_out);
}

// ---- products

template <class T>
inline T low_product(T a, T b) { // mul.lo
    if constexpr (sizeof(T) < 4) return static_cast<T>(std::uint32_t{a} * std::uint32_t{b});
    else return static_cast<T>(a * b);
}

template <class T>
inline T high_product(T a, T b) { // mul.hi
    using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return static_cast<T>((Wide{a} * Wide{b}) >> bit_width<T>);
}

template <class T>
inline T product24(T a, T b) { // mul24.lo
    if constexpr (std::is_signed_v<T>) return static_cast<T>((a << 8 >> 8) * (std::int64_t{b << 8 >> 8}));
    else return static_cast<T>(std::uint64_t{a & 0xffffff} * (b & 0xffffff));
}

/// Division by zero gives all ones on a GPU, where C++ and the CPU stop; the quotient -2^31 / -1 wraps.
template <class T>
inline T divide(T a, T b) {
    if (b == 0) return static_cast<T>(-1);
    if constexpr (std::is_signed_v<T>)
        if (b == -1) return static_cast<T>(UnsignedOf<T>{0} - static_cast<UnsignedOf<T>>(a));
    return static_cast<T>(a / b);
}

template <class T>
inline T remainder(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>)
        if (b == -1) return 0;
    return static_cast<T>(a % b);
}

template <class T>
inline T saturating_add(T a, T b) {
    T sum;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return a < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}

template <class T>
inline T saturating_sub(T a, T b) {
    T difference;
    if (!__builtin_sub_overflow(a, b, &difference)) return difference;
    return a < 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}

template <class T>
inline T absolute_difference(T a, T b, T c) { // sad
    return static_cast<T>(c + (a < b ? b - a : a - b));
}

// ---- shifts and fields: PTX clamps what C++ leaves undefined

template <class T>
inline T shift_left(T a, std::uint32_t by) {
    return by >= bit_width<T> ? T{0} : static_cast<T>(static_cast<UnsignedOf<T>>(a) << by);
}

template <class T>
inline T shift_right(T a, std::uint32_t by) {
    return by >= bit_width<T> ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> by);
}

inline std::uint32_t funnel_left(std::uint32_t low, std::uint32_t high, std::uint32_t by, bool wrap) { // shf.l
    by = wrap ? by & 31 : by > 32 ? 32 : by;
    return static_cast<std::uint32_t>(((std::uint64_t{high} << 32 | low) << by) >> 32);
}

inline std::uint32_t funnel_right(std::uint32_t low, std::uint32_t high, std::uint32_t by, bool wrap) { // shf.r
    by = wrap ? by & 31 : by > 32 ? 32 : by;
    return static_cast<std::uint32_t>((std::uint64_t{high} << 32 | low) >> by);
}

template <class T>
inline T bit_field(T a, std::uint32_t position, std::uint32_t length) { // bfe
    using U = UnsignedOf<T>;
    position &= 255;
    length &= 255;
    if (length == 0) return 0;
    U const field = static_cast<U>(shift_right(a, position));
    if (length >= bit_width<T>) return static_cast<T>(field);
    std::uint32_t const spare = bit_width<T> - length;
    return static_cast<T>(static_cast<T>(field << spare) >> spare);
}

template <class T>
inline T insert_bits(T from, T into, std::uint32_t position, std::uint32_t length) { // bfi
    position &= 255;
    length &= 255;
    T const ones = length >= bit_width<T> ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
    T const mask = shift_left(ones, position);
    return static_cast<T>((into & ~mask) | (shift_left(from, position) & mask));
}

inline std::uint32_t bit_mask(std::uint32_t position, std::uint32_t length, bool wrap) { // bmsk
    if (wrap) {
        position &= 31;
        length &= 31;
    }
    return shift_left(length >= 32 ? ~0u : (1u << length) - 1u, position);
}

template <class T>
inline T extend_bits(T a, std::uint32_t length, bool wrap) { // szext
    if (wrap) length &= 31;
    if (length == 0) return 0;
    return length >= 32 ? a : bit_field(a, 0, length);
}

// ---- counting

template <class T>
inline std::uint32_t leading_zeros(T a) {
    if (a == 0) return bit_width<T>;
    return static_cast<std::uint32_t>(sizeof(T) == 8 ? __builtin_clzll(a)
                                                     : __builtin_clz(static_cast<std::uint32_t>(a)));
}

template <class T>
inline std::uint32_t population(T a) {
    return static_cast<std::uint32_t>(__builtin_popcountll(a));
}

template <class T>
inline T reverse_bits(T a) {
    T reversed = 0;
    for (std::uint32_t i = 0; i < bit_width<T>; ++i)
        reversed = static_cast<T>(reversed | ((a >> i & 1) << (bit_width<T> - 1 - i)));
    return reversed;
}

/// bfind: position of the highest bit that differs from the sign; .shiftamt: how far it is from the top.
template <class T>
inline std::uint32_t leading_bit(T a, bool shift_amount) {
    UnsignedOf<T> value = static_cast<UnsignedOf<T>>(a);
    if constexpr (std::is_signed_v<T>)
        if (a < 0) value = static_cast<UnsignedOf<T>>(~value);
    if (value == 0) return ~0u;
    std::uint32_t const zeros = leading_zeros(value);
    return shift_amount ? zeros : bit_width<T> - 1 - zeros;
}

/// fns: the position of the |offset|-th set bit from `base` up (offset > 0) or down (offset < 0).
inline std::uint32_t nth_set_bit(std::uint32_t mask, std::uint32_t base, std::int32_t offset) {
    if (offset == 0) return mask >> (base & 31) & 1 ? base : ~0u;
    int const step = offset > 0 ? 1 : -1;
    int left = offset > 0 ? offset : -offset;
    for (int i = static_cast<int>(base); i >= 0 && i < 32; i += step)
        if ((mask >> i & 1) != 0 && --left == 0) return static_cast<std::uint32_t>(i);
    return ~0u;
}

template <int Table>
inline std::uint32_t three_input_logic(std::uint32_t a, std::uint32_t b, std::uint32_t c) { // lop3
    std::uint32_t result = 0;
    for (int i = 0; i < 8; ++i)
        if (Table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    return result;
}

// ---- bytes

inline std::uint32_t byte_of(std::uint64_t pair, std::uint32_t index) {
    return static_cast<std::uint32_t>(pair >> (8 * (index & 7))) & 0xff;
}

inline std::uint32_t permute_bytes(std::uint32_t a, std::uint32_t b, std::uint32_t selector) { // prmt
    std::uint64_t const pair = std::uint64_t{b} << 32 | a;
    std::uint32_t result = 0;
    for (std::uint32_t i = 0; i < 4; ++i) {
        std::uint32_t const nibble = selector >> (4 * i) & 15;
        std::uint32_t byte = byte_of(pair, nibble);
        if (nibble & 8) byte = byte & 0x80 ? 0xff : 0; // the sign, replicated
        result |= byte << (8 * i);
    }
    return result;
}

/// The named modes of prmt: which byte of the pair goes to place i, by the selector's low two bits.
template <class Index>
inline std::uint32_t permute_by(std::uint32_t a, std::uint32_t b, std::uint32_t selector, Index index) {
    std::uint64_t const pair = std::uint64_t{b} << 32 | a;
    std::uint32_t result = 0;
    for (std::uint32_t i = 0; i < 4; ++i) result |= byte_of(pair, index(i, selector & 3)) << (8 * i);
    return result;
}
inline std::uint32_t permute_bytes_f4e(std::uint32_t a, std::uint32_t b, std::uint32_t s) {
    return permute_by(a, b, s, [](std::uint32_t i, std::uint32_t k) { return i + k; });
}
inline std::uint32_t permute_bytes_b4e(std::uint32_t a, std::uint32_t b, std::uint32_t s) {
    return permute_by(a, b, s, [](std::uint32_t i, std::uint32_t k) { return k - i; });
}
inline std::uint32_t permute_bytes_rc8(std::uint32_t a, std::uint32_t b, std::uint32_t s) {
    return permute_by(a, b, s, [](std::uint32_t, std::uint32_t k) { return k; });
}
inline std::uint32_t permute_bytes_ecl(std::uint32_t a, std::uint32_t b, std::uint32_t s) {
    return permute_by(a, b, s, [](std::uint32_t i, std::uint32_t k) { return i < k ? k : i; });
}
inline std::uint32_t permute_bytes_ecr(std::uint32_t a, std::uint32_t b, std::uint32_t s) {
    return permute_by(a, b, s, [](std::uint32_t i, std::uint32_t k) { return i < k ? i : k; });
}
inline std::uint32_t permute_bytes_rc16(std::uint32_t a, std::uint32_t b, std::uint32_t s) {
    return permute_by(a, b, s, [](std::uint32_t i, std::uint32_t k) { return 2 * (k & 1) + (i & 1); });
}

} // namespace emu
