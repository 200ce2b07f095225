// The tile kernel as fully connected layer: forward, input gradient, weight gradient, in every precision.
#include "tile_testing.cuh"

using namespace tile_testing;
using namespace tenon::cuda::tile;

namespace {

template <class Precision, class T, int In, int Out>
void test_linear(int samples) {
    CAPTURE(In);
    CAPTURE(Out);
    CAPTURE(samples);
    auto const seed = static_cast<unsigned>(In + Out + samples);
    auto const x = random_floats(index_t{samples} * In, seed), weight = random_floats(index_t{Out} * In, seed + 1), dy = random_floats(index_t{samples} * Out, seed + 2);
    OnDevice<float> const device_x{x}, device_weight{weight}, device_dy{dy};
    {
        using K = Product<LinearForward<Plain, In, Out>, T, Precision, Store>;
        OnDevice<float> const y{poison(index_t{samples} * Out)};
        run<K>({{device_x.data(), device_weight.data(), samples}, y.data(), {}}, samples);
        CHECK(relative_error(y.host(), product(x, weight, samples, Out, In)) < tolerance<Precision>);
    }
    {
        using K = Product<LinearInputGradient<Plain, In, Out>, T, Precision, Store>;
        OnDevice<float> const dx{poison(index_t{samples} * In)};
        run<K>({{device_dy.data(), device_weight.data(), samples}, dx.data(), {}}, samples);
        CHECK(relative_error(dx.host(), product(dy, transposed(weight, Out, In), samples, In, Out)) < tolerance<Precision>);
    }
    {
        using K = Product<LinearWeightGradient<Plain, Plain, In, Out>, T, Precision, Store>;
        OnDevice<float> const dw{poison(index_t{Out} * In)};
        run<K>({{device_dy.data(), device_x.data(), samples}, dw.data(), {}}, samples);
        CHECK(relative_error(dw.host(), product(transposed(dy, samples, Out), transposed(x, samples, In), Out, In, samples)) < tolerance<Precision>);
    }
}

template <class Precision>
void test_shapes() {
    if (!on_this_device<Precision>()) return;
    test_linear<Precision, Tile<64, 32, 16, 2, 1>, 100, 52>(70);     // 16-byte copies
    test_linear<Precision, Tile<32, 16, 16, 2, 1>, 37, 29>(19);      // multiples of nothing
    test_linear<Precision, Tile<32, 16, 32, 1, 1, 2, 2>, 66, 10>(4); // warps share the depth
    test_linear<Precision, Tile<64, 32, 16, 1, 1, 1, 2, 3>, 61, 131>(50); // blocks share the depth
}

} // namespace

TEST_CASE("linear layers by tiles, float") { test_shapes<Float>(); }
TEST_CASE("linear layers by tiles, tf32") { test_shapes<Tf32>(); }
TEST_CASE("linear layers by tiles, 3 x tf32") { test_shapes<Tf32x3>(); }
TEST_CASE("linear layers by tiles, bfloat16") { test_shapes<Bf16>(); }
