/// @file
/// The input gradient of a convolution as a product over output channels alone, whose taps are then folded onto the input: each
/// position of dy is loaded once in place of once for each tap, and borders multiply nothing. In return the products of a tile are
/// added up through shared memory.
#pragma once

#include <tenon/cuda/tile/convolution.hpp>
#include <tenon/cuda/tile/epilogue.hpp>

namespace tenon::cuda::tile {

/// No folding: tiles are cut anywhere.
struct Unfolded {
    static constexpr bool folds = false;
    static constexpr int positions = 1, taps = 1, reads = 0;
};

/// Tiles hold whole samples of positions and whole channels of taps.
template <class G, class Map>
struct Folded {
    static constexpr bool folds = true;
    static constexpr int rows = Map::template rows<G::out_height, G::out_width>, columns = Map::template columns<G::out_height, G::out_width>;
    static constexpr int positions = rows * columns, taps = G::taps;
    static constexpr int reads = G::in_plane * taps; ///< for one channel of one sample, at most

    /// @param z [channels of this tile x taps][stride], position after position of sample after sample
    template <class Epilogue, int Samples, int Channels, int Stride, int Threads>
    __device__ static void fold(typename Epilogue::Args const& args, float const* z, index_t first_sample, index_t samples, int first_channel, int group) {
#pragma unroll 1
        for (int e = static_cast<int>(threadIdx.x); e < Samples * Channels * G::in_plane; e += Threads) {
            int const q = e % G::in_plane, channel = e / G::in_plane % Channels, sample = e / (G::in_plane * Channels);
            if (first_sample + sample >= samples || first_channel + channel >= G::group_channels) continue;
            float const value[1] = {at(z + channel * (taps * Stride) + sample * positions, Stride, q / G::width, q % G::width)};
            int const whole_channel = group * G::group_channels + first_channel + channel;
            Epilogue::template apply<1>(args, Position{first_sample + sample, whole_channel * G::in_plane + q, whole_channel, G::channels * G::in_plane}, value);
        }
    }

private:
    /// The output row or column that meets an input's through a tap, or a negative number.
    template <int Stride, int Count>
    __device__ static int source(int shifted) {
        if (shifted < 0 || (Stride > 1 && shifted % Stride != 0) || shifted / Stride >= Count) return -1;
        return shifted / Stride;
    }

    __device__ static float at(float const* z, int stride, int row, int column) {
        float sum = 0;
#pragma unroll
        for (int ky = 0; ky < G::kernel_height; ++ky) {
            int const y = source<G::stride_height, rows>(row + G::padding_height - ky * G::dilation_height);
#pragma unroll
            for (int kx = 0; kx < G::kernel_width; ++kx) {
                int const x = source<G::stride_width, columns>(column + G::padding_width - kx * G::dilation_width);
                if (y >= 0 && x >= 0) sum += z[(ky * G::kernel_width + kx) * stride + y * columns + x];
            }
        }
        return sum;
    }
};

} // namespace tenon::cuda::tile
