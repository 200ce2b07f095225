/// @file
/// What a trainer does, independent of its network's type: it works on run-time programs. So its code exists once in a binary,
/// whatever is trained, and its symbols stay short.
#pragma once

#include <tenon/cpu/machine.hpp>
#include <tenon/data/dataset.hpp>
#include <tenon/data/permutation.hpp>
#include <tenon/nn/parameters.hpp>
#include <tenon/nn/loss.hpp>
#include <tenon/train/batch.hpp>
#include <tenon/train/metrics.hpp>
#include <tenon/train/options.hpp>
#include <tenon/train/reading.hpp>

#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace tenon::training {

/// What the core must know of a network.
struct NetworkFacts {
    index_t batch_size = 0, features = 0, outputs = 0;
    std::vector<char const*> layer_names;
    std::vector<graph::Parameter> parameters;
    std::vector<index_t> parameter_offsets;
};

/// Trains an epoch on a machine that gathers batches itself: train/device_epoch.hpp.
template <class Core, class Data, class OnStep>
class DeviceEpoch;

/// The training and inference programs of one network on one machine, and the loop around them.
template <class Loss, class Optimizer, class Machine>
class TrainerCore {
    using Program = typename Machine::Program;

public:
    using MachineType = Machine;
    using Target = typename Loss::Target;
    /// A step's loss: double, on a GPU a Reading.
    using LossValue = std::conditional_t<Machine::replays, Reading, double>;

    TENON_COLD TrainerCore(NetworkFacts facts, Program training, Program inference, typename Machine::Setup const& setup, Loss loss, Optimizer optimizer, Options const& options)
        : facts_{std::move(facts)}, training_{std::move(training)}, inference_{std::move(inference)}, loss_{std::move(loss)}, optimizer_{std::move(optimizer)}, options_{options},
          machine_{setup, training_, inference_}, targets_(static_cast<std::size_t>(facts_.batch_size * targets_per_sample())), stage_seconds_(training_.stages.size()) {
        if constexpr (Machine::replays) machine_.guard(options_.stop_at_non_finite);
        network().initialize(options_.seed);
        for (graph::ProgramSource const& source : training_.sources)
            if (source.op == graph::random_op.id) ++randoms_;
    }
    TrainerCore(TrainerCore const&) = delete;
    TrainerCore& operator=(TrainerCore const&) = delete;

    /// The trained numbers, by name.
    /// On a GPU this waits for the device, and what is read or written there counts until the next step: ask again after it.
    /// Errors there: training has halted, see Options::stop_at_non_finite.
    [[nodiscard]] TENON_COLD Parameters network() const {
        settle();
        return {facts_.parameters.data(), facts_.parameter_offsets.data(), static_cast<int>(facts_.parameters.size()), machine_.parameters()};
    }

    [[nodiscard]] Loss& loss() { return loss_; }
    [[nodiscard]] Optimizer& optimizer() { return optimizer_; }
    [[nodiscard]] Options const& options() const { return options_; }
    [[nodiscard]] index_t steps_done() const { return step_; }
    [[nodiscard]] int threads() const { return machine_.threads(); }

    /// Where it runs.
    [[nodiscard]] Machine const& machine() const { return machine_; }
    /// The training step as it is run: stages, buffers, costs.
    [[nodiscard]] Program const& program() const { return training_; }
    /// Mean time of training stage `s` so far; 0 unless Options::measure_stages is set. On a GPU that of the kernel that begins with
    /// it, by events around it, a microsecond or two of their own included; 0 for a stage that is part of the kernel before.
    [[nodiscard]] double stage_seconds(int s) const { return measured_steps_ > 0 ? stage_seconds_[static_cast<std::size_t>(s)] / static_cast<double>(measured_steps_) : 0; }
    /// "3 (Conv2d)", or the loss.
    [[nodiscard]] TENON_COLD std::string layer_name(int layer) const {
        if (layer < 0 || static_cast<std::size_t>(layer) >= facts_.layer_names.size()) return std::string{"loss ("} + Loss::name + ")";
        return std::to_string(layer) + " (" + facts_.layer_names[static_cast<std::size_t>(layer)] + ")";
    }

    /// Multiplies the optimiser's learning rate by `schedule(step)`, step 0 being the first.
    void set_schedule(std::function<float(index_t step)> schedule) { schedule_ = std::move(schedule); }

