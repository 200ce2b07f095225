/// @file
/// What training and evaluation report.
#pragma once

#include <tenon/core/config.hpp>
#include <tenon/train/reading.hpp>

#include <vector>

namespace tenon {

/// A mean of batch means, each with its own weight: exact for a short last batch. Losses that are still on a device are looked at
/// when the mean is, or when there are many.
class MeanLoss {
public:
    void add(Reading const& mean, double weight) {
        if (mean.known()) return take(mean.value(), weight);
        if (pending_.empty()) pending_.reserve(most_pending);
        pending_.push_back({mean, weight});
        if (pending_.size() == most_pending) look();
    }
    [[nodiscard]] double value() const {
        look();
        return weight_ > 0 ? sum_ / weight_ : 0;
    }
    [[nodiscard]] double weight() const {
        look();
        return weight_;
    }
    /// Begins anew, with the memory that it has.
    void reset() {
        sum_ = weight_ = 0;
        pending_.clear();
    }

private:
    static constexpr std::size_t most_pending = 2048;
    struct Pending {
        Reading mean;
        double weight;
    };
    mutable double sum_ = 0, weight_ = 0;
    mutable std::vector<Pending> pending_;

    void take(double mean, double weight) const {
        sum_ += mean * weight;
        weight_ += weight;
    }
    void look() const {
        for (Pending const& one : pending_) take(one.mean.value(), one.weight);
        pending_.clear();
    }
};

/// Counts by [true class][predicted class].
class ConfusionMatrix {
public:
    ConfusionMatrix() = default;
    explicit ConfusionMatrix(index_t classes) : classes_{classes}, counts_(static_cast<std::size_t>(classes * classes)) {}

    void add(index_t truth, index_t predicted) { ++counts_[static_cast<std::size_t>(truth * classes_ + predicted)]; }
    [[nodiscard]] index_t operator()(index_t truth, index_t predicted) const { return counts_[static_cast<std::size_t>(truth * classes_ + predicted)]; }
    [[nodiscard]] index_t classes() const { return classes_; }

private:
    index_t classes_ = 0;
    std::vector<index_t> counts_;
};

/// The first largest score; NaN counts as the largest (as torch.argmax has it).
[[nodiscard]] inline index_t argmax(float const* scores, index_t count, index_t stride = 1) {
    index_t best = 0;
    for (index_t i = 1; i < count; ++i) {
        float const v = scores[i * stride], most = scores[best * stride];
        if (v > most || (v != v && most == most)) best = i;
    }
    return best;
}

/// What evaluate() found.
struct Evaluation {
    double loss = 0;
    index_t samples = 0;
    index_t counted = 0; ///< samples whose label is a class (not the ignored one)
    index_t correct = 0; ///< a row of scores with a NaN in it is never correct
    ConfusionMatrix confusion;

    [[nodiscard]] double accuracy() const { return counted > 0 ? static_cast<double>(correct) / static_cast<double>(counted) : 0; }
};

/// One epoch of training.
struct Epoch {
    int number = 0; ///< from 1
    int of = 0;
    index_t steps = 0;
    index_t samples = 0;
    double loss = 0; ///< mean over the samples, each at the weights of its step
    double seconds = 0;
};

/// One step of training, as a callback sees it.
struct Step {
    int epoch = 0;        ///< from 1
    index_t number = 0;   ///< within the epoch, from 1
    index_t steps = 0;    ///< in the epoch
    index_t samples = 0;  ///< in this batch
    Reading loss;         ///< mean over the batch
    double weight = 0;    ///< what the mean was divided by: the number of samples, unless classes are weighted or labels ignored
};

namespace training {

/// Calls a callback after each step, or after each `period` steps of an epoch with what they have in common.
template <class OnStep>
class StepReporter {
public:
    explicit StepReporter(OnStep& call) : call_{&call} {}
    void report(Step const& step) { (*call_)(step); }

private:
    OnStep* call_;
};
template <>
class StepReporter<NoCallback> {
public:
    explicit StepReporter(NoCallback&) {}
    void report(Step const&) {}
};
template <class F>
class StepReporter<Every<F>> {
public:
    explicit StepReporter(Every<F>& every) : every_{&every} {}
    void report(Step const& step) {
        mean_.add(step.loss, step.weight);
        samples_ += step.samples;
        if (step.number % every_->period != 0) return;
        Step all = step;
        all.samples = samples_;
        all.loss = mean_.value();
        all.weight = mean_.weight();
        every_->call(static_cast<Step const&>(all));
        mean_.reset();
        samples_ = 0;
    }

private:
    Every<F>* every_;
    MeanLoss mean_;
    index_t samples_ = 0;
};

} // namespace training
} // namespace tenon
