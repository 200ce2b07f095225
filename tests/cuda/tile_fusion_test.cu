// What rides on the tile kernel's loads and stores: normalised bytes, bias, pooling with its index, unpooling, relu's mask,
// momentum, two products in one launch, and the order of sums over blocks.
#include "tile_testing.cuh"

namespace fusion_testing {

using namespace tile_testing;
using namespace tenon::cuda::tile;

/// y = max over the window of (sum + bias), relu; index of the winner, the first of equals.
struct BiasPoolRelu {
    struct Args {
        float const* bias;
        float* y;
        std::uint8_t* index;
    };
    template <int Count>
    __device__ static void apply_window(Args const& a, Position const& position, float const (&value)[Count]) {
        float best = value[0];
        int winner = 0;
        for (int i = 1; i < Count; ++i)
            if (value[i] > best) best = value[i], winner = i;
        best += a.bias[position.channel];
        a.y[position.offset()] = best < 0 ? 0 : best;
        a.index[position.offset()] = static_cast<std::uint8_t>(winner);
    }
};

/// The largest of each window, and which it is: four windows in a byte.
struct PackedPool {
    struct Args {
        float* y;
        std::uint8_t* index;
    };
    template <int Count>
    __device__ static unsigned apply_window(Args const& a, Position const& position, float const (&value)[Count]) {
        unsigned winner = 0;
        for (unsigned i = 1; i < Count; ++i)
            if (value[i] > value[winner]) winner = i;
        a.y[position.offset()] = value[winner];
        return winner;
    }
    __device__ static void store_taps(Args const& a, Position const& position, unsigned taps) { a.index[position.offset() / 4] = static_cast<std::uint8_t>(taps); }
};

/// Four in a byte, the first in the lowest bits.
inline std::vector<std::uint8_t> pack_taps(std::vector<std::uint8_t> const& taps) {
    std::vector<std::uint8_t> packed((taps.size() + 3) / 4);
    for (std::size_t i = 0; i < taps.size(); ++i) packed[i / 4] = static_cast<std::uint8_t>(packed[i / 4] | taps[i] << i % 4 * 2);
    return packed;
}

/// v = mu v + g, p = p - lr v
struct Momentum {
    struct Args {
        float* p;
        float* v;
        float mu, lr;
    };
    template <int Count>
    __device__ static void apply(Args const& a, Position const& position, float const (&value)[Count]) {
        for (int i = 0; i < Count; ++i) {
            index_t const at = position.offset() + i;
            a.v[at] = a.mu * a.v[at] + value[i];
            a.p[at] -= a.lr * a.v[at];
        }
    }
};

using Sample = Convolution<2, 11, 9, 6, 3, 2>; // output 9 x 8: the last row is in no window
using Pool = Windowed<2, 2>;
inline constexpr int pooled_rows = Sample::out_height / 2, pooled_columns = Sample::out_width / 2, pooled_plane = pooled_rows * pooled_columns;

} // namespace fusion_testing

using namespace fusion_testing;

