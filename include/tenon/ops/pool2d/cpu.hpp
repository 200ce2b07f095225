/// @file
/// Pooling on the CPU, plane by plane: kernels over compile-time windows. A plane is [H][W][Lanes], one channel of a
/// block of images.
#pragma once

#include <tenon/ops/pool2d/cpu/windows.hpp>

#include <limits>

namespace tenon::pool2d {

/// y [planes][OH][OW][Lanes] and, where `index` is not null, the winning tap of each window.
template <class P, int Lanes, class Index>
void max_forward(index_t planes, float const* x, float* y, Index* index) {
    auto const run_row = [&](index_t row) {
        for_each_group<P, Lanes>(row, [&]<class G>(G const& group, index_t to) {
            using V = typename G::V;
            using I = typename G::I;
            V best = math::all<V>(-std::numeric_limits<float>::infinity());
            I tap_of_best = I{} + group.first_tap();
            group.for_each_tap([&](int tap, int kx, index_t at) {
                V const v = G::load(x, at, kx);
                // One after the other, because compilers join masks of wide vectors in a roundabout way.
                auto const larger = v > best, no_number = v != v;
                best = larger ? v : best;
                best = no_number ? v : best;
                tap_of_best = larger ? I{} + tap : tap_of_best;
                tap_of_best = no_number ? I{} + tap : tap_of_best;
            });
            G::store_results(y + to, best);
            if (index != nullptr) G::store_results(index + to, tap_of_best);
        });
    };
    for (index_t p = 0; p < planes; ++p, x += P::plane * Lanes, y += P::out_plane * Lanes) {
        for (index_t row = 0; row < P::out_height; ++row) run_row(row);
        if (index != nullptr) index += P::out_plane * Lanes;
    }
}

/// dx [planes][H][W][Lanes]: each window's dy goes to its winning tap. Windows are visited in order, so sums have one
/// order.
template <class P, int Lanes, class Index>
void max_backward(index_t planes, float const* dy, Index const* index, float* dx) {
    constexpr bool disjoint = P::disjoint && P::padding_height == 0 && P::padding_width == 0;
    constexpr bool covers = disjoint && P::stride_height == P::kernel_height && P::stride_width == P::kernel_width &&
                            P::out_height * P::kernel_height == P::height && P::out_width * P::kernel_width == P::width;
    for (index_t p = 0; p < planes; ++p) {
        if constexpr (!covers) std::memset(dx, 0, P::plane * Lanes * sizeof(float));
        auto const run_group = [&]<class G>(G const& group, index_t from) {
            using V = typename G::V;
            V const g = G::load_results(dy + from);
            auto const winner = math::convert<std::int32_t>(G::load_results(index + from));
            [[maybe_unused]] V waiting{};
            group.for_each_tap([&](int tap, int kx, index_t at) {
                V const mine = winner == tap ? g : V{};
                if constexpr (disjoint) G::store(dx, at, kx, mine, waiting);
                else G::store_results(dx + at + kx * Lanes, G::load(dx, at, kx) + mine);
            });
        };
        for (index_t row = 0; row < P::out_height; ++row)
            if constexpr (disjoint) for_each_group<P, Lanes>(row, run_group);
            else for_each_window<P, Lanes>(row, run_group);
        dx += P::plane * Lanes, dy += P::out_plane * Lanes, index += P::out_plane * Lanes;
    }
}

/// y [planes][OH][OW][Lanes]: the sum of each window divided by its full area, padding counted.
template <class P, int Lanes>
void average_forward(index_t planes, float const* x, float* y) {
    constexpr float scale = 1.0f / static_cast<float>(P::kernel_height * P::kernel_width);
    for (index_t p = 0; p < planes; ++p, x += P::plane * Lanes, y += P::out_plane * Lanes)
        for (index_t row = 0; row < P::out_height; ++row)
            for_each_group<P, Lanes>(row, [&]<class G>(G const& group, index_t to) {
                typename G::V sum{};
                group.for_each_tap([&](int, int kx, index_t at) { sum += G::load(x, at, kx); });
                G::store_results(y + to, sum * scale);
            });
}

/// dx [planes][H][W][Lanes]: each window's dy in equal shares.
template <class P, int Lanes>
void average_backward(index_t planes, float const* dy, float* dx) {
    constexpr float scale = 1.0f / static_cast<float>(P::kernel_height * P::kernel_width);
    for (index_t p = 0; p < planes; ++p, dx += P::plane * Lanes, dy += P::out_plane * Lanes) {
        std::memset(dx, 0, P::plane * Lanes * sizeof(float));
        for (index_t row = 0; row < P::out_height; ++row)
            for_each_window<P, Lanes>(row, [&]<class G>(G const& group, index_t from) {
                typename G::V const share = G::load_results(dy + from) * scale;
                group.for_each_tap([&](int, int kx, index_t at) {
                    G::store_results(dx + at + kx * Lanes, G::load(dx, at, kx) + share);
                });
            });
    }
}

} // namespace tenon::pool2d
