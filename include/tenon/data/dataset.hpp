/// @file
/// Labelled samples in memory, and cheap views of a part of them.
#pragma once

#include <tenon/core/dims.hpp>
#include <tenon/core/random.hpp>
#include <tenon/data/permutation.hpp>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tenon::data {

/// How stored values become a network's input: value * scale + shift. Whoever packs a batch applies it; stored values
/// stay as they are.
struct Normalize {
    float scale = 1;
    float shift = 0;

    [[nodiscard]] TENON_HOST_DEVICE constexpr float operator()(float value) const { return value * scale + shift; }

    /// (value / maximum - mean) / deviation: what PyTorch writes as ToTensor and Normalize, for maximum = 255.
    [[nodiscard]] static constexpr Normalize from(float mean, float deviation, float maximum = 255) {
        return {static_cast<float>(1 / (double{maximum} * deviation)), static_cast<float>(-double{mean} / deviation)};
    }

    constexpr bool operator==(Normalize const&) const = default;
};

/// One sample asked for: whatever a source draws at random depends on these alone, and so is the same on any thread, in
/// any run.
struct Draw {
    index_t sample = 0; ///< its number in the source
    std::uint32_t epoch = 0;
    std::uint64_t seed = 0;

    /// The `element`-th random number in [0, 1) of this draw.
    [[nodiscard]] constexpr float uniform(std::uint32_t element) const {
        RandomSource const source{seed, random_stream(RandomPurpose::user, 0xd4a), epoch};
        return tenon::uniform(source, static_cast<std::uint64_t>(sample) << 24 | (element & 0xffffff));
    }
};

/// Stops at the first label outside [0, classes); `where` begins the message.
template <class Label>
TENON_COLD void check_labels(std::vector<Label> const& labels, index_t classes, std::string const& where) {
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (std::cmp_less(labels[i], 0) || std::cmp_greater_equal(labels[i], classes))
            refuse({where, "the label of sample ", i, " is ", labels[i], ", outside [0, ", classes, ")"});
}

/// Samples of one shape, each with a label: `sample(i)` are shape().count() values of type T, `label(i)` lies in [0,
/// classes()).
///
/// Copies and parts share one storage, which lives as long as any of them. A part is a range of the storage, or a list
/// of its rows.
template <class T = std::uint8_t, class Label = std::uint8_t>
class Dataset {
public:
    using value_type = T;
    using label_type = Label;

    /// Applied by the trainer when it packs a batch.
    Normalize normalize{};

    /// No samples.
    Dataset() = default;

    /// From the caller's own values: `samples` holds labels.size() samples of shape `shape`, one after the other.
    /// Errors: tenon::Error on sizes that disagree, a label outside [0, classes), a shape with no elements.
    TENON_COLD Dataset(Dims shape, std::vector<T> samples, std::vector<Label> labels, index_t classes, Normalize how = {})
        : normalize(how), shape_(shape), size_(static_cast<index_t>(labels.size())), classes_(classes) {
        index_t features = 1;
        for (int axis = 0; axis < shape.rank; ++axis) {
            // Bounded as it grows: a product that wraps round could equal the number of samples' values.
            if (shape[axis] < 1 || features > (index_t{1} << 40) / shape[axis])
                refuse({"axis ", axis, " of a sample's shape has extent ", shape[axis],
                        ": extents are positive, and their product is at most 2^40"});
            features *= shape[axis];
        }
        if (samples.size() % static_cast<std::size_t>(features) != 0 ||
            samples.size() / static_cast<std::size_t>(features) != labels.size())
            refuse({labels.size(), " labels and samples of ", features, " values call for ", labels.size(), " * ",
                    features, " values, got ", samples.size()});
        check_labels(labels, classes, "");
        storage_ = std::make_shared<Storage const>(Storage{std::move(samples), std::move(labels)});
    }

