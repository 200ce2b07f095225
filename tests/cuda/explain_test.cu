// explain() of a trainer on the device: every stage with its cost, the device's limits, and the time of each kernel; timing changes no bit.
#include <tenon/tenon.hpp>
#include <tenon/train/explain.hpp>

#include "support/numbers.hpp"
#include "support/text.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace tenon;
using test::lines_with;

namespace {

using Net = Network<Input{1, 8, 8}, Conv2d{.out = 2, .kernel = 3}, ReLU{}, MaxPool2d{.kernel = 2}, Flatten{}, Linear{.out = 3}>;
constexpr index_t samples = 4;

} // namespace

TEST_CASE("the table has each stage, the kernel it is part of, the device's limits and measured times") {
    auto const x = test::random_numbers(samples * 64, 1);
    auto const y = test::random_labels(samples, 3, 2);
    Trainer timed{Net{}, CrossEntropy{}, SGD{.lr = 0.1f}, batch<samples>, Cuda{}, Options{.seed = 3, .measure_stages = true}};
    Trainer plain{Net{}, CrossEntropy{}, SGD{.lr = 0.1f}, batch<samples>, Cuda{}, Options{.seed = 3}};
    std::string const before = explain(timed);
    CAPTURE(before);
    CHECK(before.find("step of 4 samples, device ") == 0);
    CHECK(lines_with(before, "conv2d + ") == 1);
    CHECK(lines_with(before, "_weight_gradient") == 2);
    CHECK(lines_with(before, "total") == 1);
    for (int step = 0; step < 3; ++step) CHECK(static_cast<double>(timed.step(x.data(), y.data(), samples)) == static_cast<double>(plain.step(x.data(), y.data(), samples)));

    std::string const after = explain(timed);
    CAPTURE(after);
    int kernels = 0, stages = static_cast<int>(timed.program().stages.size());
    for (int s = 0; s < stages; ++s) {
        bool const launches = timed.machine().launches(timed.program().stages[static_cast<std::size_t>(s)]);
        CHECK((timed.stage_seconds(s) > 0) == launches);
        kernels += launches;
    }
    CHECK(kernels == timed.machine().captured_kernels(timed.program()));
    CHECK(lines_with(after, "with it") == stages - kernels);
    CHECK(lines_with(before, "with it") == stages - kernels);
    for (int s = 0; s < stages; ++s) CHECK(plain.stage_seconds(s) == 0);
}

TEST_CASE("the device's limits are measured") {
    cuda::Stream const stream = cuda::make_stream();
    cuda::Roofline const roofline = cuda::measure_roofline(2, stream.get());
    CHECK(roofline.flops > 1e6);
    CHECK(roofline.copy_bandwidth > 1e6);
}