    /// One step on `samples` samples (at most batch_size), already normalised: inputs [samples][features], targets one label each
    /// (for MSE: [samples][outputs]). Returns the batch's mean loss, at the weights before the step. On a GPU the step has only been
    /// started when this returns; looking at the loss waits for it.
    /// Errors: a count outside [1, batch_size], a label that is no class, a loss that is not finite (on a GPU: when it is looked at).
    LossValue step(float const* inputs, Target const* targets, index_t samples) {
        check_count(samples);
        for (index_t i = 0; i < samples; ++i) {
            pack_sample(inputs + i * facts_.features, facts_.features, i, training_.lanes, 1, 0, input(training_));
            for (index_t k = 0; k < targets_per_sample(); ++k) target(i, k) = targets[i * targets_per_sample() + k];
        }
        loss_.check_targets(targets_.data(), samples, 0, facts_.outputs);
        return train_packed(samples);
    }

    /// Trains for `count` epochs, one for each step of the range:
    ///     for (auto const& epoch : trainer.epochs(train, 2)) std::cout << epoch;
    /// @param data a data::Dataset (or what has its size(), shape(), sample(i), label(i), normalize), visited in an order keyed by
    ///     seed and epoch, or a data::Loader, whose own order and batches count. It must outlive the range.
    /// @param on_step called after each step with a Step; or every(n, callback); may be left out
    template <class Data, class OnStep>
    [[nodiscard]] auto epochs(Data& data, int count, OnStep on_step) {
        return EpochRange<Data, OnStep>{*this, data, count, std::move(on_step)};
    }
    template <class Data>
    [[nodiscard]] auto epochs(Data& data, int count) {
        return epochs(data, count, NoCallback{});
    }

    /// One pass over `data` in training. `number` is the epoch's, from 1: it keys the order of the samples.
    template <class Data, class OnStep>
    Epoch train_epoch(Data& data, int number, OnStep& on_step) {
        if constexpr (Machine::replays)
            if (!options_.measure_stages && !options_.poison_dead_buffers) return DeviceEpoch<TrainerCore, Data, OnStep>{*this, data, number, on_step}.run();
        auto const start = std::chrono::steady_clock::now();
        Epoch epoch;
        epoch.number = number;
        MeanLoss mean;
        StepReporter<OnStep> reporter{on_step};
        auto const train_batch = [&](index_t samples, index_t steps) {
            Step step;
            step.epoch = number;
            step.number = ++epoch.steps;
            step.steps = steps;
            step.samples = samples;
            step.loss = train_packed(samples);
            step.weight = loss_.weight_of(targets_.data(), samples);
            mean.add(step.loss, step.weight);
            epoch.samples += samples;
            reporter.report(step);
        };
        if constexpr (requires { data.begin_epoch(std::uint32_t{}); }) {
            check_data(data.source().shape());
            data.begin_epoch(static_cast<std::uint32_t>(number));
            while (auto const* batch = data.next()) {
                check_count(batch->count);
                for (index_t i = 0; i < batch->count; ++i)
                    pack(batch->samples.data() + i * facts_.features, batch->labels[static_cast<std::size_t>(i)], batch->numbers[static_cast<std::size_t>(i)], i, normalization_of(data.source()), training_);
                train_batch(batch->count, data.batches());
            }
        } else {
            check_data(data.shape());
            index_t const count = data.size(), batch = facts_.batch_size;
            data::Permutation const order(count, options_.seed, static_cast<std::uint32_t>(number));
            for (index_t begin = 0; begin < count; begin += batch) {
                index_t const samples = (std::min)(batch, count - begin);
                for (index_t i = 0; i < samples; ++i) pack(data, options_.shuffle ? order(begin + i) : begin + i, i, training_);
                train_batch(samples, (count + batch - 1) / batch);
            }
        }
        epoch.loss = mean.value();
        epoch.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return epoch;
    }

    /// Loss, accuracy and confusion matrix over `data`, in order; changes no weights.
    template <class Data>
    [[nodiscard]] Evaluation evaluate(Data const& data) {
        check_data(data.shape());
        settle();
        Evaluation result;
        if constexpr (classifies) result.confusion = ConfusionMatrix{facts_.outputs};
        MeanLoss mean;
        for (index_t begin = 0; begin < data.size(); begin += facts_.batch_size) {
            index_t const samples = (std::min)(facts_.batch_size, data.size() - begin);
            for (index_t i = 0; i < samples; ++i) pack(data, begin + i, i, inference_);
            double const loss = infer_packed(samples);
            mean.add(loss, loss_.weight_of(targets_.data(), samples));
            result.samples += samples;
            if constexpr (classifies) {
                float const* const found = inferred_outputs(samples);
                for (index_t i = 0; i < samples; ++i) count_prediction(found, i, result);
            }
        }
        result.loss = mean.value();
        return result;
    }