TEST_CASE("bytes are normalised, the window's maximum and its index are stored") {
    int const samples = 3;
    auto const bytes = random_bytes(samples * x_size<Sample>, 256, 1);
    auto const weight = random_floats(weight_size<Sample>, 2), bias = random_floats(Sample::outputs, 3);
    float const scale = 1 / 255.0f / 0.35f, shift = -0.29f / 0.35f;
    auto y = zeros(samples * y_size<Sample>);
    for_each_product<Sample>(samples, [&](std::size_t at_x, std::size_t at_weight, std::size_t at_y) { y[at_y] += (static_cast<double>(bytes[at_x]) * scale + shift) * weight[at_weight]; });

    index_t const count = index_t{samples} * Sample::outputs * pooled_plane;
    OnDevice<std::uint8_t> const device_bytes{bytes}, index{std::vector<std::uint8_t>(static_cast<std::size_t>(count), std::uint8_t{255})};
    OnDevice<float> const device_weight{weight}, device_bias{bias}, result{poison(count)};
    using K = Product<Conv2dForward<Normalized, Sample, Pool>, Tile<32, 16, 16, 1, 1>, Float, BiasPoolRelu>;
    run<K>({{{device_bytes.data(), scale, shift}, device_weight.data(), samples}, {device_bias.data(), result.data(), index.data()}, {}}, samples);
    std::vector<double> pooled;
    std::vector<std::uint8_t> winners;
    for (index_t plane = 0; plane < samples * Sample::outputs; ++plane)
        for (int py = 0; py < pooled_rows; ++py)
            for (int px = 0; px < pooled_columns; ++px) {
                auto const at = [&](int tap) { return y[static_cast<std::size_t>((plane * Sample::out_height + 2 * py + tap / 2) * Sample::out_width + 2 * px + tap % 2)]; };
                int winner = 0;
                for (int tap = 1; tap < 4; ++tap)
                    if (at(tap) > at(winner)) winner = tap;
                winners.push_back(static_cast<std::uint8_t>(winner));
                double const value = at(winner) + bias[static_cast<std::size_t>(plane % Sample::outputs)];
                pooled.push_back(value < 0 ? 0 : value);
            }
    CHECK(relative_error(result.host(), pooled) < 1e-5);
    CHECK(index.host() == winners);
}

template <class G, class Precision, class T>
void test_packed_winners(int samples) {
    if (!on_this_device<Precision>()) return;
    constexpr int rows = G::out_height / 2, columns = G::out_width / 2;
    auto const whole = [](std::vector<std::uint8_t> const& bytes) { return std::vector<float>(bytes.begin(), bytes.end()); };
    auto const x = whole(random_bytes(samples * x_size<G>, 5, 1)), weight = whole(random_bytes(weight_size<G>, 3, 2)); // exact in every precision, and often equal
    auto y = zeros(samples * y_size<G>);
    for_each_product<G>(samples, [&](std::size_t at_x, std::size_t at_weight, std::size_t at_y) { y[at_y] += x[at_x] * weight[at_weight]; });
    std::vector<float> pooled;
    std::vector<std::uint8_t> winners;
    for (index_t plane = 0; plane < samples * G::outputs; ++plane)
        for (int window = 0; window < rows * columns; ++window) {
            auto const at = [&](int tap) { return y[static_cast<std::size_t>((plane * G::out_height + window / columns * 2 + tap / 2) * G::out_width + window % columns * 2 + tap % 2)]; };
            int winner = 0;
            for (int tap = 1; tap < 4; ++tap)
                if (at(tap) > at(winner)) winner = tap;
            winners.push_back(static_cast<std::uint8_t>(winner));
            pooled.push_back(static_cast<float>(at(winner)));
        }
    auto const expected = pack_taps(winners);
    OnDevice<std::uint8_t> const index{std::vector<std::uint8_t>(expected.size(), std::uint8_t{255})};
    OnDevice<float> const device_x{x}, device_weight{weight}, result{poison(static_cast<index_t>(pooled.size()))};
    using K = Product<Conv2dForward<Plain, G, Pool>, T, Precision, PackedPool>;
    run<K>({{device_x.data(), device_weight.data(), samples}, {result.data(), index.data()}, {}}, samples);
    CHECK(result.host() == pooled);
    CHECK(index.host() == expected);
}

TEST_CASE("which position of each window won, four windows in a byte") {
    using Narrow = Convolution<1, 5, 9, 11, 2, 2>; // 2 x 4 windows: rows end within a tile
    test_packed_winners<Sample, Float, Tile<32, 16, 16, 1, 1>>(3);
    test_packed_winners<Sample, Tf32, Tile<32, 16, 16, 1, 1>>(3);
    test_packed_winners<Narrow, Float, Tile<64, 32, 16, 2, 2>>(5);
    test_packed_winners<Narrow, Float, Tile<16, 8, 16, 1, 1, 4>>(3); // warps that share the depth
    test_packed_winners<Narrow, Tf32, Tile<128, 16, 16, 2, 1>>(5);
    test_packed_winners<Narrow, Bf16, Tile<64, 32, 16, 2, 2>>(3);
}

