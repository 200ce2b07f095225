// LeNet's products with the tiles that are chosen for them and everything that rides on them, each against an oracle in double.
#include "tile_lenet.cuh"
#include "tile_testing.cuh"

using namespace tile_testing;
using namespace lenet;

namespace {

/// A convolution layer with its pool: forward, and both gradients from the pooled layer's.
template <class G, class X, class Steps, class Forward, class WeightGradient, class Precision>
struct PooledLayer {
    static constexpr index_t plane = index_t{G::out_height / 2} * (G::out_width / 2), pooled_size = G::outputs * plane;
    static constexpr index_t y_of(index_t plane_number, index_t window, int tap) {
        index_t const row = window / (G::out_width / 2) * 2 + tap / 2, column = window % (G::out_width / 2) * 2 + tap % 2;
        return (plane_number * G::out_height + row) * G::out_width + column;
    }

    int samples;
    std::vector<float> x, weight = random_floats(weight_size<G>, 11), bias = random_floats(G::outputs, 12);
    std::vector<double> y, pooled;
    std::vector<std::uint8_t> index;

    PooledLayer(int count, std::vector<float> const& values) : samples{count}, x{values}, y{zeros(count * y_size<G>)} {
        for_each_product<G>(samples, [&](std::size_t at_x, std::size_t at_weight, std::size_t at_y) { y[at_y] += static_cast<double>(x[at_x]) * weight[at_weight]; });
        for (index_t p = 0; p < samples * G::outputs; ++p)
            for (index_t window = 0; window < plane; ++window) {
                int winner = 0;
                for (int tap = 1; tap < 4; ++tap)
                    if (y[static_cast<std::size_t>(y_of(p, window, tap))] > y[static_cast<std::size_t>(y_of(p, window, winner))]) winner = tap;
                double const value = y[static_cast<std::size_t>(y_of(p, window, winner))] + bias[static_cast<std::size_t>(p % G::outputs)];
                pooled.push_back(value < 0 ? 0 : value);
                index.push_back(static_cast<std::uint8_t>(winner));
            }
    }

