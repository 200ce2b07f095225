/// @file
/// Pooling by its definition, in double.
#pragma once

#include "values.hpp"

#include <tenon/ops/pool2d/pool2d.hpp>

#include <cmath>

namespace tenon::test {

/// Calls f(window, tap, element of x) for every tap that lies inside the image, window by window, taps in row-major
/// order, for one sample. `window` is an element of y.
template <class F>
void for_each_tap(pool2d::Geometry const& g, Dims const& x, Dims const& y, F const& f) {
    for (index_t c = 0; c < y[0]; ++c)
        for (index_t oy = 0; oy < y[1]; ++oy)
            for (index_t ox = 0; ox < y[2]; ++ox)
                for (index_t ky = 0; ky < g.kernel.height; ++ky)
                    for (index_t kx = 0; kx < g.kernel.width; ++kx) {
                        index_t const row = oy * g.stride.height - g.padding.height + ky;
                        index_t const column = ox * g.stride.width - g.padding.width + kx;
                        if (row < 0 || row >= x[1] || column < 0 || column >= x[2]) continue;
                        f((c * y[1] + oy) * y[2] + ox, ky * g.kernel.width + kx, (c * x[1] + row) * x[2] + column);
                    }
}

/// The winning tap of each window: the first of the largest, unless there is a NaN, which wins.
inline void interpret_max_pool_index(pool2d::Geometry const& g, Values const& x, Values& index) {
    for (index_t s = 0; s < index.samples; ++s) {
        std::vector<double> best(static_cast<std::size_t>(index.shape.count()));
        for (index_t w = 0; w < index.shape.count(); ++w) index.at(s)[w] = -1;
        for_each_tap(g, x.shape, index.shape, [&](index_t window, index_t tap, index_t from) {
            double const v = x.at(s)[from];
            double& largest = best[static_cast<std::size_t>(window)];
            if (index.at(s)[window] >= 0 && !(v > largest) && !std::isnan(v)) return;
            largest = v;
            index.at(s)[window] = static_cast<double>(tap);
        });
    }
}

/// Calls f(sample, window, element of x) for the winning tap of every window.
template <class F>
void for_each_winner(pool2d::Geometry const& g, Dims const& x, Values const& index, F const& f) {
    for (index_t s = 0; s < index.samples; ++s)
        for_each_tap(g, x, index.shape, [&](index_t window, index_t tap, index_t element) {
            if (static_cast<double>(tap) == index.at(s)[window]) f(s, window, element);
        });
}

inline void interpret_max_pool(pool2d::Geometry const& g, Values const& x, Values& y) {
    Values index = y;
    interpret_max_pool_index(g, x, index);
    for_each_winner(g, x.shape, index,
                    [&](index_t s, index_t window, index_t element) { y.at(s)[window] = x.at(s)[element]; });
}
inline void interpret_max_pool_gradient(pool2d::Geometry const& g, Values const& dy, Values const& index, Values& dx) {
    for_each_winner(g, dx.shape, index,
                    [&](index_t s, index_t window, index_t element) { dx.at(s)[element] += dy.at(s)[window]; });
}

/// Padding counts: every window is divided by its full area.
inline void interpret_average_pool(pool2d::Geometry const& g, Values const& x, Values& y) {
    for (index_t s = 0; s < y.samples; ++s)
        for_each_tap(g, x.shape, y.shape, [&](index_t window, index_t, index_t element) {
            y.at(s)[window] += x.at(s)[element] / (g.kernel.height * g.kernel.width);
        });
}
inline void interpret_average_pool_gradient(pool2d::Geometry const& g, Values const& dy, Values& dx) {
    for (index_t s = 0; s < dx.samples; ++s)
        for_each_tap(g, dx.shape, dy.shape, [&](index_t window, index_t, index_t element) {
            dx.at(s)[element] += dy.at(s)[window] / (g.kernel.height * g.kernel.width);
        });
}

} // namespace tenon::test
