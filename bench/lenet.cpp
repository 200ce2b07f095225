// The reference job in tenon on the CPU: LeNet's training step, inference, and the whole training. The same jobs,
// options and lines of output as pytorch/lenet_pytorch.py, beside which compare.py puts it.

#include <tenon/cpu/roofline.hpp>
#include <tenon/tenon.hpp>
#include <tenon/train/predictor.hpp>

#include "support/json.hpp"
#include "support/machine.hpp"
#include "support/timing.hpp"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace tenon;

namespace {

// clang-format off
using LeNet = Network<Input{1, 28, 28},
    Conv2d{.in = 1, .out = 20, .kernel = 5},  ReLU{}, MaxPool2d{.kernel = 2},
    Conv2d{.in = 20, .out = 50, .kernel = 5}, ReLU{}, MaxPool2d{.kernel = 2},
    Flatten{50 * 4 * 4},
    Linear{.in = 50 * 4 * 4, .out = 500}, ReLU{},
    Linear{.in = 500, .out = 10}>;
// clang-format on

/// Batch sizes that are compiled in.
using TrainingBatches = std::integer_sequence<index_t, 1, 4, 64, 256>;
using InferenceBatches = std::integer_sequence<index_t, 1, 64>;
using JobBatches = std::integer_sequence<index_t, 4, 64>;

struct Arguments {
    std::vector<std::string> jobs{"train", "inference"};
    std::vector<index_t> batches{1, 4, 64, 256}, inference_batches{1}, threads{1, 2};
    std::string data;
    index_t rounds = 5, job_batch = 4, epochs = 2, seed = 1;
    double seconds = 0.5, lr = 0.001, momentum = 0.9;

    [[nodiscard]] bool wants(char const* job) const { return std::find(jobs.begin(), jobs.end(), job) != jobs.end(); }
    [[nodiscard]] SGD optimizer() const {
        return {.lr = static_cast<float>(lr), .momentum = static_cast<float>(momentum)};
    }
    [[nodiscard]] Options options(index_t thread_count) const {
        return {.seed = static_cast<std::uint64_t>(seed), .threads = static_cast<int>(thread_count)};
    }
};

constexpr char const* help =
    "Measures LeNet's training step, inference, and the whole training. Prints JSON, a line for each figure;\n"
    "times are in microseconds, the median and the least over all samples.\n"
    "\n"
    "  --jobs JOB...             train, inference, whole (default: train inference)\n"
    "  --batches N...            of the training step: 1, 4, 64, 256 (default: all)\n"
    "  --inference-batches N...  1 or 64 (default 1)\n"
    "  --threads N...            (default: 1 2)\n"
    "  --data FOLDER             Fashion-MNIST's IDX files, or 'random' (default: where examples/lenet finds them)\n"
    "  --rounds N                how often the measurements take turns (default 5)\n"
    "  --seconds X               of each measurement in each round (default 0.5)\n"
    "  --job-batch N             batch of the whole job: 4 or 64 (default 4)\n"
    "  --epochs N                of the whole job (default 2)\n"
    "  --lr X, --momentum X, --seed N\n";

[[noreturn]] void refuse(std::string const& message) {
    std::fprintf(stderr, "lenet: %s\n\n%s", message.c_str(), help);
    std::exit(2);
}

double number(std::string const& option, std::string const& text) {
    char* end = nullptr;
    double const value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != 0 || !(value >= 0 && value <= 1e9))
        refuse(option + " takes numbers, not '" + text + "'");
    return value;
}

