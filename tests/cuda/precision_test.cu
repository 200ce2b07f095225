// Products at each precision, against the definition in double, for batches that tensor cores are used for; training at lower precision.
#include "device_run.cuh"

#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/pool2d/pool2d.hpp>
#include <tenon/tenon.hpp>

using namespace tenon;

namespace {

/// The largest error that a tensor may have, relative to its largest magnitude, and the least that shows that factors were rounded.
struct Limits {
    double most, least;
};
template <class Factors>
inline constexpr Limits limits{1e-5, 0};
template <>
inline constexpr Limits limits<tf32>{1e-3, 1e-5};
template <>
inline constexpr Limits limits<bf16>{1e-2, 2e-4};

[[nodiscard]] bool device_has_tensor_cores() {
    int major = 0;
    cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), "asking for the compute capability");
    return major >= 8;
}

template <class Factors, Input In, auto... Layers>
void check_products() {
    double const error = test::test_products<Factors, 37, In, Layers...>({.tolerance = limits<Factors>.most});
    CHECK(error >= limits<Factors>.least);
}

template <class Factors>
void check_precision() {
    if (!std::is_same_v<Factors, float32> && !device_has_tensor_cores()) return;
    check_products<Factors, Input{67}, Linear{.out = 45}>();
    check_products<Factors, Input{3, 9, 8}, Conv2d{.out = 10, .kernel = {3, 2}, .stride = {1, 2}, .padding = 1}>();
}

using Net = Network<Input{1, 10, 10}, Conv2d{.out = 6, .kernel = 3}, ReLU{}, MaxPool2d{.kernel = 2}, Flatten{}, Linear{.out = 16}, ReLU{}, Linear{.out = 4}>;

/// Losses of six steps.
template <class AnyTrainer>
std::vector<double> losses(AnyTrainer& trainer) {
    std::vector<double> found;
    for (std::uint64_t s = 0; s < 6; ++s) {
        auto const x = test::random_numbers(AnyTrainer::batch_size * AnyTrainer::features, 10 + s);
        auto const y = test::random_labels(AnyTrainer::batch_size, 4, 20 + s);
        found.push_back(trainer.step(x.data(), y.data(), AnyTrainer::batch_size));
    }
    return found;
}

template <class Factors>
void check_training() {
    constexpr SGD sgd{.lr = 0.05f, .momentum = 0.9f};
    Options const options{.seed = 2, .threads = 1};
    Trainer cpu{Net{}, CrossEntropy{}, sgd, batch<37>, precision<Factors>, options}; // which ignores it
    Trainer exact{Net{}, CrossEntropy{}, sgd, batch<37>, options};
    auto const expected = losses(cpu);
    CHECK(expected == losses(exact));
    if (!device_has_tensor_cores()) {
        CHECK_THROWS_WITH_AS((Trainer{Net{}, CrossEntropy{}, sgd, batch<37>, precision<Factors>, Cuda{}, options}),
                             doctest::Contains("precision<...> needs 8.0"), Error);
        return;
    }
    Trainer gpu{Net{}, CrossEntropy{}, sgd, batch<37>, precision<Factors>, Cuda{}, options};
    Trainer again{Net{}, CrossEntropy{}, sgd, batch<37>, precision<Factors>, Cuda{}, options};
    auto const found = losses(gpu);
    CHECK(found == losses(again));
    for (std::size_t s = 0; s < expected.size(); ++s) CHECK(found[s] == doctest::Approx(expected[s]).epsilon(limits<Factors>.most));
    CHECK(found != expected);
}

} // namespace

TEST_CASE("products of float32 factors") {
    check_precision<float32>();
    (void)test::test_products<float32, 37, Input{2, 9, 8}, Conv2d{.out = 3, .kernel = 3}, ReLU{}, MaxPool2d{.kernel = 2}, Conv2d{.out = 4, .kernel = 2}>({.tolerance = 1e-5});
}
TEST_CASE("products of tf32 factors") { check_precision<tf32>(); }
TEST_CASE("products of factors that are two tf32") {
    check_precision<tf32x3>();
    if (device_has_tensor_cores())
        (void)test::test_products<tf32x3, 37, Input{2, 9, 8}, Conv2d{.out = 3, .kernel = 3}, Tanh{}, MaxPool2d{.kernel = 2}, Conv2d{.out = 4, .kernel = 2}>({.tolerance = 1e-5});
}
TEST_CASE("products of bfloat16 factors") { check_precision<bf16>(); }

TEST_CASE("training at lower precision: near the CPU's losses, the same bits run after run, refused where the device cannot") {
    check_training<tf32>();
    check_training<bf16>();
}
