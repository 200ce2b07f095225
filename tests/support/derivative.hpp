/// @file
/// Gradients against central differences, both in double.
#pragma once

#include "interpreter.hpp"

#include <doctest/doctest.h>

namespace tenon::test {

/// Checks node `gradient` of the graph against central differences of `objective()` (a number that the graph computes) by
/// the source `variable`: by every element, or by 40 spread over a larger tensor. gradient -1 says that nothing depends on it.
/// Also the network's constants are floats: derivatives with a rounded constant of their own agree to about 1e-7.
template <class Objective>
void check_derivative(Interpreter& run, graph::Builder const& b, int variable, int gradient, Objective const& objective) {
    double const step = 1e-5, tolerance = 2e-7;
    std::size_t const count = run[variable].data.size();
    std::vector<double> const found = gradient >= 0 ? run[gradient].data : std::vector<double>(count);
    REQUIRE(found.size() == count);
    REQUIRE((gradient < 0 || (b[gradient].shape == b[variable].shape && b[gradient].batched == b[variable].batched)));
    std::size_t const stride = count <= 40 ? 1 : count / 40 | 1;
    double scale = 1;
    for (double g : found) scale = (std::max)(scale, std::fabs(g));
    for (std::size_t element = 0; element < count; element += stride) {
        run.nudge(variable, element, step);
        double const above = objective();
        run.nudge(variable, element, -2 * step);
        double const below = objective();
        run.nudge(variable, element, step);
        double const expected = (above - below) / (2 * step);
        CHECK_MESSAGE(std::fabs(found[element] - expected) <= tolerance * scale, "element ", element, " of node ", variable,
                      ": the graph says ", found[element], ", central differences ", expected);
    }
}

} // namespace tenon::test