    [[nodiscard]] index_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] Dims const& shape() const { return shape_; }        ///< of one sample, such as {1, 28, 28}
    [[nodiscard]] index_t features() const { return shape_.count(); } ///< values in one sample
    [[nodiscard]] index_t classes() const { return classes_; }

    /// Values of sample `i`.
    [[nodiscard]] std::span<T const> sample(index_t i) const {
        index_t const from = row(i) * features(); // before storage_, which an empty set lacks
        return {storage_->samples.data() + from, static_cast<std::size_t>(features())};
    }
    [[nodiscard]] Label label(index_t i) const {
        std::size_t const from = static_cast<std::size_t>(row(i));
        return storage_->labels[from];
    }

    /// Copies sample `i` out: what a Loader calls.
    void fill(Draw const& draw, std::span<T> values, Label& label_out) const {
        std::span<T const> const from = sample(draw.sample);
        for (std::size_t k = 0; k < values.size(); ++k) values[k] = from[k];
        label_out = label(draw.sample);
    }

    /// The first `count` samples, or all where there are fewer.
    [[nodiscard]] Dataset first(index_t count) const { return range(0, count < size_ ? count : size_); }

    /// Samples [begin, end). Errors: tenon::Error unless 0 <= begin <= end <= size().
    [[nodiscard]] Dataset range(index_t begin, index_t end) const {
        if (begin < 0 || begin > end || end > size_)
            refuse({"samples [", begin, ", ", end, ") of ", size_, " were asked for"});
        Dataset part = *this;
        part.begin_ += begin;
        part.size_ = end - begin;
        return part;
    }

    /// The samples with these numbers, in this order; a number may come more than once.
    [[nodiscard]] Dataset select(std::vector<index_t> const& numbers) const {
        std::vector<index_t> rows;
        rows.reserve(numbers.size());
        for (index_t const number : numbers) rows.push_back(row(number));
        Dataset part = *this;
        part.begin_ = 0;
        part.size_ = static_cast<index_t>(rows.size());
        part.rows_ = std::make_shared<std::vector<index_t> const>(std::move(rows));
        return part;
    }

    struct Parts; // { Dataset train, validation; }

    /// Two parts without a common sample, drawn at random by `seed`: the same ones in every run.
    /// Errors: tenon::Error where train + validation > size().
    [[nodiscard]] Parts split(index_t train, index_t validation, std::uint64_t seed) const;

    /// Whether samples() and labels() may be asked for: true of a whole set and of its ranges, false after select() and
    /// split().
    [[nodiscard]] bool contiguous() const { return rows_ == nullptr; }

    /// All values, size() * features() of them. Errors: tenon::Error unless contiguous().
    [[nodiscard]] std::span<T const> samples() const {
        require_contiguous();
        if (storage_ == nullptr) return {};
        return {storage_->samples.data() + begin_ * features(), static_cast<std::size_t>(size_ * features())};
    }

    /// All labels. Errors: tenon::Error unless contiguous().
    [[nodiscard]] std::span<Label const> labels() const {
        require_contiguous();
        if (storage_ == nullptr) return {};
        return {storage_->labels.data() + begin_, static_cast<std::size_t>(size_)};
    }

    /// Which samples these are: equal for copies, and for nothing else while the identity is held.
    struct Identity {
        std::shared_ptr<void const> storage, rows;
        index_t begin = 0, size = 0;

        bool operator==(Identity const&) const = default;
    };
    [[nodiscard]] Identity identity() const { return {storage_, rows_, begin_, size_}; }

    /// A copy with a storage of its own, which is contiguous.
    [[nodiscard]] Dataset compact() const {
        std::vector<T> samples;
        std::vector<Label> labels;
        samples.reserve(static_cast<std::size_t>(size_ * features()));
        labels.reserve(static_cast<std::size_t>(size_));
        for (index_t i = 0; i < size_; ++i) {
            std::span<T const> const values = sample(i);
            samples.insert(samples.end(), values.begin(), values.end());
            labels.push_back(label(i));
        }
        return Dataset(shape_, std::move(samples), std::move(labels), classes_, normalize);
    }

private:
    struct Storage {
        std::vector<T> samples;
        std::vector<Label> labels;
    };

    /// Where sample `i` stands in the storage.
    [[nodiscard]] index_t row(index_t i) const {
        if (i < 0 || i >= size_) refuse({"sample ", i, " was asked for, outside [0, ", size_, ")"});
        return rows_ != nullptr ? (*rows_)[static_cast<std::size_t>(begin_ + i)] : begin_ + i;
    }

    void require_contiguous() const {
        if (!contiguous())
            refuse({"a selected part has no values that lie side by side; call compact() first, or sample() for each"});
    }

    std::shared_ptr<Storage const> storage_;
    std::shared_ptr<std::vector<index_t> const> rows_; // null: the storage's own order
    Dims shape_{};
    index_t begin_ = 0, size_ = 0, classes_ = 0;
};

template <class T, class Label>
struct Dataset<T, Label>::Parts {
    Dataset train, validation;
};

template <class T, class Label>
typename Dataset<T, Label>::Parts Dataset<T, Label>::split(index_t train, index_t validation,
                                                           std::uint64_t seed) const {
    if (train < 0 || validation < 0 || train > size_ || validation > size_ - train)
        refuse({"a split of ", size_, " samples into ", train, " and ", validation, " was asked for"});
    Permutation const order(size_, seed, 0, 1); // number 1: not the order of the first epoch
    std::vector<index_t> numbers;
    numbers.reserve(static_cast<std::size_t>(train + validation));
    for (index_t i = 0; i < train + validation; ++i) numbers.push_back(order(i));
    Dataset const both = select(numbers);
    return {both.range(0, train), both.range(train, train + validation)};
}

/// A training set and a test set: `auto [train, test] = ...`.
struct TrainTest {
    Dataset<std::uint8_t> train, test;
};

} // namespace tenon::data