    void test(typename X::Args device_x) {
        OnDevice<float> const device_weight{weight}, device_bias{bias}, result{poison(samples * pooled_size)};
        OnDevice<std::uint8_t> const winners{std::vector<std::uint8_t>(index.size(), std::uint8_t{255})};
        run<Forward>({{device_x, device_weight.data(), samples}, {device_bias.data(), result.data(), winners.data()}, {}}, samples);
        CHECK(relative_error(result.host(), pooled) < tolerance<Precision>);
        auto const got = winners.host();
        std::size_t different = 0;
        for (std::size_t i = 0; i < got.size(); ++i) different += got[i] != index[i];
        CHECK(different <= (tolerance<Precision> < 1e-4 ? 0 : got.size() / 50)); // near ties fall otherwise when factors are rounded

        auto const dy = random_floats(samples * pooled_size, 13);
        std::vector<float> activation;
        for (double value : pooled) activation.push_back(static_cast<float>(value));
        auto full = zeros(samples * y_size<G>), dx = zeros(samples * x_size<G>), dw = zeros(weight_size<G>);
        for (std::size_t i = 0; i < dy.size(); ++i)
            full[static_cast<std::size_t>(y_of(static_cast<index_t>(i) / plane, static_cast<index_t>(i) % plane, index[i]))] = activation[i] <= 0 ? 0 : dy[i];
        for_each_product<G>(samples, [&](std::size_t at_x, std::size_t at_weight, std::size_t at_y) {
            dx[at_x] += full[at_y] * weight[at_weight];
            dw[at_weight] += full[at_y] * x[at_x];
        });
        OnDevice<float> const device_dy{dy}, device_activation{activation}, velocity{std::vector<float>(weight.size(), 0.0f)}, zero{std::vector<float>(weight.size(), 0.0f)};
        OnDevice<std::uint8_t> const device_index{index};
        ReluUnpooled::Args const masked{device_dy.data(), device_activation.data(), device_index.data()};
        if constexpr (G::channels > 1) {
            OnDevice<float> const result_dx{poison(samples * x_size<G>)};
            run<typename Steps::conv2_input_gradient>({{masked, device_weight.data(), samples}, result_dx.data(), {}}, samples);
            CHECK(relative_error(result_dx.host(), dx) < tolerance<Precision>);
        }
        run<WeightGradient>({{masked, device_x, samples}, {zero.data(), velocity.data(), 0.9f, 0.1f}, {}}, samples);
        CHECK(relative_error(velocity.host(), dw) < tolerance<Precision>);
    }
};

template <class Precision, index_t Batch>
void test_convolutions(int samples) {
    using S = Step<Precision, Batch>;
    auto const bytes = random_bytes(samples * x_size<Conv1>, 256, 1);
    float const scale = 1 / 255.0f / 0.35f, shift = -0.29f / 0.35f;
    std::vector<float> images;
    for (std::uint8_t byte : bytes) images.push_back(static_cast<float>(byte) * scale + shift);
    OnDevice<std::uint8_t> const device_bytes{bytes};
    PooledLayer<Conv1, Normalized, S, typename S::conv1_forward, typename S::conv1_weight_gradient, Precision>{samples, images}.test({device_bytes.data(), scale, shift});
    auto const x = random_floats(samples * x_size<Conv2>, 2);
    OnDevice<float> const device_x{x};
    PooledLayer<Conv2, Plain, S, typename S::conv2_forward, typename S::conv2_weight_gradient, Precision>{samples, x}.test(device_x.data());
}

template <class Precision, int In, int Out, class Forward, class InputGradient, class WeightGradient, class DY>
void test_linear(int samples) {
    auto const x = random_floats(index_t{samples} * In, 1), weight = random_floats(index_t{Out} * In, 2), bias = random_floats(Out, 3), dy = random_floats(index_t{samples} * Out, 4);
    OnDevice<float> const device_x{x}, device_weight{weight}, device_bias{bias}, device_dy{dy};
    OnDevice<float> const y{poison(index_t{samples} * Out)}, dx{poison(index_t{samples} * In)}, velocity{std::vector<float>(weight.size(), 0.0f)}, zero{std::vector<float>(weight.size(), 0.0f)};
    auto expected = product(x, weight, samples, Out, In);
    std::vector<float> activation, masked = dy;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i] += bias[i % Out];
        if (!std::is_same_v<DY, Plain> && expected[i] < 0) expected[i] = 0;
        activation.push_back(static_cast<float>(expected[i]));
        if (!std::is_same_v<DY, Plain> && activation[i] <= 0) masked[i] = 0;
    }
    OnDevice<float> const device_activation{activation};
    typename DY::Args gradient;
    if constexpr (std::is_same_v<DY, Plain>) gradient = device_dy.data();
    else gradient = {device_dy.data(), device_activation.data()};
    run<Forward>({{device_x.data(), device_weight.data(), samples}, {device_bias.data(), y.data()}, {}}, samples);
    CHECK(relative_error(y.host(), expected) < tolerance<Precision>);
    run<InputGradient>({{gradient, device_weight.data(), samples}, dx.data(), {}}, samples);
    CHECK(relative_error(dx.host(), product(masked, transposed(weight, Out, In), samples, In, Out)) < tolerance<Precision>);
    run<WeightGradient>({{gradient, device_x.data(), samples}, {zero.data(), velocity.data(), 0.9f, 0.1f}, {}}, samples);
    CHECK(relative_error(velocity.host(), product(transposed(masked, samples, Out), transposed(x, samples, In), Out, In, samples)) < tolerance<Precision>);
}

template <class Precision, index_t Batch>
void test_step(int samples) {
    if (!on_this_device<Precision>()) return;
    CAPTURE(samples);
    using S = Step<Precision, Batch>;
    test_convolutions<Precision, Batch>(samples);
    test_linear<Precision, 800, 500, typename S::fc1_forward, typename S::fc1_input_gradient, typename S::fc1_weight_gradient, ReluMasked>(samples);
    test_linear<Precision, 500, 10, typename S::fc2_forward, typename S::fc2_input_gradient, typename S::fc2_weight_gradient, Plain>(samples);
}

} // namespace

TEST_CASE("LeNet's products, float, tiles for a batch of 4") {
    test_step<Float, 4>(4);
    test_step<Float, 4>(3);
}
TEST_CASE("LeNet's products, tf32, tiles for a batch of 64") { test_step<Tf32, 64>(9); }
