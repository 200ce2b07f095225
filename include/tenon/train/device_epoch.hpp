/// @file
/// An epoch on a machine that gathers batches itself and runs behind the host: the host only says which samples come next.
#pragma once

#include <tenon/train/core.hpp>

namespace tenon::training {

/// One epoch of a trainer on such a machine: the same samples in the same order, and callbacks at the same steps, as
/// TrainerCore::train_epoch. Several steps are one launch where no callback must see the trainer in between.
template <class Core, class Data, class OnStep>
class DeviceEpoch {
public:
    DeviceEpoch(Core& core, Data& data, int number, OnStep& on_step)
        : core_{core}, data_{data}, number_{number}, call_{on_step}, reporter_{on_step} {}

    Epoch run() {
        auto const start = std::chrono::steady_clock::now();
        core_.settle();
        core_.step_ = core_.machine_.steps();
        core_.machine_.begin_pass();
        epoch_.number = number_;
        if constexpr (loads) {
            core_.check_data(data_.source().shape());
            data_.begin_epoch(static_cast<std::uint32_t>(number_));
            steps_ = data_.batches();
            stream();
        } else {
            core_.check_data(data_.shape());
            steps_ = (data_.size() + core_.facts_.batch_size - 1) / core_.facts_.batch_size;
            order_ = core_.options_.shuffle
                         ? data::Permutation(data_.size(), core_.options_.seed, static_cast<std::uint32_t>(number_))
                         : data::Permutation::in_order(data_.size());
            if (auto const* const resident = core_.machine_.template hold<Target>(data_)) gather(resident->feed());
            else stream();
        }
        epoch_.loss = mean_.value();
        core_.settle();
        epoch_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return epoch_;
    }

private:
    static constexpr bool loads = requires(Data & d) { d.begin_epoch(std::uint32_t{}); };
    using Target = typename Core::Target;

    Core& core_;
    Data& data_;
    int number_;
    OnStep& call_;
    StepReporter<OnStep> reporter_;
    Epoch epoch_;
    MeanLoss mean_;
    index_t steps_ = 0; ///< in the epoch
    data::Permutation order_;
    bool weighs_evenly_ = true; ///< is a batch's weight its number of samples?

    /// Steps of the next launch: as many as there are, and as the callback can do without.
    [[nodiscard]] int launch_size(int most) const {
        index_t const period = CallbackPeriod<OnStep>::of(call_), left = steps_ - epoch_.steps,
                      until_call = period > 0 ? period - epoch_.steps % period : left;
        return (std::min)(left, until_call) >= most ? most : 1;
    }
    /// The numbers of a launch's step; its batch has `samples` samples.
    void tell(int step, index_t samples) {
        core_.machine_.select(step);
        core_.set_batch_numbers(core_.training_, samples);
        core_.set_numbers(core_.step_ + step);
    }
    /// After a launch: counts one of its steps and calls back.
    void report(index_t samples, double weight) {
        Step step;
        step.epoch = number_;
        step.number = ++epoch_.steps;
        step.steps = steps_;
        step.samples = samples;
        step.weight = weight;
        step.loss = {&Core::read_loss, &core_, ++core_.step_};
        mean_.add(step.loss, weight);
        epoch_.samples += samples;
        reporter_.report(step);
    }

    // --- samples that lie on the device

    void gather(auto feed) {
        index_t const batch = core_.facts_.batch_size, size = data_.size();
        feed.order = order_;
        feed.features = core_.facts_.features;
        feed.scale = data_.normalize.scale;
        feed.shift = data_.normalize.shift;
        check_all_labels();
        while (epoch_.steps < steps_) {
            int const steps = launch_size(core_.machine_.steps_per_launch());
            for (int s = 0; s <= steps; ++s) { // one more: what comes after this launch
                feed.first = (epoch_.steps + s) * batch;
                feed.count = static_cast<std::int32_t>((std::max)(index_t{0}, (std::min)(batch, size - feed.first)));
                if (s < steps) tell(s, feed.count);
                else core_.machine_.select(s);
                core_.machine_.set_feed(feed);
            }
            core_.machine_.run_steps(steps);
            for (int s = 0; s < steps; ++s) {
                index_t const first = epoch_.steps * batch, samples = (std::min)(batch, size - first);
                report(samples, weigh(first, samples));
            }
        }
    }
    void check_all_labels() {
        for (index_t i = 0; i < data_.size(); ++i) {
            auto const label = data_.label(i);
            if constexpr (Core::classifies)
                core_.loss_.check_targets(&label, 1, i, core_.facts_.outputs); // before a cast could make it fit
            auto const target = static_cast<Target>(label);
            weighs_evenly_ = weighs_evenly_ && core_.loss_.weight_of(&target, 1) == 1;
        }
    }
    [[nodiscard]] double weigh(index_t first, index_t samples) {
        if (weighs_evenly_) return static_cast<double>(samples);
        for (index_t i = 0; i < samples; ++i) core_.target(i) = static_cast<Target>(data_.label(order_(first + i)));
        return core_.loss_.weight_of(core_.targets_.data(), samples);
    }

