/// @file
/// The elementary functions in double, by the C library: what a pointwise node means.
#pragma once

#include "values.hpp"

#include <tenon/core/error.hpp>
#include <tenon/core/random.hpp>

#include <cmath>
#include <string>

namespace tenon::test {

/// PyTorch's rules for NaN: relu, sign, min and max pass it on; comparisons with it are false.
[[nodiscard]] inline double evaluate_in_double(Fn fn, double a, double b, double c) {
    bool const unordered = std::isnan(a) || std::isnan(b);
    switch (fn) {
    case Fn::neg: return -a;
    case Fn::abs: return std::fabs(a);
    case Fn::sign: return a > 0 ? 1 : a < 0 ? -1 : a;
    case Fn::floor: return std::floor(a);
    case Fn::ceil: return std::ceil(a);
    case Fn::round: return std::nearbyint(a);
    case Fn::sqrt: return std::sqrt(a);
    case Fn::exp: return std::exp(a);
    case Fn::expm1: return std::expm1(a);
    case Fn::log: return std::log(a);
    case Fn::log1p: return std::log1p(a);
    case Fn::sin: return std::sin(a);
    case Fn::cos: return std::cos(a);
    case Fn::tanh: return std::tanh(a);
    case Fn::erf: return std::erf(a);
    case Fn::sigmoid: return a < 0 ? std::exp(a) / (1 + std::exp(a)) : 1 / (1 + std::exp(-a));
    case Fn::relu: return a < 0 ? 0 : a;
    case Fn::is_nan: return std::isnan(a) ? 1 : 0;
    case Fn::logical_not: return a != 0 ? 0 : 1;
    case Fn::add: return a + b;
    case Fn::sub: return a - b;
    case Fn::mul: return a * b;
    case Fn::div: return a / b;
    case Fn::pow: return std::pow(a, b);
    case Fn::min: return unordered ? a + b : std::fmin(a, b);
    case Fn::max: return unordered ? a + b : std::fmax(a, b);
    case Fn::less: return a < b ? 1 : 0;
    case Fn::less_equal: return a <= b ? 1 : 0;
    case Fn::equal: return a == b ? 1 : 0;
    case Fn::not_equal: return a != b ? 1 : 0;
    case Fn::logical_and: return a != 0 && b != 0 ? 1 : 0;
    case Fn::logical_or: return a != 0 || b != 0 ? 1 : 0;
    case Fn::select: return a != 0 ? b : c;
    case Fn::fma: return a * b + c;
    default: fail("the interpreter knows no elementary function number " + std::to_string(static_cast<int>(fn)));
    }
}

/// One pointwise node; `inputs` are null where the node has none.
inline void interpret_pointwise(Fn fn, Values const* const* inputs, Values& y) {
    index_t const count = y.shape.count();
    for (index_t sample = 0; sample < y.samples; ++sample)
        for (index_t e = 0; e < count; ++e) {
            double argument[3]{};
            for (int i = 0; i < 3; ++i)
                if (inputs[i] != nullptr)
                    argument[i] = inputs[i]->at(sample)[broadcast_element(inputs[i]->shape, y.shape, e)];
            y.at(sample)[e] = evaluate_in_double(fn, argument[0], argument[1], argument[2]);
        }
}

/// Uniform numbers: element e of sample i is number i * count + e of the stream.
inline void interpret_random(RandomSource const& source, Values& y) {
    for (std::size_t e = 0; e < y.data.size(); ++e) y.data[e] = static_cast<double>(uniform(source, e));
}

/// Sums over the batch and over the axes in which y has extent 1 or none.
inline void interpret_sum_to(Values const& x, Values& y) {
    index_t const count = x.shape.count();
    for (index_t sample = 0; sample < x.samples; ++sample)
        for (index_t e = 0; e < count; ++e)
            y.at(sample)[broadcast_element(y.shape, x.shape, e)] += x.at(sample)[e];
}

} // namespace tenon::test
