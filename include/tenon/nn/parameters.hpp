/// @file
/// The trained numbers of a network, by name: a view of where they lie.
#pragma once

#include <tenon/core/error.hpp>
#include <tenon/core/random.hpp>
#include <tenon/graph/builder.hpp>

#include <cmath>
#include <span>
#include <string>
#include <string_view>

namespace tenon {

/// One trainable tensor: contiguous, in PyTorch's layout and under PyTorch's name.
struct ParameterView {
    std::string_view name; ///< "3.weight", "conv1.bias"
    Dims shape;
    std::span<float> values;
};

/// The trainable tensors of a network, in order of appearance. A view: it must not outlive the trainer or predictor.
class Parameters {
public:
    Parameters(graph::Parameter const* parameters, index_t const* offsets, int count, std::byte* arena)
        : parameters_{parameters}, offset_{offsets}, count_{count}, arena_{arena} {}

    [[nodiscard]] int size() const { return count_; }

    [[nodiscard]] ParameterView operator[](int i) const {
        graph::Parameter const& p = parameters_[i];
        auto* const values = reinterpret_cast<float*>(arena_ + offset_[i]);
        return {p.name, p.shape, {values, static_cast<std::size_t>(p.shape.count())}};
    }

    /// The tensor of this name; fails with the names that exist if there is none.
    [[nodiscard]] ParameterView at(std::string_view name) const {
        std::string known;
        for (int i = 0; i < count_; ++i) {
            if (parameters_[i].name == name) return (*this)[i];
            known += i == 0 ? "" : ", ";
            known += parameters_[i].name;
        }
        fail({"network: no parameter is called '", std::string{name}, "'; there are: ", known});
    }

    /// Draws every parameter anew by its layer's rule. Parameter k uses stream k of the seed, so values depend on nothing else.
    void initialize(std::uint64_t seed) const {
        for (int i = 0; i < count_; ++i) {
            RandomSource const source{seed, random_stream(RandomPurpose::initial_weights, static_cast<std::uint32_t>(i)), 0};
            graph::Parameter const& p = parameters_[i];
            std::span<float> const values = (*this)[i].values;
            for (std::size_t e = 0; e < values.size(); ++e) values[e] = draw(p, source, e);
        }
    }

private:
    graph::Parameter const* parameters_;
    index_t const* offset_;
    int count_;
    std::byte* arena_;

    static float draw(graph::Parameter const& p, RandomSource const& source, std::uint64_t element) {
        switch (p.distribution) {
        case graph::Distribution::constant: return p.scale;
        case graph::Distribution::uniform: return p.scale * (2 * uniform(source, element) - 1);
        case graph::Distribution::normal: break;
        }
        // Box and Muller's transform of two numbers of this element's own.
        double const u = 1 - static_cast<double>(uniform(source, 2 * element)), v = uniform(source, 2 * element + 1);
        return static_cast<float>(static_cast<double>(p.scale) * std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v));
    }
};

} // namespace tenon
