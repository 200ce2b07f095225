/// @file
/// Whole trainings against PyTorch's: the same initial weights, images and order of samples; loss by loss.
#pragma once

#include "numbers.hpp"
#include "reference.hpp"

#include <tenon/data/dataset.hpp>
#include <tenon/optim/sgd.hpp>
#include <tenon/train/trainer.hpp>

#include <doctest/doctest.h>

#include <string>

namespace tenon::test {

/// The images that the head of the reference file describes: a prototype of each class with noise, in bytes, normalised by
/// exactly the operations that PyTorch's run used: rounding otherwise can turn a close decision of a max-pooling window.
[[nodiscard]] inline data::Dataset<float> trajectory_images(std::uint64_t seed, index_t count, Dims const& shape) {
    auto const bits = [&](std::uint32_t stream, std::uint64_t element) {
        return random_bits({seed, random_stream(RandomPurpose::user, stream), 0}, element);
    };
    std::uint64_t const pixels = static_cast<std::uint64_t>(shape.count());
    std::vector<std::uint8_t> labels;
    std::vector<float> values;
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
        std::uint64_t const label = bits(0, i) % 10;
        labels.push_back(static_cast<std::uint8_t>(label));
        for (std::uint64_t pixel = 0; pixel < pixels; ++pixel) {
            std::uint32_t const prototype = bits(1, label * pixels + pixel) >> 24, noise = bits(2, i * pixels + pixel) >> 24;
            values.push_back((static_cast<float>((3 * prototype + noise) / 4) / 255 - 0.5f) / 0.5f);
        }
    }
    return {shape, values, labels, 10};
}

/// Trains as case `name` of the file was trained. Losses must agree to 1e-4 relative, with those of float32 and of float64: the
/// files say that rounding moves them by less than 1e-5 (with other seeds a single max-pooling window whose two largest
/// elements nearly tie turns a trajectory by percents). Weights after the last step: to 1e-4 of the largest shown.
template <class Net, index_t N>
void check_trajectory(Reference const& r, std::string const& name) {
    CAPTURE(name);
    auto const option = [&](std::string const& what) {
        return r.has(name + "." + what) ? static_cast<float>(r.tensor(name + "." + what).scalar()) : 0.0f;
    };
    REQUIRE(r.tensor(name + ".batch").integers[0] == N);
    auto const seed = static_cast<std::uint64_t>(r.tensor(name + ".seed").integers[0]);
    auto const images = trajectory_images(seed, r.tensor(name + ".images").integers[0], Net::input);
    SGD const sgd{.lr = option("lr"), .momentum = option("momentum"), .weight_decay = option("weight_decay"), .nesterov = option("nesterov") != 0};
    Trainer trainer{Net{}, CrossEntropy{}, sgd, batch<N>, Options{.seed = seed, .threads = 2, .shuffle = false}};

    auto const& single = r.tensor(name + ".losses").values;
    auto const& exact = r.tensor(name + ".losses_f64").values;
    std::vector<double> losses;
    std::vector<std::vector<float>> last(static_cast<std::size_t>(trainer.network().size()));
    auto note = [&](Step const& step) {
        losses.push_back(step.loss);
        if (losses.size() == exact.size())
            for (std::size_t p = 0; p < last.size(); ++p) {
                auto const values = trainer.network()[static_cast<int>(p)].values;
                last[p].assign(values.begin(), values.end());
            }
    };
    for (int epoch = 1; losses.size() < exact.size(); ++epoch) (void)trainer.train_epoch(images, epoch, note);

    for (std::size_t step = 0; step < exact.size(); ++step) {
        CAPTURE(step);
        CHECK(losses[step] == doctest::Approx(single[step]).epsilon(1e-4).scale(0));
        CHECK(losses[step] == doctest::Approx(exact[step]).epsilon(1e-4).scale(0));
    }
    for (std::size_t p = 0; p < last.size(); ++p) {
        std::string const tensor = name + ".parameter" + std::to_string(p);
        CAPTURE(tensor);
        std::vector<float> found;
        for (std::int64_t element : r.tensor(tensor + ".element").integers) found.push_back(last[p][static_cast<std::size_t>(element)]);
        CHECK(distance(found, r.tensor(tensor + ".value_f64").values) <= 1e-4);
    }
}

/// What a run starts from, as far as the file shows it: labels, weights, and the logits of three images in float64.
template <class Net, index_t N>
void check_start(Reference const& r) {
    auto const seed = static_cast<std::uint64_t>(r.tensor("start.seed").integers[0]);
    auto const images = trajectory_images(seed, 20, Net::input);
    for (std::size_t i = 0; i < 20; ++i) CHECK(images.label(static_cast<index_t>(i)) == r.tensor("start.labels").integers[i]);
    auto const first = images.sample(19);
    auto const& shown = r.tensor("start.image19").integers;
    for (std::size_t i = 0; i < shown.size(); ++i) CHECK(first[i] == (static_cast<float>(shown[i]) / 255 - 0.5f) / 0.5f);
    Trainer trainer{Net{}, CrossEntropy{}, SGD{}, batch<N>, Options{.seed = seed, .threads = 1}};
    std::vector<float> inputs, logits(30);
    for (index_t i = 0; i < 3; ++i)
        for (float value : images.sample(i)) inputs.push_back(value);
    trainer.predict(inputs.data(), 3, logits.data());
    CHECK(distance(logits, r.tensor("start.logits").values) <= 1e-5);
}

} // namespace tenon::test