template <class Precision, class T>
void test_gradients_of_pooled(int samples) {
    if (!on_this_device<Precision>()) return;
    index_t const count = index_t{samples} * Sample::outputs * pooled_plane;
    auto const x = random_floats(samples * x_size<Sample>, 4), weight = random_floats(weight_size<Sample>, 5), dy = random_floats(count, 6), y = random_floats(count, 7);
    auto const index = random_bytes(count, 4, 8);
    std::vector<double> full = zeros(samples * y_size<Sample>);
    for (std::size_t i = 0; i < dy.size(); ++i) {
        auto const plane = static_cast<int>(i) / pooled_plane, window = static_cast<int>(i) % pooled_plane;
        int const row = window / pooled_columns * 2 + index[i] / 2, column = window % pooled_columns * 2 + index[i] % 2;
        full[static_cast<std::size_t>((plane * Sample::out_height + row) * Sample::out_width + column)] = y[i] <= 0 ? 0 : dy[i];
    }
    auto dx = zeros(samples * x_size<Sample>), dw = zeros(weight_size<Sample>);
    for_each_product<Sample>(samples, [&](std::size_t at_x, std::size_t at_weight, std::size_t at_y) {
        dx[at_x] += full[at_y] * weight[at_weight];
        dw[at_weight] += full[at_y] * x[at_x];
    });
    OnDevice<float> const device_x{x}, device_weight{weight}, device_dy{dy}, device_y{y}, result_dx{poison(samples * x_size<Sample>)}, result_dw{poison(weight_size<Sample>)};
    OnDevice<std::uint8_t> const device_index{index};
    ReluUnpooled::Args const masked{device_dy.data(), device_y.data(), device_index.data()};
    using InputGradient = Product<Conv2dInputGradient<ReluUnpooled, Sample, Pool>, T, Precision, Store>;
    run<InputGradient>({{masked, device_weight.data(), samples}, result_dx.data(), {}}, samples);
    CHECK(relative_error(result_dx.host(), dx) < tolerance<Precision>);
    using Folding = Product<Conv2dFoldedInputGradient<ReluUnpooled, Sample, Pool>, Tile<128, 16, 16, 2, 1>, Precision, Store>; // two samples to a tile
    OnDevice<float> const folded{poison(samples * x_size<Sample>)};
    run<Folding>({{masked, device_weight.data(), samples}, folded.data(), {}}, samples);
    CHECK(relative_error(folded.host(), dx) < tolerance<Precision>);
    using WeightGradient = Product<Conv2dWeightGradient<ReluUnpooled, Plain, Sample, Pool>, T, Precision, Store>;
    run<WeightGradient>({{masked, device_x.data(), samples}, result_dw.data(), {}}, samples);
    CHECK(relative_error(result_dw.host(), dw) < tolerance<Precision>);

    // The same sums, bit for bit, from winners four in a byte.
    auto masked_dy = dy;
    for (std::size_t i = 0; i < dy.size(); ++i)
        if (y[i] <= 0) masked_dy[i] = 0;
    OnDevice<float> const device_masked{masked_dy}, packed_dx{poison(samples * x_size<Sample>)}, packed_folded{poison(samples * x_size<Sample>)}, packed_dw{poison(weight_size<Sample>)};
    OnDevice<std::uint8_t> const device_packed{pack_taps(index)};
    PackedUnpooled::Args const packed{device_masked.data(), device_packed.data()};
    run<Product<Conv2dInputGradient<PackedUnpooled, Sample, Pool>, T, Precision, Store>>({{packed, device_weight.data(), samples}, packed_dx.data(), {}}, samples);
    run<Product<Conv2dFoldedInputGradient<PackedUnpooled, Sample, Pool>, Tile<128, 16, 16, 2, 1>, Precision, Store>>({{packed, device_weight.data(), samples}, packed_folded.data(), {}}, samples);
    run<Product<Conv2dWeightGradient<PackedUnpooled, Plain, Sample, Pool>, T, Precision, Store>>({{packed, device_x.data(), samples}, packed_dw.data(), {}}, samples);
    CHECK(packed_dx.host() == result_dx.host());
    CHECK(packed_folded.host() == folded.host());
    CHECK(packed_dw.host() == result_dw.host());
}

