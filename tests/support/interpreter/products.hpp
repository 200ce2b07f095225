/// @file
/// Convolution and the fully connected layer by their definitions, in double: forward and both gradients.
#pragma once

#include "values.hpp"

#include <tenon/ops/conv2d/conv2d.hpp>

namespace tenon::test {

/// Calls f(element of x, element of weight, element of y) for every product that a convolution sums, for one sample.
/// @param x [C, H, W]  @param weight [O, C / groups, KH, KW]  @param y [O, OH, OW]
template <class F>
void for_each_product(conv2d::Geometry const& g, Dims const& x, Dims const& weight, Dims const& y, F const& f) {
    index_t const channels = weight[1], outputs_per_group = y[0] / g.groups;
    for (index_t o = 0; o < y[0]; ++o)
        for (index_t oy = 0; oy < y[1]; ++oy)
            for (index_t ox = 0; ox < y[2]; ++ox)
                for (index_t c = 0; c < channels; ++c)
                    for (index_t ky = 0; ky < g.kernel.height; ++ky)
                        for (index_t kx = 0; kx < g.kernel.width; ++kx) {
                            index_t const row = oy * g.stride.height + ky * g.dilation.height - g.padding.height;
                            index_t const column = ox * g.stride.width + kx * g.dilation.width - g.padding.width;
                            if (row < 0 || row >= x[1] || column < 0 || column >= x[2]) continue;
                            index_t const channel = o / outputs_per_group * channels + c;
                            f((channel * x[1] + row) * x[2] + column,
                              ((o * channels + c) * g.kernel.height + ky) * g.kernel.width + kx,
                              (o * y[1] + oy) * y[2] + ox);
                        }
}

inline void interpret_conv2d(conv2d::Geometry const& g, Values const& x, Values const& weight, Values& y) {
    for (index_t s = 0; s < y.samples; ++s)
        for_each_product(g, x.shape, weight.shape, y.shape,
                         [&](index_t i, index_t w, index_t o) { y.at(s)[o] += x.at(s)[i] * weight.at(s)[w]; });
}
inline void interpret_conv2d_input_gradient(conv2d::Geometry const& g, Values const& dy, Values const& weight,
                                            Values& dx) {
    for (index_t s = 0; s < dx.samples; ++s)
        for_each_product(g, dx.shape, weight.shape, dy.shape,
                         [&](index_t i, index_t w, index_t o) { dx.at(s)[i] += dy.at(s)[o] * weight.at(s)[w]; });
}
inline void interpret_conv2d_weight_gradient(conv2d::Geometry const& g, Values const& x, Values const& dy, Values& dw) {
    for (index_t s = 0; s < x.samples; ++s)
        for_each_product(g, x.shape, dw.shape, dy.shape,
                         [&](index_t i, index_t w, index_t o) { dw.at(s)[w] += x.at(s)[i] * dy.at(s)[o]; });
}

inline void interpret_linear(Values const& x, Values const& weight, Values& y) {
    index_t const in = x.shape.count();
    for (index_t s = 0; s < y.samples; ++s)
        for (index_t o = 0; o < y.shape.count(); ++o)
            for (index_t i = 0; i < in; ++i) y.at(s)[o] += weight.at(s)[o * in + i] * x.at(s)[i];
}
inline void interpret_linear_input_gradient(Values const& dy, Values const& weight, Values& dx) {
    index_t const in = dx.shape.count();
    for (index_t s = 0; s < dx.samples; ++s)
        for (index_t o = 0; o < dy.shape.count(); ++o)
            for (index_t i = 0; i < in; ++i) dx.at(s)[i] += weight.at(s)[o * in + i] * dy.at(s)[o];
}
inline void interpret_linear_weight_gradient(Values const& x, Values const& dy, Values& dw) {
    index_t const in = x.shape.count();
    for (index_t s = 0; s < x.samples; ++s)
        for (index_t o = 0; o < dy.shape.count(); ++o)
            for (index_t i = 0; i < in; ++i) dw.at(s)[o * in + i] += x.at(s)[i] * dy.at(s)[o];
}

} // namespace tenon::test
