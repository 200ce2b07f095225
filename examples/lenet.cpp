// LeNet on Fashion-MNIST: the classic PyTorch tutorial with the network as a type.
//
//   g++ -std=c++20 -O3 -march=native -Iinclude examples/lenet.cpp -o lenet && ./lenet
//   nvcc -std=c++20 -O3 -arch=native -x cu -Iinclude examples/lenet.cpp -o lenet && ./lenet --device cuda
//
// Everything about a training step is settled when this file is compiled: every shape, every buffer's place in memory, every
// kernel. `./lenet --explain` prints that plan. The batch belongs to it: -DBATCH=64 compiles the step for 64 samples.

#include <tenon/tenon.hpp>
#include <tenon/train/explain.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

using namespace tenon;

using LeNet = Network<Input{1, 28, 28},
    Named<"conv1", Conv2d{.in = 1, .out = 20, .kernel = 5}>, ReLU{}, MaxPool2d{.kernel = 2},
    Named<"conv2", Conv2d{.in = 20, .out = 50, .kernel = 5}>, ReLU{}, MaxPool2d{.kernel = 2},
    Flatten{50 * 4 * 4},
    Named<"fc1", Linear{.in = 50 * 4 * 4, .out = 500}>, ReLU{},
    Named<"fc2", Linear{.in = 500, .out = 10}>>;

