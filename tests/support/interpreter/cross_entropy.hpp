/// @file
/// Cross entropy by its definition, in double (torch.nn.CrossEntropyLoss with class weights, smoothing, ignore_index).
#pragma once

#include "values.hpp"

#include <tenon/ops/cross_entropy/cross_entropy.hpp>

#include <cmath>

namespace tenon::test {

/// What a cross entropy node is given.
struct CrossEntropyInputs {
    Values const &logits, &labels, &weights, &settings;

    [[nodiscard]] index_t classes() const { return logits.shape.count(); }
    [[nodiscard]] index_t label(index_t sample) const { return static_cast<index_t>(labels.at(sample)[0]); }
    [[nodiscard]] bool counts(index_t sample) const {
        return labels.at(sample)[0] != settings.data[cross_entropy::ignore_index];
    }
    /// The sum of w[y] over the rows that count.
    [[nodiscard]] double denominator() const {
        double sum = 0;
        for (index_t s = 0; s < logits.samples; ++s)
            if (counts(s)) sum += weights.data[static_cast<std::size_t>(label(s))];
        return sum;
    }
    /// The share of class c in the target of one row, class weights included.
    [[nodiscard]] double target(index_t sample, index_t c) const {
        double const smoothing = settings.data[cross_entropy::label_smoothing];
        double const share = (c == label(sample) ? 1 - smoothing : 0) + smoothing / static_cast<double>(classes());
        return share * weights.data[static_cast<std::size_t>(c)];
    }
    [[nodiscard]] double log_probability(index_t sample, index_t c) const {
        double const* z = logits.at(sample);
        double largest = z[0], sum = 0;
        for (index_t k = 1; k < classes(); ++k) largest = z[k] > largest ? z[k] : largest;
        // Without the largest term, whose 1 would swallow the others.
        bool skipped = false;
        for (index_t k = 0; k < classes(); ++k) {
            if (!skipped && z[k] == largest) skipped = true;
            else sum += std::exp(z[k] - largest);
        }
        return (z[c] - largest) - std::log1p(sum);
    }
};

inline void interpret_cross_entropy(CrossEntropyInputs const& in, Values& loss) {
    double const denominator = in.denominator();
    if (denominator == 0) return;
    for (index_t s = 0; s < in.logits.samples; ++s)
        for (index_t c = 0; in.counts(s) && c < in.classes(); ++c)
            loss.data[0] -= in.target(s, c) * in.log_probability(s, c) / denominator;
}

inline void interpret_cross_entropy_gradient(CrossEntropyInputs const& in, Values& gradient) {
    double const denominator = in.denominator();
    if (denominator == 0) return;
    for (index_t s = 0; s < in.logits.samples; ++s) {
        if (!in.counts(s)) continue;
        double mass = 0;
        for (index_t c = 0; c < in.classes(); ++c) mass += in.target(s, c);
        for (index_t c = 0; c < in.classes(); ++c)
            gradient.at(s)[c] = (mass * std::exp(in.log_probability(s, c)) - in.target(s, c)) / denominator;
    }
}

} // namespace tenon::test
