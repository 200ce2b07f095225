/// @file
/// Convolution as products: index maps that gather patches where they are needed, so that no patch matrix exists in memory.
///
///     forward          y[s, o, p]  = sum over (c, tap)  Patches      x FilterRows
///     input gradient   dx[s, c, q] = sum over (o, tap)  Reversed     x FilterColumns
///     weight gradient  dw[o, c, tap] = sum over (s, p)  Channels     x Taps
///     folded input gradient  z[s, p, (c, tap)] = sum over o  Positions x Columns, then dx[s, c, q] = sum over taps z[s, p(q, tap), (c, tap)]
///
/// Tensors are [samples, channels, height, width] and [out, in / groups, kernel height, kernel width].
#pragma once

#include <tenon/cuda/tile/operand.hpp>

namespace tenon::cuda::tile {

/// A convolution's numbers.
template <int C, int H, int W, int O, int KH, int KW, int SH = 1, int SW = 1, int PH = 0, int PW = 0, int DH = 1, int DW = 1, int G = 1>
struct Convolution {
    static constexpr int channels = C, height = H, width = W, outputs = O, kernel_height = KH, kernel_width = KW;
    static constexpr int stride_height = SH, stride_width = SW, padding_height = PH, padding_width = PW, dilation_height = DH, dilation_width = DW;
    static constexpr int groups = G, group_channels = C / G, group_outputs = O / G;
    static constexpr int out_height = (H + 2 * PH - DH * (KH - 1) - 1) / SH + 1, out_width = (W + 2 * PW - DW * (KW - 1) - 1) / SW + 1;
    static constexpr int in_plane = H * W, out_plane = out_height * out_width, taps = KH * KW, depth = group_channels * taps;
    static constexpr bool padded = PH > 0 || PW > 0;
    static_assert(C % G == 0 && O % G == 0 && out_height > 0 && out_width > 0);
};

/// The order in which positions of a plane follow each other: row by row.
struct Rowwise {
    static constexpr int window = 1;
    template <int Height, int Width>
    static constexpr int count = Height * Width; ///< positions of a plane
    template <int Height, int Width>
    static constexpr int stored = Height * Width; ///< elements of a plane in memory
    template <int Height, int Width>
    static constexpr int rows = Height;
    template <int Height, int Width>
    static constexpr int columns = Width;

    template <int Height, int Width>
    __device__ static int row(int p) { return p / Width; }
    template <int Height, int Width>
    __device__ static int column(int p) { return p % Width; }
    template <int Width>
    __device__ static int offset(int row, int column) { return row * Width + column; }
    __device__ static int tap(int, int) { return 0; }
};

/// Window by window of a WH x WW pool whose stride is its size, so that neighbours are one window; positions in no window are left
/// out. Elements in memory are pooled: one for each window.
template <int WH, int WW>
struct Windowed {
    static constexpr int window = WH * WW;
    static_assert(window == 2 || window == 4, "tenon: a thread holds whole windows of 2 or 4 positions");
    template <int Height, int Width>
    static constexpr int count = (Height / WH) * (Width / WW) * window;
    template <int Height, int Width>
    static constexpr int stored = (Height / WH) * (Width / WW);
    template <int Height, int Width>
    static constexpr int rows = Height / WH * WH;
    template <int Height, int Width>
    static constexpr int columns = Width / WW * WW;

