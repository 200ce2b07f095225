// What a program says of the GPUs it finds, and of what goes wrong with them. TENON_TEST_DEVICE names what this machine pretends to
// be (the emulator's settings make it so):
//   unset      a usable device
//   none       EMU_DRIVER=none           no driver
//   old        EMU_DRIVER=12040          a driver that is too old
//   hidden     CUDA_VISIBLE_DEVICES=     no device that this process may use
//   foreign    EMU_ARCH=75               a device that this program, made for compute_90, has no code for
//   small      EMU_MEMORY=6M             little memory
//   several    EMU_DEVICES=3             three devices
//   broken     EMU_ON_FAULT=error        a kernel will fail; EMU_STREAMS=lazy: as late as on a GPU
#include <tenon/tenon.hpp>

#include "support/numbers.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

using namespace tenon;

/// The emulator's: the N-th launch, kernel or allocation from now on fails. Null on a GPU.
extern "C" __attribute__((weak)) bool emu_fail(char const* what);

namespace {

using Net = Network<Input{256}, Linear{.out = 4096}, ReLU{}, Linear{.out = 10}>; // 4.4 MB of weights
constexpr index_t samples = 3;

std::string world() {
    char const* const name = std::getenv("TENON_TEST_DEVICE");
    return name == nullptr ? "" : name;
}
bool is_usable() { return world() == "" || world() == "several" || world() == "broken"; }

using GpuTrainer = decltype(Trainer{Net{}, CrossEntropy{}, SGD{.momentum = 0.9f}, batch<samples>, Cuda{}, Options{}});

/// What `work` fails with; empty: it does not.
template <class Work>
std::string message_of(Work const& work) {
    try {
        work();
    } catch (Error const& error) {
        return error.what();
    }
    return {};
}
std::string message_of_trainer(Cuda const& where = {}) {
    return message_of([&] { GpuTrainer const trainer{Net{}, CrossEntropy{}, SGD{.momentum = 0.9f}, batch<samples>, where}; });
}

template <class AnyTrainer>
double step(AnyTrainer& trainer) {
    auto const x = test::random_numbers(samples * 256, 1);
    std::int32_t const y[] = {1, 2, 3};
    return trainer.step(x.data(), y, samples);
}
double step_on_cpu() {
    Trainer trainer{Net{}, CrossEntropy{}, SGD{}, batch<samples>, Cpu{}, Options{.seed = 1, .threads = 1}};
    return step(trainer);
}

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("the report and the trainer's message say what is wrong and what to do") {
    std::string const report = cuda::device_report(), message = message_of_trainer(), planned = cuda::device_report(GpuTrainer::memory);
    CAPTURE(report);
    CAPTURE(planned);
    CAPTURE(message);
    CHECK(contains(report, "CUDA runtime 1"));
    if (is_usable()) {
        CHECK(cuda::available());
        for (char const* const part : {"device 0: ", "compute capability ", "multiprocessors", "GiB free", "tensor cores: ", "driver for CUDA 1", "this program has code for it"})
            CHECK(contains(report, part));
        CHECK(contains(planned, tenon::message({"plan: ", GpuTrainer::memory.total, " bytes, fits"})));
        CHECK(contains(planned, "optimiser state"));
        CHECK(message == "");
        return;
    }
    if (world() == "small") {
        CHECK(cuda::available());
        CHECK(contains(planned, "does not fit"));
        for (char const* const part : {"the plan needs", " bytes", "are free", "parameters", "optimiser state", "activations", "smaller batch", "run on the CPU"}) CHECK(contains(message, part));
        cuda::MemoryInfo const memory = cuda::memory_info();
        CHECK(contains(message, std::to_string(memory.free)));
        CHECK(contains(message, std::to_string(GpuTrainer::memory.parameters)));
        CHECK(contains(message_of([&] { (void)cuda::device_memory(memory.total + 1); }), tenon::message({memory.total + 1, " bytes of the device's memory were asked for"})));
        return;
    }
    CHECK_FALSE(cuda::available());
    char const* const advice = world() == "none" ? "no NVIDIA driver" : world() == "old" ? "Update the driver" : world() == "foreign" ? "holds no code for this GPU" : "CUDA_VISIBLE_DEVICES";
    CHECK(contains(message, advice));
    CHECK(contains(report, advice));
    CHECK(contains(message, "run on the CPU"));
    CHECK(contains(message_of_trainer(Cuda{.device = 0}), advice)); // a device that is named, too
}

TEST_CASE("whatever the GPU says, the CPU path of the same program works") {
    (void)message_of_trainer();
    CHECK(step_on_cpu() > 0);
}

TEST_CASE("an error that was recovered from is cleared") {
    if (is_usable()) {
        CHECK_THROWS_WITH_AS(cuda::check(cudaSetDevice(12345), "choosing device", 12345), doctest::Contains("CUDA: choosing device 12345: "), Error);
        CHECK(contains(message_of_trainer(Cuda{.device = 99}), "this process may use "));
        CHECK(message_of_trainer() == "");
    } else {
        (void)message_of_trainer();
        (void)cuda::device_report();
    }
    CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("zero blocks are no launch") {
    if (!is_usable()) return;
    cuda::Stream const stream = cuda::make_stream();
    cuda::launch("nothing", &cuda::detail::probe<0>, {0, 128, stream.get()});
    cuda::wait(stream.get(), "nothing");
}

TEST_CASE("of several devices the one with the most free memory, or the one that is named") {
    if (world() != "several") return;
    REQUIRE(cuda::devices().size() == 3);
    GpuTrainer reference{Net{}, CrossEntropy{}, SGD{.momentum = 0.9f}, batch<samples>, Cuda{}, Options{.seed = 3}};
    CHECK(reference.machine().device() == 0); // all alike: the first
    double const loss = step(reference);
    cuda::DeviceMemory taken[2];
    for (int const device : {0, 2}) {
        cuda::DeviceScope const scope{device};
        taken[device / 2] = cuda::device_memory((device + 1) * index_t{1000000});
    }
    CHECK(cuda::choose_device().number == 1);
    CHECK(contains(cuda::device_report(), "taken unless another is named"));
    for (int const device : {-1, 2}) {
        GpuTrainer trainer{Net{}, CrossEntropy{}, SGD{.momentum = 0.9f}, batch<samples>, Cuda{.device = device}, Options{.seed = 3}};
        CHECK(trainer.machine().device() == (device < 0 ? 1 : device));
        CHECK(step(trainer) == loss);
        auto const values = test::random_numbers(5 * 256, 4);
        data::Dataset<float> const data{{256}, values, {1, 2, 3, 4, 5}, 10};
        for (Epoch const& epoch : trainer.epochs(data, 1)) CHECK(epoch.steps == 2);
        int current = -1;
        CHECK(cudaGetDevice(&current) == cudaSuccess);
        CHECK(current == 0); // the caller's device stays current
    }
}

TEST_CASE("a launch that is refused names its stage; the trainer and the stream go on") {
    if (!is_usable() || emu_fail == nullptr) return;
    GpuTrainer trainer{Net{}, CrossEntropy{}, SGD{.momentum = 0.9f}, batch<samples>, Cuda{.graphs = false}, Options{.seed = 3}};
    GpuTrainer reference{Net{}, CrossEntropy{}, SGD{.momentum = 0.9f}, batch<samples>, Cuda{.graphs = false}, Options{.seed = 3}};
    CHECK(emu_fail("launch:1"));
    std::string const message = message_of([&] { (void)step(trainer); });
    CAPTURE(message);
    CHECK(contains(message, "launching stage 0 (linear)"));
    CHECK(contains(message, "registers or shared memory"));
    CHECK(cudaGetLastError() == cudaSuccess);

    cuda::Stream const stream = cuda::make_stream();
    CHECK(emu_fail("launch:2")); // while a step is captured: the stream must not stay in capture
    std::string const captured = message_of_trainer(Cuda{.stream = stream.get()});
    CAPTURE(captured);
    CHECK(contains(captured, "launching stage "));
    cudaStreamCaptureStatus status{};
    CHECK(cudaStreamIsCapturing(stream.get(), &status) == cudaSuccess);
    CHECK(status == cudaStreamCaptureStatusNone);
    CHECK(message_of_trainer(Cuda{.stream = stream.get()}) == "");
    CHECK(step_on_cpu() > 0);
}

TEST_CASE("memory that others take between the question and the allocation") {
    if (!is_usable() || emu_fail == nullptr) return;
    CHECK(emu_fail("allocation:1"));
    std::string const message = message_of_trainer();
    CAPTURE(message);
    CHECK(contains(message, "the plan needs"));
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(message_of_trainer() == "");

    auto const values = test::random_numbers(5 * 256, 4); // a data set that finds no room is sent
    data::Dataset<float> const data{{256}, values, {1, 2, 3, 4, 5}, 10};
    double losses[2]{};
    for (int const fails : {0, 1}) {
        GpuTrainer trainer{Net{}, CrossEntropy{}, SGD{.momentum = 0.9f}, batch<samples>, Cuda{}, Options{.seed = 3}};
        CHECK(emu_fail(fails == 1 ? "allocation:2" : ""));
        for (Epoch const& epoch : trainer.epochs(data, 1)) losses[fails] = epoch.loss;
    }
    CHECK(losses[0] == losses[1]);
}

TEST_CASE("a kernel that fails: the message says how to learn which stage it was; the CPU goes on") {
    if (world() != "broken" || emu_fail == nullptr) return; // nothing works on this device afterwards
    GpuTrainer named{Net{}, CrossEntropy{}, SGD{.momentum = 0.9f}, batch<samples>, Cuda{.graphs = false}, Options{.seed = 3}};
    GpuTrainer captured{Net{}, CrossEntropy{}, SGD{.momentum = 0.9f}, batch<samples>, Cuda{}, Options{.seed = 3}};
    CHECK(emu_fail("kernel:1"));
    std::string const with_stage = message_of([&] { (void)step(named); }), without = message_of([&] { (void)step(captured); });
    CAPTURE(with_stage);
    CAPTURE(without);
    CHECK(contains(with_stage, "stage 0 (linear)"));
    CHECK(contains(without, "Cuda{.graphs = false} names the stage"));
    CHECK(contains(without, "go on on the CPU"));
    CHECK_FALSE(cuda::available());
    CHECK(contains(message_of_trainer(), "a kernel has failed"));
    CHECK(step_on_cpu() > 0);
}
