/// @file
/// Windows of a pool as the CPU sees them: neighbours of a row side by side in a vector, those that reach over the
/// left or right end of a row one by one.
#pragma once

#include <tenon/core/lanes.hpp>
#include <tenon/cpu/tiling.hpp>
#include <tenon/ops/pool2d/problem.hpp>

#include <bit>
#include <type_traits>

namespace tenon::pool2d {

using cpu::least, cpu::most;

/// Windows [begin, end) of a row lie inside it.
struct Inside {
    index_t begin, end;

    template <class P>
    [[nodiscard]] static constexpr Inside of() {
        index_t const begin = least(P::out_width, cpu::ceil_divide(P::padding_width, P::stride_width));
        index_t const room = P::width + P::padding_width - P::kernel_width; // of the first column of a window
        index_t const end = room < 0 ? 0 : least(P::out_width, room / P::stride_width + 1);
        return {begin, most(begin, end)};
    }
};

/// `Count` neighbouring windows whose `Lanes` images each fill one vector, the first of them number `column` of row
/// `row` of the windows. One window may be clipped: some of its columns fall beside the input.
template <class P, int Lanes, int Count, bool Clipped>
struct Group {
    static constexpr int lanes = Count * Lanes;
    static_assert(Count == 1 || !Clipped);
    using V = std::conditional_t<lanes == 1, float, cpu::Vec<float, lanes>>;
    using I = std::conditional_t<lanes == 1, std::int32_t, cpu::Vec<std::int32_t, lanes>>;

    index_t y, x; ///< pixel under the first tap of the first window

    TENON_ALWAYS_INLINE Group(index_t row, index_t column)
        : y{row * P::stride_height - P::padding_height}, x{column * P::stride_width - P::padding_width} {}

    /// The first tap that meets the input.
    [[nodiscard]] TENON_ALWAYS_INLINE int first_tap() const {
        index_t const ky = P::padding_height > 0 ? most(0, -y) : 0, kx = Clipped ? most(0, -x) : 0;
        return static_cast<int>(ky * P::kernel_width + kx);
    }

    /// Calls f(tap, kx, first element of the pixel under the first window's column 0 in the row) for each tap that
    /// meets the input, in order.
    template <class F>
    TENON_ALWAYS_INLINE void for_each_tap(F const& f) const {
        for (int ky = 0; ky < P::kernel_height; ++ky) {
            if (P::padding_height > 0 && (y + ky < 0 || y + ky >= P::height)) continue;
            index_t const at = ((y + ky) * P::width + x) * Lanes;
            TENON_UNROLL for (int kx = 0; kx < P::kernel_width; ++kx) {
                if (Clipped && (x + kx < 0 || x + kx >= P::width)) continue;
                f(ky * P::kernel_width + kx, kx, at);
            }
        }
    }

    /// What the windows have under column kx of the kernel; `at` as for_each_tap gives it.
    [[nodiscard]] TENON_ALWAYS_INLINE static V load(float const* plane, index_t at, int kx) {
        if constexpr (lanes == 1) {
            return plane[at + kx];
        } else if constexpr (Count == 1 || P::stride_width == 1) {
            return cpu::load<lanes>(plane + at + kx * Lanes);
        } else if constexpr (P::stride_width == 2 && P::kernel_width > 1) {
            // Twice as many pixels, of which every other one counts; all of them lie under the windows.
            bool const odd = kx > 0;
            float const* const from = plane + at + (kx - (odd ? 1 : 0)) * Lanes;
            V even_pixels = cpu::load<lanes>(from), odd_pixels = cpu::load<lanes>(from + lanes);
            cpu::lanes::unzip<Lanes>(even_pixels, odd_pixels, std::make_integer_sequence<int, lanes>{});
            return odd ? odd_pixels : even_pixels;
        } else {
            cpu::Registers<float, lanes> lane;
            for (int w = 0; w < Count; ++w)
                std::memcpy(lane + w * Lanes, plane + at + (w * P::stride_width + kx) * Lanes, Lanes * sizeof(float));
            return cpu::load<lanes>(lane);
        }
    }

    /// Writes what belongs there. Called for the columns of a row of taps in turn: a value may wait in `waiting` for the
    /// one that lies between its elements.
    TENON_ALWAYS_INLINE static void store(float* plane, index_t at, int kx, V const& value, V& waiting) {
        if constexpr (lanes == 1) {
            plane[at + kx] = value;
        } else if constexpr (Count == 1 || P::stride_width == 1) {
            cpu::store<lanes>(plane + at + kx * Lanes, value);
        } else if constexpr (P::stride_width == 2 && P::kernel_width == 2) {
            if (kx == 0) {
                waiting = value;
                return;
            }
            V first = waiting, second = value;
            cpu::lanes::zip<Lanes>(first, second, std::make_integer_sequence<int, lanes>{});
            cpu::store<lanes>(plane + at, first);
            cpu::store<lanes>(plane + at + lanes, second);
        } else {
            cpu::Registers<float, lanes> lane;
            cpu::store<lanes>(lane, value);
            for (int w = 0; w < Count; ++w)
                std::memcpy(plane + at + (w * P::stride_width + kx) * Lanes, lane + w * Lanes, Lanes * sizeof(float));
        }
    }

    template <class T>
    [[nodiscard]] TENON_ALWAYS_INLINE static auto load_results(T const* from) {
        if constexpr (lanes == 1) return *from;
        else return cpu::load<lanes>(from);
    }
    template <class T, class R>
    TENON_ALWAYS_INLINE static void store_results(T* to, R const& results) {
        if constexpr (lanes == 1) *to = static_cast<T>(results);
        else cpu::store<lanes>(to, math::convert<T>(results));
    }
};

/// Calls f(Group, offset of its results in a plane of results) for all windows of a row. Where a row holds no multiple
/// of a group, the last one overlaps the one before: f must not mind windows that it sees twice.
template <class P, int Lanes, class F>
TENON_ALWAYS_INLINE void for_each_group(index_t row, F const& f) {
    constexpr Inside inside = Inside::of<P>();
    constexpr index_t windows = inside.end - inside.begin;
    constexpr int fitting = static_cast<int>(
        std::bit_floor(static_cast<unsigned>(most(1, least(cpu::native_lanes<float> / Lanes, windows)))));
    constexpr int count = fitting * Lanes < 4 ? 1 : fitting;
    auto const at = [&](index_t column) { return (row * P::out_width + column) * Lanes; };
    for (index_t c = 0; c < inside.begin; ++c) f(Group<P, Lanes, 1, true>{row, c}, at(c));
    for (index_t c = inside.begin; c < inside.end; c += count) {
        index_t const column = windows % count == 0 ? c : least(c, inside.end - count);
        f(Group<P, Lanes, count, false>{row, column}, at(column));
    }
    for (index_t c = inside.end; c < P::out_width; ++c) f(Group<P, Lanes, 1, true>{row, c}, at(c));
}

/// The same, window by window.
template <class P, int Lanes, class F>
TENON_ALWAYS_INLINE void for_each_window(index_t row, F const& f) {
    constexpr bool clipped = P::padding_width > 0;
    for (index_t c = 0; c < P::out_width; ++c) f(Group<P, Lanes, 1, clipped>{row, c}, (row * P::out_width + c) * Lanes);
}

} // namespace tenon::pool2d