    template <int Height, int Width>
    __device__ static int row(int p) { return p / window / (Width / WW) * WH + p % window / WW; }
    template <int Height, int Width>
    __device__ static int column(int p) { return p / window % (Width / WW) * WW + p % WW; }
    template <int Width>
    __device__ static int offset(int row, int column) { return row / WH * (Width / WW) + column / WW; }
    __device__ static int tap(int row, int column) { return row % WH * WW + column % WW; }
};

/// What a position or a tap contributes to an address: an offset, and a row and column where a border must be watched.
template <class Offset>
struct Place2d {
    Offset offset;
    int row, column;
};

namespace detail {

/// Tap k of a kernel: (channel, kernel row, kernel column), in a plane of `Plane` elements with `Width` in a row.
template <class G, int Plane, int Width, int Sign>
__device__ inline Place2d<int> tap_place(int k) {
    int const channel = k / G::taps, tap = k % G::taps;
    int const row = tap / G::kernel_width * G::dilation_height, column = tap % G::kernel_width * G::dilation_width;
    return {channel * Plane + Sign * (row * Width + column), row, column};
}

/// The top left corner of an output position's patch.
template <class G, class Map>
__device__ inline Place2d<index_t> patch_place(index_t first, int local) {
    constexpr int height = G::out_height, width = G::out_width;
    Spot const spot = find_spot<Map::template count<height, width>>(first, local);
    int const row = Map::template row<height, width>(spot.position) * G::stride_height - G::padding_height;
    int const column = Map::template column<height, width>(spot.position) * G::stride_width - G::padding_width;
    return {spot.sample * (G::channels * G::in_plane) + row * G::width + column, row, column};
}

template <class G>
__device__ inline Location patch_element(Place2d<index_t> const& patch, Place2d<int> const& tap) {
    bool inside = true;
    if constexpr (G::padded) {
        inside = static_cast<unsigned>(patch.row + tap.row) < static_cast<unsigned>(G::height) &&
                 static_cast<unsigned>(patch.column + tap.column) < static_cast<unsigned>(G::width);
    }
    return {patch.offset + tap.offset, 0, inside};
}

/// The largest depth whose taps are tabulated: 8 KiB of shared memory.
inline constexpr int largest_table = 1024;
[[nodiscard]] constexpr int table_for(int depth) { return depth <= largest_table ? depth : 0; }

} // namespace detail

/// x: output positions, k: input channels and taps.
template <class E, class G, class Map = Rowwise>
struct Patches {
    using Element = E;
    using X = Place2d<index_t>;
    using K = Place2d<int>;
    static constexpr bool across = false, along = false, expands = false;
    static constexpr int vector = 1, table = detail::table_for(G::depth);

    __device__ static X x_part(index_t first, int local, int group) {
        X x = detail::patch_place<G, Map>(first, local);
        x.offset += group * (G::group_channels * G::in_plane);
        return x;
    }
    __device__ static K k_part(index_t first, int local) { return detail::tap_place<G, G::in_plane, G::width, 1>(static_cast<int>(first) + local); }
    __device__ static Location locate(X const& x, K const& k) { return detail::patch_element<G>(x, k); }
};

/// x: input channels and taps, k: output positions.
template <class E, class G, class Map = Rowwise>
struct Taps {
    using Element = E;
    using X = Place2d<int>;
    using K = Place2d<index_t>;
    static constexpr bool across = false, along = false, expands = false;
    static constexpr int vector = 1, table = 0;

    __device__ static X x_part(index_t first, int local, int group) {
        X x = detail::tap_place<G, G::in_plane, G::width, 1>(static_cast<int>(first) + local);
        x.offset += group * (G::group_channels * G::in_plane);
        return x;
    }
    __device__ static K k_part(index_t first, int local) { return detail::patch_place<G, Map>(first, local); }
    __device__ static Location locate(X const& x, K const& k) { return detail::patch_element<G>(k, x); }
};

/// x: input positions, k: output channels and taps; elements are dy's. Map says how dy lies in memory: in full, or pooled.
template <class E, class G, class Map = Rowwise>
struct Reversed {
    using Element = E;
    using X = Place2d<index_t>;
    using K = Place2d<int>;
    static constexpr bool across = false, along = false, expands = false;
    static constexpr int vector = 1, table = detail::table_for(G::group_outputs * G::taps);
    static constexpr int rows = Map::template rows<G::out_height, G::out_width>, columns = Map::template columns<G::out_height, G::out_width>;
    static constexpr int plane = Map::template stored<G::out_height, G::out_width>;
    /// Offsets add up where no position is skipped and none pooled.
    static constexpr bool linear = Map::window == 1 && G::stride_height == 1 && G::stride_width == 1;

