/// @file
/// Instructions on several small integers in one register: dp4a, add.u16x2, vabsdiff4, cvt.pack.
#pragma once

#include "integer.hpp"

namespace emu {

template <class Lane>
inline Lane lane_of(std::uint32_t packed, std::uint32_t index) {
    return static_cast<Lane>(packed >> (index * bit_width<Lane>));
}

/// a and b hold four bytes each, signed where A and B are.
template <class A, class B, class C>
inline C dp4a(A a, B b, C c) {
    using ByteA = std::conditional_t<std::is_signed_v<A>, std::int8_t, std::uint8_t>;
    using ByteB = std::conditional_t<std::is_signed_v<B>, std::int8_t, std::uint8_t>;
    std::uint32_t sum = static_cast<std::uint32_t>(c);
    for (std::uint32_t i = 0; i < 4; ++i)
        sum += static_cast<std::uint32_t>(std::int32_t{lane_of<ByteA>(static_cast<std::uint32_t>(a), i)} *
                                          std::int32_t{lane_of<ByteB>(static_cast<std::uint32_t>(b), i)});
    return static_cast<C>(sum);
}

/// a holds two halfwords, b four bytes of which the low or the high two are used.
template <bool High, class A, class B, class C>
inline C dp2a(A a, B b, C c) {
    using HalfA = std::conditional_t<std::is_signed_v<A>, std::int16_t, std::uint16_t>;
    using ByteB = std::conditional_t<std::is_signed_v<B>, std::int8_t, std::uint8_t>;
    std::uint32_t sum = static_cast<std::uint32_t>(c);
    for (std::uint32_t i = 0; i < 2; ++i)
        sum +=
            static_cast<std::uint32_t>(std::int32_t{lane_of<HalfA>(static_cast<std::uint32_t>(a), i)} *
                                       std::int32_t{lane_of<ByteB>(static_cast<std::uint32_t>(b), i + (High ? 2 : 0))});
    return static_cast<C>(sum);
}

template <class Lane, class Operation>
inline std::uint32_t lanewise(std::uint32_t a, std::uint32_t b, Operation operation) {
    std::uint32_t result = 0;
    for (std::uint32_t i = 0; i < 4 / sizeof(Lane); ++i) {
        auto const lane = static_cast<UnsignedOf<Lane>>(
            operation(std::int32_t{lane_of<Lane>(a, i)}, std::int32_t{lane_of<Lane>(b, i)}));
        result |= std::uint32_t{lane} << (i * bit_width<Lane>);
    }
    return result;
}

inline std::uint32_t halfword_add(std::uint32_t a, std::uint32_t b) {
    return lanewise<std::uint16_t>(a, b, [](int x, int y) { return x + y; });
}
inline std::uint32_t halfword_sub(std::uint32_t a, std::uint32_t b) {
    return lanewise<std::uint16_t>(a, b, [](int x, int y) { return x - y; });
}
template <class Lane>
inline std::uint32_t halfword_min(std::uint32_t a, std::uint32_t b) {
    return lanewise<Lane>(a, b, [](int x, int y) { return x < y ? x : y; });
}
template <class Lane>
inline std::uint32_t halfword_max(std::uint32_t a, std::uint32_t b) {
    return lanewise<Lane>(a, b, [](int x, int y) { return x > y ? x : y; });
}
template <class Lane>
inline std::uint32_t packed_absolute_difference(std::uint32_t a, std::uint32_t b) {
    return lanewise<Lane>(a, b, [](int x, int y) { return x > y ? x - y : y - x; });
}
inline std::uint32_t halfword_flags(bool low, bool high) { return (low ? 0xffffu : 0u) | (high ? 0xffff0000u : 0u); }

template <class To, class From>
inline To clamp_to(From value) {
    __int128 const wide = value;
    __int128 const low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
    return static_cast<To>(wide < low ? low : wide > high ? high : wide);
}

/// cvt.pack: a and b clamped go to the low places, c moves up.
template <class Lane>
inline std::uint32_t pack_clamped(std::int32_t a, std::int32_t b, std::uint32_t c) {
    auto const place = [](std::int32_t x) { return std::uint32_t{static_cast<UnsignedOf<Lane>>(clamp_to<Lane>(x))}; };
    std::uint32_t const pair = place(b) | place(a) << bit_width<Lane>;
    return sizeof(Lane) == 2 ? pair : pair | c << 16;
}

} // namespace emu