TEST_CASE("gradients are unpooled and masked as they are loaded") {
    test_gradients_of_pooled<Float, Tile<32, 32, 16, 1, 1>>(3);
    test_gradients_of_pooled<Tf32, Tile<32, 32, 16, 1, 1>>(3);
}

TEST_CASE("relu's mask on a linear layer's gradient") {
    constexpr int in = 37, out = 12, samples = 21;
    auto const dy = random_floats(samples * out, 1), y = random_floats(samples * out, 2), weight = random_floats(in * out, 3);
    std::vector<float> masked = dy;
    for (std::size_t i = 0; i < masked.size(); ++i)
        if (y[i] <= 0) masked[i] = 0;
    OnDevice<float> const device_dy{dy}, device_y{y}, device_weight{weight}, dx{poison(samples * in)};
    using K = Product<LinearInputGradient<ReluMasked, in, out>, Tile<32, 16, 16, 1, 1>, Float, Store>;
    run<K>({{{device_dy.data(), device_y.data()}, device_weight.data(), samples}, dx.data(), {}}, samples);
    CHECK(relative_error(dx.host(), product(masked, transposed(weight, out, in), samples, in, out)) < 1e-5);
}

TEST_CASE("momentum rides on the weight gradient; sums over blocks are the same bits every time") {
    constexpr int in = 33, out = 20, samples = 340;
    auto const dy = random_floats(samples * out, 1), x = random_floats(samples * in, 2), p = random_floats(in * out, 3), v = random_floats(in * out, 4);
    auto const gradient = product(transposed(dy, samples, out), transposed(x, samples, in), out, in, samples);
    std::vector<double> expected_p, expected_v;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        double const first = 0.9 * v[i] + gradient[i], second = 0.9 * first + gradient[i];
        expected_v.push_back(second);
        expected_p.push_back(p[i] - 0.1 * first - 0.1 * second);
    }
    OnDevice<float> const device_dy{dy}, device_x{x};
    using K = Product<LinearWeightGradient<Plain, Plain, in, out>, Tile<32, 32, 16, 1, 1, 1, 2, 20>, Float, Momentum>; // two levels of groups
    std::vector<float> first_run;
    for (int repeat = 0; repeat < 2; ++repeat) {
        OnDevice<float> const device_p{p}, device_v{v};
        run<K>({{device_dy.data(), device_x.data(), samples}, {device_p.data(), device_v.data(), 0.9f, 0.1f}, {}}, samples, true); // meets twice
        CHECK(relative_error(device_p.host(), expected_p) < 1e-5);
        CHECK(relative_error(device_v.host(), expected_v) < 1e-5);
        if (repeat == 0) first_run = device_p.host();
        else CHECK(first_run == device_p.host());
    }
}

TEST_CASE("two products in one launch") {
    constexpr int samples = 10;
    auto const x = random_floats(samples * 24, 1), weight = random_floats(24 * 9, 2), dy = random_floats(samples * 7, 3), z = random_floats(samples * 5, 4);
    OnDevice<float> const device_x{x}, device_weight{weight}, device_dy{dy}, device_z{z}, y{poison(samples * 9)}, dw{poison(7 * 5)};
    using T = Tile<32, 16, 16, 1, 1>;
    using First = Product<LinearForward<Plain, 24, 9>, T, Float, Store>;
    using Second = Product<LinearWeightGradient<Plain, Plain, 5, 7>, T, Float, Store>;
    First::Args const first{{device_x.data(), device_weight.data(), samples}, y.data(), {}};
    Second::Args const second{{device_dy.data(), device_z.data(), samples}, dw.data(), {}};
    tenon::cuda::launch("two products", two_products_kernel<First, Second>, {.grid = First::blocks(samples) + Second::blocks(samples), .block = First::threads}, first, second);
    CHECK(relative_error(y.host(), product(x, weight, samples, 9, 24)) < 1e-5);
    CHECK(relative_error(dw.host(), product(transposed(dy, samples, 7), transposed(z, samples, 5), 7, 5, samples)) < 1e-5);
}
