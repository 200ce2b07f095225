/// @file
/// A small data set of floats for tests and first experiments: one round cloud of points for each class.
#pragma once

#include <tenon/data/dataset.hpp>

namespace tenon::data {

struct BlobOptions {
    index_t features = 2;
    index_t classes = 3;
    float spread = 0.3f; ///< the clouds' standard deviation; their centres are drawn from [-1, 1] in every feature
    std::uint64_t seed = 0;
    std::uint32_t part = 0; ///< another part has the same centres and other samples: for training and for testing
};

/// `count` samples of shape {features}; sample i is the same whatever `count` is.
[[nodiscard]] inline Dataset<float> blobs(index_t count, BlobOptions const& options = {}) {
    if (count < 0 || options.features < 1 || options.features >= 1 << 20 || options.classes < 1 ||
        options.classes > 256)
        refuse({"blobs with ", count, " samples, ", options.features, " features and ", options.classes,
                " classes were asked for; features lie in [1, 2^20), classes in [1, 256]"});
    RandomSource const centres{options.seed, random_stream(RandomPurpose::user, 0xb10b0), 0};
    RandomSource const draws{options.seed, random_stream(RandomPurpose::user, 0xb10b1), options.part};
    std::uint64_t const features = static_cast<std::uint64_t>(options.features);
    std::uint64_t const classes = static_cast<std::uint64_t>(options.classes);

    std::vector<float> samples;
    std::vector<std::uint8_t> labels;
    samples.reserve(static_cast<std::size_t>(count * options.features));
    labels.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
        // A block of four random numbers for the label, and one for each feature.
        std::uint64_t const block = i * (features + 1);
        std::uint64_t const label = philox(draws, block).word[0] % classes;
        for (std::uint64_t f = 0; f < features; ++f) {
            // Four uniform numbers summed have variance 1/3, are near enough to normal, and need no function of the
            // C library, whose last bits differ.
            std::uint64_t sum = 0;
            for (std::uint32_t const word : philox(draws, block + 1 + f).word) sum += word >> 8;
            float const centre = 2 * uniform(centres, label * features + f) - 1;
            float const normal = (static_cast<float>(sum) * 0x1p-24f - 2) * 1.7320508f;
            samples.push_back(centre + options.spread * normal);
        }
        labels.push_back(static_cast<std::uint8_t>(label));
    }
    return {Dims{options.features}, std::move(samples), std::move(labels), options.classes};
}

} // namespace tenon::data
