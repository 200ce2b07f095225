/// @file
/// Measures what tenon does beside what the machine allows, call by call in turn, so that a disturbance of the machine
/// meets both. Of each the fastest call counts, as in STREAM (McCalpin, https://www.cs.virginia.edu/stream/): other
/// programs can only slow a loop down.
#pragma once

#include "timing.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace bench {

/// A way to reach a limit.
struct Way {
    std::string name;
    std::function<void()> call;
    double work = 1;        ///< of one call: bytes, or operations
    double seconds = 1e300; ///< of the fastest call so far
};

/// A limit: what the fastest of its ways reaches.
struct Limit {
    std::string name;
    std::vector<Way> ways;

    /// Work in a second, and the way that reached it.
    [[nodiscard]] std::pair<double, std::string> fastest() const {
        std::pair<double, std::string> found{0, ""};
        for (Way const& way : ways) found = (std::max)(found, {way.work / way.seconds, way.name});
        return found;
    }
};

/// Runs the limits and `call` in turn. Reports the rate of `call`, work in a second, under the name `unit`, and for
/// each limit the share `of_<limit>` of its rate that this is. The label names the limits' fastest ways.
inline void measure_beside(benchmark::State& state, char const* unit, double work, std::vector<Limit> limits,
                           std::function<void()> const& call) {
    for (Limit const& limit : limits)
        for (Way const& way : limit.ways) way.call(); // touches memory for the first time
    call();
    double fastest_call = 1e300;
    for (auto _ : state) {
        for (Limit& limit : limits)
            for (Way& way : limit.ways) way.seconds = (std::min)(way.seconds, seconds_of(way.call));
        double const seconds = seconds_of(call);
        fastest_call = (std::min)(fastest_call, seconds);
        state.SetIterationTime(seconds);
    }
    double const rate = work / fastest_call;
    state.counters[unit] = rate;
    std::string label;
    for (Limit const& limit : limits) {
        auto const [fastest, name] = limit.fastest();
        state.counters["of_" + limit.name] = rate / fastest;
        label += (label.empty() ? "" : "; ") + limit.name + ": " + name;
    }
    state.SetLabel(label);
}

} // namespace bench