    /// The network's output [samples][outputs] for normalised inputs [samples][features]; any number of samples.
    void predict(float const* inputs, index_t samples, float* to) {
        settle();
        for (index_t begin = 0; begin < samples; begin += facts_.batch_size) {
            index_t const count = (std::min)(facts_.batch_size, samples - begin);
            for (index_t i = 0; i < count; ++i) pack_sample(inputs + (begin + i) * facts_.features, facts_.features, i, inference_.lanes, 1, 0, input(inference_));
            fill_rest(facts_.features, count, inference_.lanes, input(inference_));
            machine_.begin(inference_, count);
            run_stages(inference_, 0, inference_.output_stages, count);
            machine_.end();
            float const* const found = inferred_outputs(count);
            for (index_t i = 0; i < count; ++i)
                for (index_t o = 0; o < facts_.outputs; ++o) to[(begin + i) * facts_.outputs + o] = output_of(found, i)[o * inference_.lanes];
        }
    }

private:
    template <class Core, class Data, class OnStep>
    friend class DeviceEpoch;

    NetworkFacts facts_;
    Program training_, inference_;
    Loss loss_;
    Optimizer optimizer_;
    Options options_;
    Machine machine_;
    std::vector<Target> targets_;
    std::function<float(index_t)> schedule_;
    index_t step_ = 0;
    int randoms_ = 0;
    std::vector<double> stage_seconds_;
    index_t measured_steps_ = 0;

    static constexpr bool classifies = std::is_integral_v<Target>;
    [[nodiscard]] index_t targets_per_sample() const { return classifies ? 1 : facts_.outputs; }
    [[nodiscard]] Target& target(index_t sample, index_t k = 0) { return targets_[static_cast<std::size_t>(sample * targets_per_sample() + k)]; }

    // --- places in the arena

    /// Where the host writes a source.
    template <class T>
    [[nodiscard]] T* at(Program const& program, index_t offset) const {
        return machine_.template at<T>(program, offset);
    }
    [[nodiscard]] float* input(Program const& program) const { return at<float>(program, program.find(graph::input_op)); }
    /// What inference found for a batch, [blocks][outputs][lanes]; valid until something else runs or is read.
    [[nodiscard]] float const* inferred_outputs(index_t samples) const {
        return machine_.template results<float>(inference_.output_offset, inference_.padded(samples) * facts_.outputs);
    }
    [[nodiscard]] float const* output_of(float const* found, index_t sample) const {
        index_t const lanes = inference_.lanes;
        return found + sample / lanes * facts_.outputs * lanes + sample % lanes;
    }

    // --- a batch

    void check_count(index_t samples) const {
        if (samples < 1 || samples > facts_.batch_size)
            fail({"Trainer: a step of ", samples, " samples; this trainer takes 1 to ", facts_.batch_size});
    }
    void check_data(Dims const& shape) const {
        if (shape.count() != facts_.features && shape.rank > 0)
            fail({"Trainer: samples have ", shape.count(), " numbers each; the network takes ", facts_.features});
        if (targets_per_sample() != 1)
            fail({"Trainer: ", Loss::name, " compares ", facts_.outputs, " outputs of each sample with as many targets; a data set has one label: call step()"});
    }

    /// Puts one sample and its label in place `position` of the batch; `number` is the sample's, for messages.
    template <class T, class Label>
    void pack(T const* values, Label label, index_t number, index_t position, data::Normalize normalize, Program const& program) {
        pack_sample(values, facts_.features, position, program.lanes, normalize.scale, normalize.shift, input(program));
        static_assert(!classifies || std::is_integral_v<Label>, "tenon: this loss takes class numbers as labels, and the data set's labels are no integers");
        if constexpr (classifies) loss_.check_targets(&label, 1, number, facts_.outputs); // before a cast could make it fit
        target(position) = static_cast<Target>(label);
    }
    template <class Data>
    void pack(Data const& data, index_t number, index_t position, Program const& program) {
        pack(data.sample(number).data(), data.label(number), number, position, data.normalize, program);
    }
    /// The normalisation that a loader's source carries, itself or in the data set under it.
    template <class Source>
    static data::Normalize normalization_of(Source const& source) {
        if constexpr (requires { source.normalize; }) return source.normalize;
        else if constexpr (requires { source.base; }) return normalization_of(source.base);
        else return {};
    }

