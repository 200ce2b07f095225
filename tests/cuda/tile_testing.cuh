/// @file
/// What the tests of the tile kernel share: device memory, random values, oracles in double, errors by norm.
#pragma once

#include <tenon/cuda/launch.hpp>
#include <tenon/cuda/tile/products.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace tile_testing {

using tenon::index_t;
namespace tile = tenon::cuda::tile;

/// A vector on the device. Results begin as NaN, so that what is not written is seen.
template <class T>
class OnDevice {
public:
    explicit OnDevice(std::vector<T> const& values) : count_{values.size()}, memory_{tenon::cuda::device_memory(bytes())} {
        tenon::cuda::check(cudaMemcpy(memory_.get(), values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "copying a test's input");
    }
    [[nodiscard]] T* data() const { return static_cast<T*>(memory_.get()); }
    [[nodiscard]] std::vector<T> host() const {
        std::vector<T> values(count_);
        tenon::cuda::check(cudaMemcpy(values.data(), memory_.get(), count_ * sizeof(T), cudaMemcpyDeviceToHost), "copying a test's result");
        return values;
    }

private:
    std::size_t count_;
    tenon::cuda::DeviceMemory memory_;
    [[nodiscard]] index_t bytes() const { return static_cast<index_t>(count_ * sizeof(T)); }
};

[[nodiscard]] inline std::vector<float> poison(index_t count) { return std::vector<float>(static_cast<std::size_t>(count), std::numeric_limits<float>::quiet_NaN()); }

[[nodiscard]] inline std::vector<float> random_floats(index_t count, unsigned seed) {
    std::mt19937 generator{seed};
    std::uniform_real_distribution<float> distribution{-1, 1};
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& v : values) v = distribution(generator);
    return values;
}

[[nodiscard]] inline std::vector<std::uint8_t> random_bytes(index_t count, unsigned below, unsigned seed) {
    std::mt19937 generator{seed};
    std::vector<std::uint8_t> values(static_cast<std::size_t>(count));
    for (auto& v : values) v = static_cast<std::uint8_t>(generator() % below);
    return values;
}

/// || got - expected || / || expected ||; NaN where anything is NaN.
[[nodiscard]] inline double relative_error(std::vector<float> const& got, std::vector<double> const& expected) {
    REQUIRE(got.size() == expected.size());
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        double const d = got[i] - expected[i];
        difference += d * d;
        norm += expected[i] * expected[i];
    }
    return std::sqrt(difference / norm);
}

/// What each precision owes its user.
template <class Precision>
inline constexpr double tolerance = 1e-5;
template <>
inline constexpr double tolerance<tile::Tf32> = 1e-3;
template <>
inline constexpr double tolerance<tile::Bf16> = 1e-2;

/// Has this device what the precision needs?
template <class Precision>
[[nodiscard]] bool on_this_device() {
    int device = 0, major = 0;
    tenon::cuda::check(cudaGetDevice(&device), "asking for the device");
    tenon::cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "asking for the compute capability");
    return 10 * major >= tile::least_architecture<Precision>;
}

/// Runs product K for so many samples and gives it what its blocks need to meet.
template <class K>
void run(typename K::Args args, index_t samples, bool twice = false) {
    OnDevice<float> const partial{poison(K::partial_floats(samples))};
    OnDevice<unsigned> const arrived{std::vector<unsigned>(static_cast<std::size_t>(K::counters(samples)), 0u)};
    args.meeting = {partial.data(), arrived.data()};
    for (int i = 0; i < (twice ? 2 : 1); ++i)
        tenon::cuda::launch("a product", tile::product_kernel<K>, {.grid = K::blocks(samples), .block = K::threads}, args);
    tenon::cuda::check(cudaDeviceSynchronize(), "a product");
}

// --- oracles

/// [rows, columns] = a [rows, depth] b [columns, depth] transposed.
[[nodiscard]] inline std::vector<double> product(std::vector<float> const& a, std::vector<float> const& b, index_t rows, index_t columns, index_t depth) {
    std::vector<double> result(static_cast<std::size_t>(rows * columns));
    for (index_t x = 0; x < rows; ++x)
        for (index_t y = 0; y < columns; ++y) {
            double sum = 0;
            for (index_t k = 0; k < depth; ++k) sum += static_cast<double>(a[static_cast<std::size_t>(x * depth + k)]) * b[static_cast<std::size_t>(y * depth + k)];
            result[static_cast<std::size_t>(x * columns + y)] = sum;
        }
    return result;
}

[[nodiscard]] inline std::vector<float> transposed(std::vector<float> const& a, index_t rows, index_t columns) {
    std::vector<float> result(a.size());
    for (index_t x = 0; x < rows; ++x)
        for (index_t y = 0; y < columns; ++y) result[static_cast<std::size_t>(y * rows + x)] = a[static_cast<std::size_t>(x * columns + y)];
    return result;
}

/// Calls f(x offset, weight offset, y offset) for every product of a convolution.
template <class G, class F>
void for_each_product(index_t samples, F const& f) {
    for (index_t s = 0; s < samples; ++s)
        for (int o = 0; o < G::outputs; ++o)
            for (int c = 0; c < G::group_channels; ++c)
                for (int oy = 0; oy < G::out_height; ++oy)
                    for (int ox = 0; ox < G::out_width; ++ox)
                        for (int ky = 0; ky < G::kernel_height; ++ky)
                            for (int kx = 0; kx < G::kernel_width; ++kx) {
                                int const iy = oy * G::stride_height - G::padding_height + ky * G::dilation_height;
                                int const ix = ox * G::stride_width - G::padding_width + kx * G::dilation_width;
                                if (iy < 0 || iy >= G::height || ix < 0 || ix >= G::width) continue;
                                int const channel = o / G::group_outputs * G::group_channels + c;
                                f(static_cast<std::size_t>(((s * G::channels + channel) * G::height + iy) * G::width + ix),
                                  static_cast<std::size_t>(((o * G::group_channels + c) * G::kernel_height + ky) * G::kernel_width + kx),
                                  static_cast<std::size_t>(((s * G::outputs + o) * G::out_height + oy) * G::out_width + ox));
                            }
}

template <class G>
inline constexpr index_t x_size = index_t{G::channels} * G::in_plane;
template <class G>
inline constexpr index_t y_size = index_t{G::outputs} * G::out_plane;
template <class G>
inline constexpr index_t weight_size = index_t{G::outputs} * G::depth;

[[nodiscard]] inline std::vector<double> zeros(index_t count) { return std::vector<double>(static_cast<std::size_t>(count), 0.0); }

} // namespace tile_testing
