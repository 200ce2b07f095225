// What a program says of the GPUs it finds. TENON_TEST_DEVICE names what this machine pretends to be (the emulator's settings make it
// so): "none": no driver; "old": a driver that is too old; "hidden": no device; "small": one with little memory. Unset: a usable one.
#include <tenon/tenon.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

using namespace tenon;

namespace {

using Net = Network<Input{256}, Linear{.out = 4096}, ReLU{}, Linear{.out = 10}>; // 4.4 MB of weights

std::string world() {
    char const* const name = std::getenv("TENON_TEST_DEVICE");
    return name == nullptr ? "" : name;
}

/// What making a trainer on the device says.
std::string message_of_trainer() {
    try {
        Trainer const trainer{Net{}, CrossEntropy{}, SGD{.momentum = 0.9f}, batch<3>, Cuda{}};
    } catch (Error const& error) {
        return error.what();
    }
    return {};
}

bool contains(std::string const& text, char const* part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("the report and the trainer's message say what is wrong") {
    std::string const report = cuda::device_report(), message = message_of_trainer();
    CAPTURE(report);
    CAPTURE(message);
    CHECK(contains(report, "CUDA runtime 1"));
    if (world() == "") {
        CHECK(cuda::available());
        CHECK(contains(report, "compute capability"));
        CHECK(contains(report, "this program has code for it"));
        CHECK(message == "");
    } else if (world() == "small") {
        CHECK(cuda::available());
        CHECK(contains(message, "the plan needs"));
        CHECK(contains(message, "bytes"));
        CHECK(contains(message, "optimiser state"));
        CHECK(contains(message, "smaller batch"));
    } else {
        CHECK_FALSE(cuda::available());
        CHECK(contains(message, world() == "none" ? "no NVIDIA driver" : world() == "old" ? "Update the driver" : "CUDA_VISIBLE_DEVICES"));
        CHECK(contains(report, world() == "none" ? "no NVIDIA driver" : world() == "old" ? "Update the driver" : "CUDA_VISIBLE_DEVICES"));
    }
}

TEST_CASE("whatever the GPU says, the CPU path of the same program works") {
    (void)message_of_trainer();
    Trainer trainer{Net{}, CrossEntropy{}, SGD{}, batch<3>, Cpu{}, Options{.seed = 1, .threads = 1}};
    std::vector<float> const x(3 * 256, 0.5f);
    std::int32_t const y[] = {1, 2, 3};
    CHECK(trainer.step(x.data(), y, 3) > 0);
}

TEST_CASE("an error that was recovered from is cleared") {
    if (world() != "") return;
    CHECK_THROWS_AS(cuda::check(cudaSetDevice(12345), "choosing a device that is not there"), Error);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(message_of_trainer() == "");
}

TEST_CASE("zero blocks are no launch") {
    if (world() != "") return;
    cuda::Stream const stream = cuda::make_stream();
    cuda::launch("nothing", &cuda::detail::probe<0>, {0, 128, 0, stream.get()});
    cuda::wait(stream.get(), "nothing");
}