    /// Puts everything beside the samples in its place: targets, empty lanes, the loss's settings.
    void finish_packing(Program const& program, index_t samples) {
        fill_rest(facts_.features, samples, program.lanes, input(program));
        index_t const lanes = program.lanes, padded = program.padded(samples), per_sample = targets_per_sample();
        for (graph::ProgramSource const& source : program.sources) {
            if (source.op == graph::label_op.id) {
                Target* const labels = at<Target>(program, source.offset);
                for (index_t i = 0; i < padded; ++i)
                    for (index_t k = 0; k < per_sample; ++k) labels[(i / lanes * per_sample + k) * lanes + i % lanes] = i < samples ? target(i, k) : Target{};
            } else if (source.op == graph::presence_op.id) {
                float* const presence = at<float>(program, source.offset);
                for (index_t i = 0; i < padded; ++i) presence[i] = i < samples ? 1.0f : 0.0f;
            }
        }
        set_batch_numbers(program, samples);
    }

    /// The loss's settings and what depends on the number of samples.
    void set_batch_numbers(Program const& program, index_t samples) {
        for (graph::ProgramSource const& source : program.sources) {
            if (source.op == graph::setting_op.id) loss_.fill_setting(source.slot, at<float>(program, source.offset), source.elements);
            else if (source.op == graph::number_op.id && source.slot == graph::inverse_count) *at<float>(program, source.offset) = static_cast<float>(1 / static_cast<double>(samples));
        }
    }

    /// The optimiser's numbers and the random streams of step `step`.
    void set_numbers(index_t step) {
        float numbers[Optimizer::numbers];
        optimizer_.fill_numbers(step, schedule_ ? schedule_(step) : 1.0f, numbers);
        for (graph::ProgramSource const& source : training_.sources) {
            if (source.op == graph::number_op.id && source.slot >= graph::first_optimizer_number)
                *at<float>(training_, source.offset) = numbers[source.slot - graph::first_optimizer_number];
            if (source.op == graph::random_op.id)
                *at<RandomSource>(training_, source.offset) = {options_.seed, random_stream(RandomPurpose::dropout, static_cast<std::uint32_t>(source.slot)), static_cast<std::uint32_t>(step)};
        }
    }

    // --- running

    LossValue train_packed(index_t samples) {
        if constexpr (Machine::replays) {
            step_ = machine_.steps(); // a callback may have left an epoch in the middle of a launch
            machine_.select_single();
        }
        finish_packing(training_, samples);
        set_numbers(step_);
        if constexpr (Machine::replays) {
            run(training_, samples);
            return started_step();
        } else {
            run_stages(training_, 0, training_.loss_stages, samples);
            double const loss = *at<float>(training_, training_.loss_offset);
            if (options_.stop_at_non_finite && !std::isfinite(loss)) explain_non_finite(loss, samples);
            run_stages(training_, training_.loss_stages, static_cast<int>(training_.stages.size()), samples);
            ++step_;
            measured_steps_ += options_.measure_stages;
            return loss;
        }
    }

    // --- where the device runs behind the host

    /// Counts a step that was started.
    Reading started_step() {
        ++step_;
        measured_steps_ += options_.measure_stages && !options_.poison_dead_buffers;
        index_t const number = machine_.steps();
        return {&read_loss, this, number};
    }
    static double read_loss(void* self, index_t step) { return static_cast<TrainerCore*>(self)->loss_of(step); }
    /// The loss of a step by the machine's count.
    double loss_of(index_t step) {
        if (machine_.halted() == 0) machine_.read_journal();
        fail_if_halted();
        return static_cast<double>(machine_.loss(step));
    }
    /// Waits for the device, and fails if training has halted.
    void settle() const {
        if constexpr (Machine::replays) {
            auto* const self = const_cast<TrainerCore*>(this); // what the device has done already is noted down
            self->machine_.read_journal();
            self->fail_if_halted();
        }
    }
    void fail_if_halted() {
        if (machine_.halted() == 0) return;
        index_t const refused = machine_.steps() - machine_.halted() + 1;
        auto const loss = static_cast<double>(machine_.halting_loss());
        machine_.resume();
        step_ = machine_.steps();
        fail({"Trainer: step ", step_ + 1, ": the loss is ", loss, ". The weights are as they were before this step", refused > 1 ? message({", and the ", refused - 1, " steps that were started after it were not taken"}) : std::string{},
              ". A smaller learning rate, or data without NaN, may help; a trainer on the CPU names the layer"});
    }

    double infer_packed(index_t samples) {
        finish_packing(inference_, samples);
        run(inference_, samples);
        return *machine_.template results<float>(inference_.loss_offset, 1);
    }

