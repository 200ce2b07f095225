/// @file
/// The products behind layers: what the tile kernel is asked for by name. X is an Element (element.hpp): Plain, or a hook.
///
/// Arguments of each are {a, b, samples}:
///     LinearForward           a: x [samples, in]                   b: weight [out, in]     result [samples, out]
///     LinearInputGradient     a: dy [samples, out]                 b: weight               result [samples, in]
///     LinearWeightGradient    a: dy                                b: x                    result [out, in]
///     Conv2dForward           a: x [samples, C, H, W]              b: weight [O, C/G, KH, KW]   result [samples, O, OH, OW], or pooled
///     Conv2dInputGradient     a: dy, or pooled dy and its index    b: weight               result [samples, C, H, W]
///     Conv2dWeightGradient    a: dy, or pooled dy and its index    b: x                    result [O, C/G, KH, KW]
#pragma once

#include <tenon/cuda/tile/convolution.hpp>
#include <tenon/cuda/tile/kernel.hpp>

namespace tenon::cuda::tile {

template <class X, int In, int Out>
using LinearForward = Problem<PerSample<1>, Out, Fixed<In>, Rows<X, In>, Rows<Plain, In>, Order::along>;

template <class DY, int In, int Out>
using LinearInputGradient = Problem<PerSample<1>, In, Fixed<Out>, Rows<DY, Out>, Columns<Plain, In>, Order::across>;

template <class DY, class X, int In, int Out>
using LinearWeightGradient = Problem<Fixed<Out>, In, PerSample<1>, Columns<DY, Out>, Columns<X, In>, Order::across>;

/// @tparam G Convolution<...>  @tparam Map Windowed<2, 2>: the epilogue gets whole pooling windows; Rowwise: none
template <class X, class G, class Map = Rowwise>
using Conv2dForward = Problem<PerSample<Map::template count<G::out_height, G::out_width>, Map::window>, G::group_outputs, Fixed<G::depth>, Patches<X, G, Map>,
                              Rows<Plain, G::depth, G::group_outputs>, Order::across, G::groups>;

/// @tparam Map Windowed<2, 2>: dy is pooled, with DY one of the Unpooled elements
template <class DY, class G, class Map = Rowwise>
using Conv2dInputGradient = Problem<PerSample<G::in_plane>, G::group_channels, Fixed<G::group_outputs * G::taps>, Reversed<DY, G, Map>, FilterColumns<Plain, G>,
                                    Order::across, G::groups>;

/// The same, folded (fold.hpp): the cheaper one where a sample's positions and a channel's taps fit a tile.
template <class DY, class G, class Map = Rowwise>
using Conv2dFoldedInputGradient = Problem<PerSample<Folded<G, Map>::positions>, G::depth, Fixed<G::group_outputs>, Positions<DY, G, Map>,
                                          Columns<Plain, G::depth, G::group_outputs>, Order::across, G::groups, Folded<G, Map>>;

template <class DY, class X, class G, class Map = Rowwise>
using Conv2dWeightGradient = Problem<Fixed<G::group_outputs>, G::depth, PerSample<Map::template count<G::out_height, G::out_width>>, Channels<DY, G, Map>,
                                     Taps<X, G, Map>, Order::along, G::groups>;

} // namespace tenon::cuda::tile