    __device__ static X x_part(index_t first, int local, int group) {
        Spot const spot = find_spot<G::in_plane>(first, local);
        int const row = spot.position / G::width + G::padding_height, column = spot.position % G::width + G::padding_width;
        return {(spot.sample * G::outputs + group * G::group_outputs) * plane + (linear ? row * G::out_width + column : 0), row, column};
    }
    __device__ static K k_part(index_t first, int local) {
        K k = detail::tap_place<G, plane, G::out_width, (linear ? -1 : 0)>(static_cast<int>(first) + local);
        return k;
    }
    __device__ static Location locate(X const& x, K const& k) {
        int row = x.row - k.row, column = x.column - k.column; // of dy, times stride
        bool inside = true;
        if constexpr (G::stride_height > 1) {
            inside = row >= 0 && row % G::stride_height == 0;
            row /= G::stride_height;
        }
        if constexpr (G::stride_width > 1) {
            inside = inside && column >= 0 && column % G::stride_width == 0;
            column /= G::stride_width;
        }
        inside = inside && static_cast<unsigned>(row) < static_cast<unsigned>(rows) && static_cast<unsigned>(column) < static_cast<unsigned>(columns);
        if constexpr (linear) return {x.offset + k.offset, 0, inside};
        else return {x.offset + k.offset + Map::template offset<G::out_width>(row, column), Map::tap(row, column), inside};
    }
};

/// dy of the folded input gradient. x: output positions row by row, k: output channels. Map says how dy lies in memory.
template <class E, class G, class Map = Rowwise>
struct Positions {
    struct X {
        index_t offset;
        int tap;
    };
    using Element = E;
    using K = int;
    static constexpr int rows = Map::template rows<G::out_height, G::out_width>, columns = Map::template columns<G::out_height, G::out_width>;
    static constexpr int positions = rows * columns, plane = Map::template stored<G::out_height, G::out_width>;
    static constexpr bool across = Map::window == 1, along = false, expands = false;
    static constexpr int vector = across ? common_power(positions, 4) : 1, table = 0;

    __device__ static X x_part(index_t first, int local, int group) {
        Spot const spot = find_spot<positions>(first, local);
        int const row = spot.position / columns, column = spot.position % columns;
        return {(spot.sample * G::outputs + group * G::group_outputs) * plane + Map::template offset<G::out_width>(row, column), Map::tap(row, column)};
    }
    __device__ static K k_part(index_t first, int local) { return (static_cast<int>(first) + local) * plane; }
    __device__ static Location locate(X const& x, K k) { return {x.offset + k, x.tap, true}; }
};

/// Weights of the input gradient. x: input channels, k: output channels and taps.
template <class E, class G>
struct FilterColumns {
    using Element = E;
    using X = int;
    using K = int;
    static constexpr bool across = false, along = true, expands = false; // taps of one output channel lie together
    static constexpr int vector = 1, table = 0;

    __device__ static X x_part(index_t first, int local, int group) {
        return (static_cast<int>(first) + local) * G::taps + group * (G::group_outputs * G::depth);
    }
    __device__ static K k_part(index_t first, int local) {
        int const k = static_cast<int>(first) + local;
        return k / G::taps * G::depth + k % G::taps;
    }
    __device__ static Location locate(X x, K k) { return {x + k, 0, true}; }
};

/// dy of the weight gradient. x: output channels, k: output positions. Pooled, each element in memory serves its whole window.
template <class E, class G, class Map = Rowwise>
struct Channels {
    using Element = E;
    using X = int;
    using K = index_t;
    static constexpr bool across = false, along = true, expands = Map::window > 1;
    static constexpr int positions = Map::template count<G::out_height, G::out_width>, plane = Map::template stored<G::out_height, G::out_width>;
    static constexpr int vector = expands ? Map::window : common_power(positions, 4), table = 0;

    __device__ static X x_part(index_t first, int local, int group) { return (static_cast<int>(first) + local + group * G::group_outputs) * plane; }
    __device__ static K k_part(index_t first, int local) {
        Spot const spot = find_spot<positions>(first, local);
        return spot.sample * (G::outputs * plane) + spot.position / Map::window;
    }
    __device__ static Location locate(X x, K k) { return {x + k, 0, true}; }
};

} // namespace tenon::cuda::tile
