/// @file
/// Prints what training and evaluation report: `std::cout << epoch << trainer.evaluate(test) << '\n'`.
#pragma once

#include <tenon/train/metrics.hpp>

#include <cstdio>
#include <iosfwd>

namespace tenon {

/// "epoch 1/2  loss 0.5432  60000 samples in 4.21 s  "
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, Epoch const& e) {
    char text[160];
    std::snprintf(text, sizeof text, "epoch %d/%d  loss %.4f  %lld samples in %.2f s  ", e.number, e.of, e.loss, static_cast<long long>(e.samples), e.seconds);
    return out << text;
}

/// "test loss 0.3456  accuracy 87.65 % of 10000"
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, Evaluation const& e) {
    char text[160];
    if (e.counted > 0) std::snprintf(text, sizeof text, "test loss %.4f  accuracy %.2f %% of %lld", e.loss, 100 * e.accuracy(), static_cast<long long>(e.counted));
    else std::snprintf(text, sizeof text, "test loss %.4f of %lld", e.loss, static_cast<long long>(e.samples));
    return out << text;
}

} // namespace tenon
