// The tile kernel as convolution: forward, input gradient and weight gradient, in every precision and with every option.
#include "tile_testing.cuh"

using namespace tile_testing;
using namespace tenon::cuda::tile;

namespace {

/// A tile that holds one sample's positions and one channel's taps, for those geometries where that can be.
template <class G>
using Whole = Tile<(G::out_plane + 31) / 32 * 32, (G::taps + 7) / 8 * 8, 16, 1, 1, 2, 2>;

template <class Precision, class T, class G>
void test_convolution(int samples) {
    CAPTURE(G::channels);
    CAPTURE(G::outputs);
    CAPTURE(samples);
    auto const seed = static_cast<unsigned>(G::channels + G::outputs + samples);
    auto const x = random_floats(samples * x_size<G>, seed), weight = random_floats(weight_size<G>, seed + 1), dy = random_floats(samples * y_size<G>, seed + 2);
    auto y = zeros(samples * y_size<G>), dx = zeros(samples * x_size<G>), dw = zeros(weight_size<G>);
    for_each_product<G>(samples, [&](std::size_t at_x, std::size_t at_weight, std::size_t at_y) {
        y[at_y] += static_cast<double>(x[at_x]) * weight[at_weight];
        dx[at_x] += static_cast<double>(dy[at_y]) * weight[at_weight];
        dw[at_weight] += static_cast<double>(dy[at_y]) * x[at_x];
    });
    OnDevice<float> const device_x{x}, device_weight{weight}, device_dy{dy};
    {
        using K = Product<Conv2dForward<Plain, G>, T, Precision, Store>;
        OnDevice<float> const result{poison(samples * y_size<G>)};
        run<K>({{device_x.data(), device_weight.data(), samples}, result.data(), {}}, samples);
        CHECK(relative_error(result.host(), y) < tolerance<Precision>);
    }
    {
        using K = Product<Conv2dInputGradient<Plain, G>, T, Precision, Store>;
        OnDevice<float> const result{poison(samples * x_size<G>)};
        run<K>({{device_dy.data(), device_weight.data(), samples}, result.data(), {}}, samples);
        CHECK(relative_error(result.host(), dx) < tolerance<Precision>);
    }
    if constexpr (G::out_plane <= 64 && !on_tensor_cores<Precision>) {
        using K = Product<Conv2dFoldedInputGradient<Plain, G>, Whole<G>, Precision, Store>;
        OnDevice<float> const result{poison(samples * x_size<G>)};
        run<K>({{device_dy.data(), device_weight.data(), samples}, result.data(), {}}, samples);
        CHECK(relative_error(result.host(), dx) < tolerance<Precision>);
    }
    {
        using K = Product<Conv2dWeightGradient<Plain, Plain, G>, T, Precision, Store>;
        OnDevice<float> const result{poison(weight_size<G>)};
        run<K>({{device_dy.data(), device_x.data(), samples}, result.data(), {}}, samples);
        CHECK(relative_error(result.host(), dw) < tolerance<Precision>);
    }
}

using Small = Tile<32, 16, 16, 1, 1, 1, 2>;

template <class Precision>
void test_precision() {
    if (!on_this_device<Precision>()) return;
    test_convolution<Precision, Small, Convolution<3, 10, 9, 7, 3, 3>>(5);
    test_convolution<Precision, Tile<32, 16, 32, 1, 1, 2, 2, 3>, Convolution<2, 8, 12, 20, 5, 5, 1, 1, 2, 2>>(3); // borders, shared depth
}

} // namespace

TEST_CASE("convolutions by tiles, float") { test_precision<Float>(); }
TEST_CASE("convolutions by tiles, tf32") { test_precision<Tf32>(); }
TEST_CASE("convolutions by tiles, 3 x tf32") { test_precision<Tf32x3>(); }
TEST_CASE("convolutions by tiles, bfloat16") { test_precision<Bf16>(); }

TEST_CASE("convolutions by tiles: strides, borders, dilation and groups") {
    test_convolution<Float, Small, Convolution<3, 11, 8, 5, 3, 2, 2, 3, 1, 0>>(2);
    test_convolution<Float, Small, Convolution<2, 8, 9, 4, 3, 3, 1, 1, 2, 1, 2, 3>>(2);
    test_convolution<Float, Small, Convolution<6, 7, 9, 8, 3, 3, 2, 1, 1, 1, 1, 2, 2>>(3);
}
