/// @file
/// One axis of a convolution: which element of the input a tap of the kernel meets.
#pragma once

#include <tenon/core/config.hpp>

#include <numeric>

namespace tenon::conv2d {

/// Some taps of a kernel, and what they meet: tap `first` meets element `source`, and `Axis::tap_step` taps on
/// `Axis::source_step` elements on, `count` times.
struct Taps {
    index_t first = 0, count = 0, source = 0;
};

/// out[i] = sum over the taps of in[source(i, tap)] * weight[tap], forward or transposed (the gradient of the forward
/// one).
struct Axis {
    index_t out, in, kernel, stride, padding, dilation;
    bool transposed;

    /// Outputs that are `phases` apart use the same taps.
    [[nodiscard]] constexpr index_t phases() const { return transposed ? stride : 1; }
    [[nodiscard]] constexpr index_t tap_step() const { return transposed ? stride / std::gcd(stride, dilation) : 1; }
    /// Elements from what a tap meets to what the next one meets.
    [[nodiscard]] constexpr index_t source_step() const {
        return transposed ? -(dilation * tap_step() / stride) : dilation;
    }
    /// Elements from what a tap of output i meets to what the same tap of output i + phases() meets.
    [[nodiscard]] constexpr index_t source_per_output() const { return transposed ? 1 : stride; }

    /// The element that a tap of output i meets; -1 where that is none.
    [[nodiscard]] constexpr index_t source(index_t i, index_t tap) const {
        index_t at = transposed ? i + padding - tap * dilation : i * stride - padding + tap * dilation;
        if (transposed) {
            if (at < 0 || at % stride != 0) return -1;
            at /= stride;
        }
        return at >= 0 && at < in ? at : -1;
    }

    /// All taps of output i that meet something.
    [[nodiscard]] constexpr Taps taps(index_t i) const {
        Taps taps;
        for (index_t tap = 0; tap < kernel; ++tap) {
            index_t const at = source(i, tap);
            if (at >= 0 && taps.count++ == 0) taps.first = tap, taps.source = at;
        }
        return taps;
    }

    /// The taps that outputs i of one phase use where the input has no end.
    [[nodiscard]] constexpr index_t taps_of_phase(index_t i) const {
        index_t count = 0;
        for (index_t tap = 0; tap < kernel; ++tap)
            if (!transposed || (i + padding - tap * dilation) % stride == 0) ++count;
        return count;
    }

    /// Whether every tap of output i's phase meets something.
    [[nodiscard]] constexpr bool inside(index_t i) const { return taps(i).count == taps_of_phase(i); }
};

} // namespace tenon::conv2d