    /// All stages of a program: as a whole where the machine can and nobody looks at a single one.
    void run(Program const& program, index_t samples) {
        if constexpr (Machine::replays)
            if (!options_.poison_dead_buffers) {
                if (options_.measure_stages && &program == &training_) return machine_.run_timed(program, samples, stage_seconds_);
                return machine_.run(program, samples);
            }
        machine_.begin(program, samples);
        run_stages(program, 0, static_cast<int>(program.stages.size()), samples);
        machine_.end();
    }
    void run_stages(Program const& program, int begin, int end, index_t samples) {
        for (int s = begin; s < end; ++s) {
            if (options_.measure_stages && !Machine::replays && &program == &training_) measure_stage(s, samples);
            else machine_.run_stage(program, s, samples);
            if (options_.poison_dead_buffers) poison(program, s);
        }
    }
    void measure_stage(int s, index_t samples) {
        auto const start = std::chrono::steady_clock::now();
        machine_.run_stage(training_, s, samples);
        stage_seconds_[static_cast<std::size_t>(s)] += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    void poison(Program const& program, int stage) {
        for (graph::ProgramBuffer const& buffer : program.buffers)
            if (buffer.last == stage) machine_.fill(buffer.offset, 0xFF, buffer.bytes); // NaN as floats
    }

    // --- what went wrong

    static bool all_finite(float const* values, index_t count) {
        for (index_t i = 0; i < count; ++i)
            if (!std::isfinite(values[i])) return false;
        return true;
    }

    /// Runs the forward stages again, one by one, and names the first whose results are not finite.
    [[noreturn]] TENON_COLD void explain_non_finite(double loss, index_t samples) {
        std::string const step = message({"Trainer: step ", step_ + 1, ": the loss is ", loss});
        std::string const end = ". The weights are as they were before this step. A smaller learning rate, or data without NaN, may help";
        index_t const padded = training_.padded(samples);
        if (!all_finite(input(training_), facts_.features * padded)) fail(step + "; the batch's input already holds values that are not finite" + end);
        Parameters const parameters = network();
        for (int i = 0; i < parameters.size(); ++i)
            if (!all_finite(parameters[i].values.data(), static_cast<index_t>(parameters[i].values.size())))
                fail(step + "; the first values that are not finite are in parameter " + std::string{parameters[i].name} + " of layer " +
                     layer_name(facts_.parameters[static_cast<std::size_t>(i)].layer) + end);
        for (int s = 0; s < training_.loss_stages; ++s) {
            machine_.run_stage(training_, s, samples);
            for (graph::ProgramBuffer const& buffer : training_.buffers)
                if (buffer.computed && buffer.first == s && !all_finite(at<float>(training_, buffer.offset), buffer.elements * (buffer.batched ? padded : 1)))
                    fail(step + "; the first values that are not finite come from layer " + layer_name(training_.stages[static_cast<std::size_t>(s)].layer) + end);
        }
        fail(step + end);
    }

    void count_prediction(float const* found, index_t i, Evaluation& result) {
        auto const truth = static_cast<index_t>(target(i));
        if (!loss_.counts(target(i))) return;
        ++result.counted;
        float const* scores = output_of(found, i);
        index_t const predicted = argmax(scores, facts_.outputs, inference_.lanes);
        if (std::isnan(scores[predicted * inference_.lanes])) return;
        result.confusion.add(truth, predicted);
        result.correct += predicted == truth;
    }

    /// A range whose iterator trains one epoch at each step.
    template <class Data, class OnStep>
    class EpochRange {
    public:
        EpochRange(TrainerCore& trainer, Data& data, int count, OnStep on_step) : trainer_{&trainer}, data_{&data}, count_{count}, on_step_{std::move(on_step)} {}

        struct End {};
        class Iterator {
        public:
            explicit Iterator(EpochRange& range) : range_{&range} { train(); }
            Epoch const& operator*() const { return epoch_; }
            Iterator& operator++() {
                train();
                return *this;
            }
            friend bool operator!=(Iterator const& i, End) { return !i.done_; }
            friend bool operator==(Iterator const& i, End) { return i.done_; }

        private:
            EpochRange* range_;
            Epoch epoch_;
            int next_ = 1;
            bool done_ = false;

            void train() {
                done_ = next_ > range_->count_;
                if (done_) return;
                epoch_ = range_->trainer_->train_epoch(*range_->data_, next_++, range_->on_step_);
                epoch_.of = range_->count_;
            }
        };
        Iterator begin() { return Iterator{*this}; }
        End end() { return {}; }

    private:
        TrainerCore* trainer_;
        Data* data_;
        int count_;
        OnStep on_step_;
    };
};

} // namespace tenon::training
