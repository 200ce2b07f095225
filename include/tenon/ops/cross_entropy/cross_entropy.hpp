/// @file
/// Cross entropy of logits against class numbers, with log-softmax inside: what it takes and how it differentiates.
#pragma once

#include <tenon/core/error.hpp>
#include <tenon/graph/pointwise.hpp>
#include <tenon/nn/loss.hpp>

#include <vector>

namespace tenon {

namespace cross_entropy {

/// The mean loss, one number, from logits [classes], label, class weights [classes], settings [2]
inline constexpr graph::Op loss_op{.name = "cross_entropy", .kind = graph::Kind::anchor, .tiles = false, .family = graph::Op::hash("cross_entropy")};
/// Its gradient by the logits, the division by the batch's weight included
inline constexpr graph::Op gradient_op{.name = "cross_entropy_gradient", .kind = graph::Kind::anchor, .tiles = false, .family = graph::Op::hash("cross_entropy")};

/// Order of the run-time settings in their source.
enum Setting : int { label_smoothing, ignore_index, setting_count };

} // namespace cross_entropy

/// The mean over the batch of -log softmax(logits)[label] (torch.nn.CrossEntropyLoss,
/// https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html): sum of w[y] * loss over the rows that are not
/// ignored, divided by the sum of w[y]. With no such row the loss is 0. Labels are class numbers in [0, classes).
struct CrossEntropy {
    float label_smoothing = 0;       ///< in [0, 1]: this share of the target is spread over all classes
    int ignore_index = -100;         ///< rows with this label do not count
    std::vector<float> weights{};    ///< one for each class; empty: all 1

    using Target = std::int32_t; ///< one class number for each sample
    static constexpr char const* name = "CrossEntropy";

    static constexpr graph::LossNodes write(graph::Builder& b, graph::Value logits) {
        Dims const s = logits.shape();
        if (s.rank != 1) {
            b.fail(fault::output_is_not_one_row_of_scores, s, {s.count()});
            return {logits.id, logits};
        }
        int const label = b.source(graph::label_op, {}, true, 0, graph::Dtype::i32);
        int const weights = b.source(graph::setting_op, s, false, 0);
        int const settings = b.source(graph::setting_op, {cross_entropy::setting_count}, false, 1);
        graph::Node node{.op = &cross_entropy::loss_op, .input = {logits.id, label, weights, settings}};
        int const loss = b.add(node);
        node.op = &cross_entropy::gradient_op;
        node.shape = s;
        node.batched = true;
        return {loss, {&b, b.add(node)}};
    }

    /// Writes setting `slot`: 0 the class weights, 1 the numbers.
    void fill_setting(int slot, float* to, index_t count) const {
        if (slot == 1) {
            if (!(label_smoothing >= 0 && label_smoothing <= 1))
                fail({"CrossEntropy: label_smoothing is ", label_smoothing, "; it must lie in [0, 1]"});
            to[cross_entropy::label_smoothing] = label_smoothing;
            to[cross_entropy::ignore_index] = static_cast<float>(ignore_index);
            return;
        }
        if (!weights.empty() && static_cast<index_t>(weights.size()) != count)
            fail({"CrossEntropy: ", weights.size(), " class weights for ", count, " classes; give one for each class"});
        for (index_t c = 0; c < count; ++c) to[c] = weights.empty() ? 1.0f : weights[static_cast<std::size_t>(c)];
    }

    /// Is this a row that counts, rather than an ignored one?
    [[nodiscard]] bool counts(Target label) const { return label != ignore_index; }

    /// What a batch's mean loss was divided by: needed to average over batches.
    [[nodiscard]] double weight_of(Target const* labels, index_t samples) const {
        double weight = 0;
        for (index_t i = 0; i < samples; ++i)
            if (counts(labels[i])) weight += weights.empty() ? 1.0 : static_cast<double>(weights[static_cast<std::size_t>(labels[i])]);
        return weight;
    }

    /// Fails unless every label is a class number or the ignored one.
    template <class Label>
    void check_targets(Label const* labels, index_t samples, index_t first_sample, index_t classes) const {
        for (index_t i = 0; i < samples; ++i) {
            auto const label = static_cast<index_t>(labels[i]);
            if ((label < 0 || label >= classes) && label != ignore_index)
                fail({"CrossEntropy: sample ", first_sample + i, " has label ", label, ", which lies outside [0,", classes, ")"});
        }
    }
};

} // namespace tenon