    // --- samples that are sent

    void stream() {
        using Value = std::remove_cvref_t<decltype(*value_pointer())>;
        index_t const batch = core_.facts_.batch_size, features = core_.facts_.features;
        constexpr int element_bytes = Core::MachineType::template element_bytes<Value>;
        auto& sent = core_.machine_.streamed();
        int const most = sent.steps_of_chunk(core_.machine_.steps_per_launch(), batch, features * element_bytes);
        core_.machine_.with_device([&] { sent.open(most, batch, features, element_bytes); });
        std::vector<double> weights(static_cast<std::size_t>(most));
        std::vector<index_t> counts(static_cast<std::size_t>(most));
        bool more = true;
        while (more && epoch_.steps < steps_) {
            int steps = launch_size(most);
            core_.machine_.with_device([&] {
                sent.begin();
                for (int s = 0; s < steps; ++s) {
                    index_t const samples = fill(sent, s, epoch_.steps + s);
                    if (samples == 0) { // the loader has fewer than it said
                        more = false;
                        steps = s;
                        break;
                    }
                    tell(s, samples);
                    auto feed = sent.feed(s, samples);
                    feed.features = features;
                    feed.scale = normalization().scale;
                    feed.shift = normalization().shift;
                    core_.machine_.set_feed(feed);
                    counts[static_cast<std::size_t>(s)] = samples;
                    weights[static_cast<std::size_t>(s)] = core_.loss_.weight_of(core_.targets_.data(), samples);
                }
                if (steps == 0) return;
                core_.machine_.select(steps);
                core_.machine_.set_feed({}); // the next launch's samples are not there yet
                sent.send(steps, core_.machine_.stream());
                core_.machine_.run_steps(steps);
                sent.end(core_.machine_.stream());
            });
            for (int s = 0; s < steps; ++s)
                report(counts[static_cast<std::size_t>(s)], weights[static_cast<std::size_t>(s)]);
        }
    }
    /// Never called: its result's type is that of the samples.
    auto value_pointer() const {
        if constexpr (loads) return static_cast<typename Data::value_type const*>(nullptr);
        else return data_.sample(0).data();
    }
    [[nodiscard]] data::Normalize normalization() const {
        if constexpr (loads) return Core::normalization_of(data_.source());
        else return data_.normalize;
    }
    /// Writes step `step`'s batch, the epoch's number `number`, where it is sent from. Returns its samples.
    index_t fill(auto& sent, int step, index_t number) {
        auto const put = [&](auto const* values, auto label, index_t sample, index_t i) {
            if constexpr (Core::classifies) core_.loss_.check_targets(&label, 1, sample, core_.facts_.outputs);
            core_.machine_.copy_sample(values, core_.facts_.features, sent.sample(step, i));
            core_.target(i) = sent.template labels<Target>(step)[i] = static_cast<Target>(label);
        };
        if constexpr (loads) {
            auto const* const batch = data_.next();
            if (batch == nullptr) return 0;
            core_.check_count(batch->count);
            for (index_t i = 0; i < batch->count; ++i)
                put(batch->samples.data() + i * core_.facts_.features, batch->labels[static_cast<std::size_t>(i)],
                    batch->numbers[static_cast<std::size_t>(i)], i);
            return batch->count;
        } else {
            index_t const first = number * core_.facts_.batch_size,
                          samples = (std::min)(core_.facts_.batch_size, data_.size() - first);
            for (index_t i = 0; i < samples; ++i) {
                index_t const sample = order_(first + i);
                put(data_.sample(sample).data(), data_.label(sample), sample, i);
            }
            return samples;
        }
    }
};

} // namespace tenon::training