Arguments parse(int count, char** words) {
    Arguments a;
    for (int i = 1; i < count;) {
        std::string const option = words[i++];
        if (option == "--help") {
            std::fputs(help, stdout);
            std::exit(0);
        }
        std::vector<std::string> values;
        while (i < count && std::string{words[i]}.rfind("--", 0) != 0) values.emplace_back(words[i++]);
        if (values.empty()) refuse("'" + option + "' is no option, or its value is missing");
        std::vector<index_t> numbers;
        if (option != "--jobs" && option != "--data")
            for (std::string const& value : values) numbers.push_back(static_cast<index_t>(number(option, value)));
        if (option == "--jobs") a.jobs = values;
        else if (option == "--batches") a.batches = numbers;
        else if (option == "--inference-batches") a.inference_batches = numbers;
        else if (option == "--threads") a.threads = numbers;
        else if (option == "--data") a.data = values[0];
        else if (option == "--rounds") a.rounds = numbers[0];
        else if (option == "--seconds") a.seconds = number(option, values[0]);
        else if (option == "--job-batch") a.job_batch = numbers[0];
        else if (option == "--epochs") a.epochs = numbers[0];
        else if (option == "--lr") a.lr = number(option, values[0]);
        else if (option == "--momentum") a.momentum = number(option, values[0]);
        else if (option == "--seed") a.seed = numbers[0];
        else refuse("'" + option + "' is no option");
    }
    for (std::string const& job : a.jobs)
        if (job != "train" && job != "inference" && job != "whole") refuse("there is no job '" + job + "'");
    return a;
}

/// Calls make(batch<N>) for the N of the list that equals `size`.
template <index_t... N, class F>
auto with_batch(index_t size, std::integer_sequence<index_t, N...>, F const& make) {
    using Made = std::common_type_t<decltype(make(batch<N>))...>;
    Made made{};
    if (!((N == size && (made = make(batch<N>), true)) || ...))
        refuse("batch " + std::to_string(size) + " is not compiled in");
    return made;
}

// --- the data

data::TrainTest load(Arguments const& a) {
    if (a.data == "random") {
        auto const noise = [](index_t count) {
            RandomSource const source{0, random_stream(RandomPurpose::user, 1), 0};
            std::vector<std::uint8_t> pixels(static_cast<std::size_t>(count * 784)),
                labels(static_cast<std::size_t>(count));
            for (std::size_t i = 0; i < pixels.size(); ++i)
                pixels[i] = static_cast<std::uint8_t>(random_bits(source, i));
            for (std::size_t i = 0; i < labels.size(); ++i)
                labels[i] = static_cast<std::uint8_t>(random_bits(source, i) % 10);
            return data::Dataset<>{Dims{1, 28, 28}, std::move(pixels), std::move(labels), 10, data::to_plus_minus_one};
        };
        return {noise(60'000), noise(10'000)};
    }
    return a.data.empty() ? data::fashion_mnist() : data::fashion_mnist(a.data);
}

/// Normalised images [count][784] and their labels, and a place among them: each batch follows the one before.
struct Images {
    std::vector<float> pixels;
    std::vector<std::int32_t> labels;

    explicit Images(data::Dataset<> const& from) {
        pixels.reserve(from.samples().size());
        for (std::uint8_t const value : from.samples()) pixels.push_back(from.normalize(value));
        labels.assign(from.labels().begin(), from.labels().end());
    }
    /// The first image of the batch at `position`, which moves on.
    [[nodiscard]] index_t next(index_t& position, index_t size) const {
        if (position + size > static_cast<index_t>(labels.size())) position = 0;
        return std::exchange(position, position + size);
    }
};

// --- the jobs

template <index_t N>
using LeNetTrainer = Trainer<LeNet, CrossEntropy, SGD, Batch<N>>;
using Call = std::function<void()>;

template <index_t N>
Call training_step(Arguments const& a, Images const& images, index_t threads) {
    auto trainer =
        std::make_shared<LeNetTrainer<N>>(LeNet{}, CrossEntropy{}, a.optimizer(), batch<N>, a.options(threads));
    return [trainer, &images, position = index_t{0}]() mutable {
        index_t const first = images.next(position, N);
        (void)trainer->step(images.pixels.data() + first * 784, images.labels.data() + first, N);
    };
}

template <index_t N>
Call inference(Arguments const& a, Images const& images, index_t threads) {
    auto predictor = std::make_shared<Predictor<LeNet, Batch<N>>>(LeNet{}, batch<N>, a.options(threads));
    return [predictor, &images, position = index_t{0}, scores = std::vector<float>(N * 10)]() mutable {
        predictor->predict(images.pixels.data() + images.next(position, N) * 784, N, scores.data());
    };
}

struct WholeJob {
    double load_seconds = 0, train_seconds = 0, seconds = 0, accuracy = 0;
    std::vector<double> mean_loss; ///< of each epoch
};