static_assert(LeNet::parameters == 431'080);

#if !defined(BATCH)
#define BATCH 4
#endif

namespace {

struct Arguments {
    std::string data;
    int epochs = 2;
    float lr = 0.001f;
    float momentum = 0.9f;
    std::uint64_t seed = 1;
    int threads = 0;
    std::string device = "auto";
    bool explain = false;
};

constexpr char const* help =
    "Trains LeNet on Fashion-MNIST (or MNIST) and tests it.\n"
    "\n"
    "  --data FOLDER    the four IDX files, plain or .gz; else $TENON_DATA, ./data and /usr/share/datasets/fashion-mnist\n"
    "  --epochs N       passes over the training set (default 2)\n"
    "  --lr X           learning rate of SGD (default 0.001)\n"
    "  --momentum X     its momentum (default 0.9)\n"
    "  --seed N         of initial weights and order (default 1): the same seed gives the same bits on any number of threads\n"
    "  --threads N      0: one for each core (default)\n"
    "  --device D       cpu, cuda, or auto: cuda where this program was compiled by nvcc and finds a GPU with enough memory (default auto)\n"
    "  --explain        also print the planned step, stage by stage, with measured times\n"
    "  --help           this text\n";

[[noreturn]] void refuse(std::string const& message) {
    std::fprintf(stderr, "lenet: %s\n\n%s", message.c_str(), help);
    std::exit(2);
}

double number(char const* option, char const* text, double least, double most) {
    char* end = nullptr;
    double const value = std::strtod(text, &end);
    if (end == text || *end != 0 || !(value >= least && value <= most))
        refuse(std::string{option} + " takes a number from " + std::to_string(least) + " to " + std::to_string(most) + ", not '" + text + "'");
    return value;
}

Arguments parse(int count, char** words) {
    Arguments a;
    for (int i = 1; i < count; ++i) {
        std::string const option = words[i];
        if (option == "--help" || option == "-h") {
            std::fputs(help, stdout);
            std::exit(0);
        }
        if (option == "--explain") {
            a.explain = true;
            continue;
        }
        if (i + 1 == count) refuse("'" + option + "' is no option, or its value is missing");
        char const* const value = words[++i];
        if (option == "--data") a.data = value;
        else if (option == "--epochs") a.epochs = static_cast<int>(number("--epochs", value, 0, 1e6));
        else if (option == "--lr") a.lr = static_cast<float>(number("--lr", value, 0, 1e6));
        else if (option == "--momentum") a.momentum = static_cast<float>(number("--momentum", value, 0, 1));
        else if (option == "--seed") a.seed = static_cast<std::uint64_t>(number("--seed", value, 0, 9e15));
        else if (option == "--threads") a.threads = static_cast<int>(number("--threads", value, 0, 256));
        else if (option == "--device") a.device = value;
        else refuse("'" + option + "' is no option");
    }
    if (a.device != "cpu" && a.device != "cuda" && a.device != "auto") refuse("--device takes cpu, cuda or auto, not '" + a.device + "'");
    return a;
}

/// Fashion-MNIST from where it is, or digits that this program draws, with a word about it.
data::TrainTest find_data(std::string const& folder) {
    if (!folder.empty()) return data::mnist(folder);
    data::DataLocation const location = data::find_fashion_mnist();
    if (location) return data::mnist(location.folder);
    std::printf("%sGoing on with digits that this program draws itself: easier than the real data, only to see it run.\n", location.report.c_str());
    return data::digits();
}

/// What trains LeNet there.
template <class Where>
using LeNetTrainer = Trainer<LeNet, CrossEntropy, SGD, Batch<BATCH>, true, Where>;

/// Trains and tests on the device that `where` names.
template <class Where>
void train(Arguments const& a, Where where) {
    auto const [train_set, test_set] = find_data(a.data);
    LeNetTrainer<Where> trainer{LeNet{}, CrossEntropy{}, SGD{.lr = a.lr, .momentum = a.momentum}, batch<BATCH>, where, Options{.seed = a.seed, .threads = a.threads, .measure_stages = a.explain}};
    static_assert(LeNetTrainer<Where>::memory.total <= 16_MiB); // weights, momentum, activations: settled at compile time
#if defined(__CUDACC__)
    if constexpr (std::is_same_v<Where, Cuda>) std::printf("Training on device %d\n", trainer.machine().device());
#endif

    auto const start = std::chrono::steady_clock::now();
    ProgressLine progress{a.epochs * train_set.size()};
    MeanLoss running;
    constexpr index_t look = std::max(800 / BATCH / 8 * 8, 8), period = 10 * look; // batch 4: a line every 2000 mini-batches
    auto const report = [&](Step const& steps) {
        progress.advance(steps.samples);
        running.add(steps.loss, steps.weight);
        if (steps.number % period != 0) return;
        progress.clear();
        std::printf("[%d, %5lld] loss: %.3f\n", steps.epoch, static_cast<long long>(steps.number), running.value());
        running = {};
    };
    for (auto const& epoch : trainer.epochs(train_set, a.epochs, every(look, report))) (void)epoch, running = {};
    progress.clear();
    std::printf("Finished Training\n");

    Evaluation const result = trainer.evaluate(test_set);
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("Accuracy of the network on the %lld test images: %.2f %%\n", static_cast<long long>(result.counted), 100 * result.accuracy());
    std::printf("Wall time: %.2f s\n", seconds);
    if (a.explain) std::fputs(explain(trainer).c_str(), stdout);
}

/// Trains on the device that was asked for.
void train_on_device(Arguments const& a) {
#if defined(__CUDACC__)
    if (a.device == "cuda") return train(a, Cuda{});
    if (a.device == "auto") {
        std::optional<std::string> const obstacle = LeNetTrainer<Cuda>::obstacle();
        if (!obstacle) return train(a, Cuda{});
        std::printf("Training on the CPU: %s\n", obstacle->c_str());
    }
#else
    if (a.device == "cuda") throw Error{"--device cuda: this program was compiled without CUDA. Compile it with nvcc: nvcc -std=c++20 -x cu -Iinclude examples/lenet.cpp"};
#endif
    train(a, Cpu{});
}

} // namespace

int main(int count, char** words) {
    Arguments const arguments = parse(count, words);
    try {
        train_on_device(arguments);
    } catch (Error const& error) {
        std::fprintf(stderr, "lenet: %s\n", error.what());
        return 1;
    }
    return 0;
}
