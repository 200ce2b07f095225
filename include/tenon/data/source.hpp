/// @file
/// Where a Loader's samples come from: a Dataset, a Dataset with changes drawn anew in every epoch, or a function.
#pragma once

#include <tenon/data/dataset.hpp>

#include <concepts>
#include <type_traits>

namespace tenon::data {

/// What a Loader needs of a source. `fill` writes the sample that `draw` names, on the loader's thread, one call at a
/// time. It may return void, or bool: false says that it could not make the sample. Either that or an exception reaches
/// the loader's user.
template <class S>
concept Source = requires(S const& source, Draw const& draw, std::span<typename S::value_type> values,
                          typename S::label_type& label) {
    { source.size() } -> std::convertible_to<index_t>;
    { source.shape() } -> std::convertible_to<Dims>;
    source.fill(draw, values, label);
};

/// Runs a step of filling, which gives void or bool: did it succeed?
template <class Step>
[[nodiscard]] bool succeeds(Step&& step) {
    if constexpr (std::is_same_v<decltype(step()), bool>) {
        return step();
    } else {
        step();
        return true;
    }
}

/// Whether a sample of this source costs time that another thread could spend. Of a Dataset it is only copied.
template <class S>
inline constexpr bool is_worth_a_thread = true;
template <class T, class Label>
inline constexpr bool is_worth_a_thread<Dataset<T, Label>> = false;

/// A source whose samples are those of `base`, changed in place by `change(draw, values)`.
template <Source Base, class Change>
struct Augmented {
    using value_type = typename Base::value_type;
    using label_type = typename Base::label_type;

    Base base;
    Change change;

    [[nodiscard]] index_t size() const { return base.size(); }
    [[nodiscard]] Dims shape() const { return base.shape(); }
    [[nodiscard]] bool fill(Draw const& draw, std::span<value_type> values, label_type& label) const {
        return succeeds([&] { return base.fill(draw, values, label); }) &&
               succeeds([&] { return change(draw, values); });
    }
};

/// `base` with `change(Draw const& draw, std::span<T> values)` applied to every sample. What is random takes its
/// numbers from draw.uniform(0), draw.uniform(1), ...:
///
///     auto flipped = data::augment(train, [](data::Draw const& draw, std::span<std::uint8_t> image) {
///         if (draw.uniform(0) < 0.5f) std::reverse(image.begin(), image.end());
///     });
template <Source Base, class Change>
[[nodiscard]] Augmented<Base, Change> augment(Base base, Change change) {
    return {std::move(base), std::move(change)};
}

/// A source of `count` samples that `make(draw, values, label)` writes.
template <class T, class Label, class Make>
struct Generated {
    using value_type = T;
    using label_type = Label;

    index_t count = 0;
    Dims sample_shape;
    Make make;

    [[nodiscard]] index_t size() const { return count; }
    [[nodiscard]] Dims shape() const { return sample_shape; }
    auto fill(Draw const& draw, std::span<T> values, Label& label) const { return make(draw, values, label); }
};

/// `count` samples of `shape`, each written by `make(Draw const& draw, std::span<T> values, Label& label)`:
/// files read one by one, a simulation, numbers drawn at random.
template <class T, class Label = std::uint8_t, class Make>
[[nodiscard]] Generated<T, Label, Make> generate(index_t count, Dims shape, Make make) {
    return {count, shape, std::move(make)};
}

} // namespace tenon::data
