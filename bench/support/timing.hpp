/// @file
/// Times calls, one by one.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace bench {

/// Seconds that one call takes.
template <class F>
double seconds_of(F const& call) {
    auto const start = std::chrono::steady_clock::now();
    call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Appends the seconds of each call, for `budget` seconds in all; at least three calls.
template <class F>
void sample(F const& call, double budget, std::vector<double>& times) {
    double total = 0;
    for (int calls = 0; calls < 3 || total < budget; ++calls) {
        times.push_back(seconds_of(call));
        total += times.back();
    }
}

/// The middle value; of an even number of values the mean of the middle two. `values` are sorted.
inline double median(std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    std::size_t const n = values.size();
    return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

} // namespace bench
