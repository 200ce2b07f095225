/// @file
/// Inference alone: a network's forward program with parameters and a batch size of its own.
#pragma once

#include <tenon/train/backend.hpp>
#include <tenon/core/describe.hpp>
#include <tenon/train/facts.hpp>
#include <tenon/train/program.hpp>

namespace tenon {
namespace training {

/// An inference program on one machine and the loop around it, independent of the network's type (as TrainerCore is).
template <class Machine>
class PredictorCore {
    using Program = typename Machine::Program;

public:
    PredictorCore(NetworkFacts facts, Program program, typename Machine::Setup const& setup, Options const& options)
        : facts_{std::move(facts)}, program_{std::move(program)}, options_{options}, machine_{setup, program_, program_} {
        network().initialize(options_.seed);
    }
    PredictorCore(PredictorCore const&) = delete;
    PredictorCore& operator=(PredictorCore const&) = delete;

    /// The parameters, by name; at first drawn as a trainer of the same seed draws them.
    [[nodiscard]] Parameters network() const {
        return {facts_.parameters.data(), facts_.parameter_offsets.data(), static_cast<int>(facts_.parameters.size()), machine_.parameters()};
    }

    /// Takes over the values of equally named parameters: `predictor.copy_parameters(trainer.network())`.
    /// Errors: a name that only one side has, or another shape; nothing is copied then.
    void copy_parameters(Parameters const& from) {
        Parameters const mine = network();
        for (int i = 0; i < mine.size(); ++i) {
            ParameterView const here = mine[i], there = from.at(here.name);
            if (here.shape != there.shape)
                fail("Predictor: parameter '" + std::string{here.name} + "' has shape " + describe_extents(here.shape) + ", the one to copy from " + describe_extents(there.shape) + "; nothing was copied");
        }
        for (int i = 0; i < from.size(); ++i) (void)mine.at(from[i].name);
        for (int i = 0; i < mine.size(); ++i) {
            std::span<float const> const values = from.at(mine[i].name).values;
            std::copy(values.begin(), values.end(), mine[i].values.begin());
        }
    }

    /// The network's output [samples][outputs] for normalised inputs [samples][features]; any number of samples, batch after batch.
    /// Allocates nothing.
    void predict(float const* inputs, index_t samples, float* to) {
        index_t const lanes = program_.lanes, features = facts_.features, outputs = facts_.outputs;
        for (index_t begin = 0; begin < samples; begin += facts_.batch_size) {
            index_t const count = (std::min)(facts_.batch_size, samples - begin);
            float* const packed = input();
            for (index_t i = 0; i < count; ++i) pack_sample(inputs + (begin + i) * features, features, i, lanes, 1, 0, packed);
            fill_rest(features, count, lanes, packed);
            run(count);
            auto const* const found = machine_.template results<float>(program_.output_offset, program_.padded(count) * outputs);
            for (index_t i = 0; i < count; ++i)
                for (index_t o = 0; o < outputs; ++o) to[(begin + i) * outputs + o] = found[(i / lanes * outputs + o) * lanes + i % lanes];
        }
    }

    [[nodiscard]] Options const& options() const { return options_; }
    [[nodiscard]] int threads() const { return machine_.threads(); }
    /// What is run: stages, buffers, costs.
    [[nodiscard]] Program const& program() const { return program_; }

private:
    NetworkFacts facts_;
    Program program_;
    Options options_;
    Machine machine_;

    [[nodiscard]] float* input() const { return machine_.template at<float>(program_, program_.find(graph::input_op)); }
    void run(index_t samples) {
        if constexpr (Machine::replays)
            if (!options_.poison_dead_buffers) return machine_.run(program_, samples);
        machine_.begin(program_, samples);
        for (int s = 0; s < static_cast<int>(program_.stages.size()); ++s) {
            machine_.run_stage(program_, s, samples);
            if (options_.poison_dead_buffers) poison(s);
        }
        machine_.end();
    }
    void poison(int stage) {
        for (graph::ProgramBuffer const& buffer : program_.buffers)
            if (buffer.last == stage) machine_.fill(buffer.offset, 0xFF, buffer.bytes); // NaN as floats
    }
};

} // namespace training

/// Runs `Net` forward, N samples at a time, dropout and its like switched off.
///     Predictor predictor{LeNet{}, batch<1>, Options{.threads = 1}};
///     predictor.copy_parameters(trainer.network());
///     predictor.predict(image, 1, scores);
/// Its arena holds parameters and forward activations, no gradients and no optimiser. A batch size of its own: many samples at once
/// for throughput, one for latency. After construction nothing is allocated. Neither copyable nor movable: hand out references. What
/// it can do is in training::PredictorCore. Of the options `seed`, `threads` and `poison_dead_buffers` count.
/// Where: Cpu, or under nvcc Cuda, given before the options.
template <class Net, class BatchSize, class Where = Cpu>
class Predictor : public training::PredictorCore<typename training::Backend<Where>::Machine> {
    using Backend = training::Backend<Where>;
    using Core = training::PredictorCore<typename Backend::Machine>;

    static constexpr bool network_is_valid = Net::valid;
    static constexpr graph::BatchLayout layout{BatchSize::size, Backend::lanes_for(BatchSize::size)};
    using Inference = graph::Compiled<typename Backend::template Source<training::InferenceSource<Net, void, layout, 0>>>;

public:
    static constexpr index_t batch_size = BatchSize::size;
    static constexpr index_t features = Net::input.count();
    static constexpr index_t outputs = Net::output.count();
    /// Bytes of the arena.
    static constexpr graph::Memory memory = Inference::tables.memory;

    TENON_ALWAYS_INLINE Predictor(Net, BatchSize, Options const& options = {}) : Predictor({}, {}, Where{}, options) {}
    TENON_ALWAYS_INLINE Predictor(Net, BatchSize, Where const& where, Options const& options = {})
        : Core(training::network_facts<Net, Inference>(batch_size), make(), setup(where, options), options) {}

private:
    // Nothing is made of a network that is in error: the one message about it is enough.
    TENON_ALWAYS_INLINE static typename Backend::Machine::Program make() {
        if constexpr (network_is_valid) return graph::make_program<Inference, typename Backend::Device>();
        else return {};
    }
    TENON_ALWAYS_INLINE static typename Backend::Machine::Setup setup(Where const& where, Options const& options) {
        if constexpr (network_is_valid) return Backend::template setup<Inference>(where, options.threads);
        else return {};
    }
};

template <class Net, class BatchSize>
Predictor(Net, BatchSize) -> Predictor<Net, BatchSize>;
template <class Net, class BatchSize>
Predictor(Net, BatchSize, Options const&) -> Predictor<Net, BatchSize>;
template <class Net, class BatchSize, training::Place Where>
Predictor(Net, BatchSize, Where) -> Predictor<Net, BatchSize, Where>;
template <class Net, class BatchSize, training::Place Where>
Predictor(Net, BatchSize, Where, Options const&) -> Predictor<Net, BatchSize, Where>;

} // namespace tenon