/// Reads the files, trains, evaluates; the clock runs over all of it.
template <index_t N>
WholeJob whole_job(Arguments const& a, index_t threads) {
    WholeJob job;
    job.seconds = bench::seconds_of([&] {
        data::TrainTest sets;
        job.load_seconds = bench::seconds_of([&] { sets = load(a); });
        LeNetTrainer<N> trainer{LeNet{}, CrossEntropy{}, a.optimizer(), batch<N>, a.options(threads)};
        job.train_seconds = bench::seconds_of([&] {
            for (Epoch const& epoch : trainer.epochs(sets.train, static_cast<int>(a.epochs)))
                job.mean_loss.push_back(epoch.loss);
        });
        job.accuracy = trainer.evaluate(sets.test).accuracy();
    });
    return job;
}

// --- measuring

struct Measurement {
    char const* job;
    index_t batch_size;
    Call call;
    std::vector<double> times{}; ///< in seconds
};

/// Adds what every line says.
bench::JsonLine& add_machine(bench::JsonLine& line, cpu::Roofline const& machine, Arguments const& a) {
    return line.add("library", "tenon")
        .add("compiler", bench::compiler_name())
        .add("vector_bits", 8 * cpu::vector_bytes)
        .add("cpu", bench::processor_name())
        .add("cores", std::thread::hardware_concurrency())
        .add("peak_gflops", machine.flops * 1e-9, 1)
        .add("copy_gb_per_s", machine.copy_bandwidth * 1e-9, 1)
        .add("data", a.data == "random" ? "random" : "fashion_mnist");
}

void measure_calls(Arguments const& a, Images const& images, index_t threads, cpu::Roofline const& machine) {
    std::vector<Measurement> measurements;
    if (a.wants("train"))
        for (index_t const size : a.batches)
            measurements.push_back({"train", size, with_batch(size, TrainingBatches{}, [&]<index_t N>(Batch<N>) {
                                        return training_step<N>(a, images, threads);
                                    })});
    if (a.wants("inference"))
        for (index_t const size : a.inference_batches)
            measurements.push_back({"inference", size, with_batch(size, InferenceBatches{}, [&]<index_t N>(Batch<N>) {
                                        return inference<N>(a, images, threads);
                                    })});
    for (index_t round = 0; round < a.rounds; ++round)
        for (Measurement& m : measurements) {
            std::vector<double> warm_up; // wakes the threads and the caches
            bench::sample(m.call, 0.1 * a.seconds, warm_up);
            bench::sample(m.call, a.seconds, m.times);
        }
    for (Measurement& m : measurements) {
        double const median = bench::median(m.times), size = static_cast<double>(m.batch_size);
        bench::JsonLine line;
        line.add("job", m.job)
            .add("batch", m.batch_size)
            .add("threads", threads)
            .add("median_us", 1e6 * median, 1)
            .add("least_us", 1e6 * m.times.front(), 1)
            .add("images_per_s", size / median, 0)
            .add("samples", m.times.size());
        add_machine(line, machine, a).print();
    }
}

void measure_whole_job(Arguments const& a, index_t threads, cpu::Roofline const& machine) {
    WholeJob const job =
        with_batch(a.job_batch, JobBatches{}, [&]<index_t N>(Batch<N>) { return whole_job<N>(a, threads); });
    bench::JsonLine line;
    line.add("job", "whole")
        .add("batch", a.job_batch)
        .add("threads", threads)
        .add("seed", a.seed)
        .add("seconds", job.seconds, 3)
        .add("load_seconds", job.load_seconds, 3)
        .add("train_seconds", job.train_seconds, 3)
        .add("epochs", a.epochs)
        .add("mean_loss", job.mean_loss, 4)
        .add("accuracy", job.accuracy, 4);
    add_machine(line, machine, a).print();
}

void run(Arguments const& a) {
    cpu::Roofline const machine = cpu::measure_roofline();
    if (a.wants("train") || a.wants("inference")) {
        Images const images{load(a).train};
        for (index_t const threads : a.threads) measure_calls(a, images, threads, machine);
    }
    if (a.wants("whole"))
        for (index_t const threads : a.threads) measure_whole_job(a, threads, machine);
}

} // namespace

int main(int count, char** words) {
    Arguments const arguments = parse(count, words);
    try {
        run(arguments);
    } catch (Error const& error) {
        std::fprintf(stderr, "lenet: %s\n", error.what());
        return 1;
    }
    return 0;
}
