// Learning-rate schedules against PyTorch's schedulers.
#include "support/reference.hpp"

#include <tenon/optim/schedule.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace tenon;

namespace {

/// The rates that follow from 0.1 must be those of the file.
template <class Schedule>
void check(test::Reference const& r, std::string const& name, Schedule const& schedule) {
    CAPTURE(name);
    auto const& rates = r.tensor(name + ".lr").values;
    for (std::size_t step = 0; step < rates.size(); ++step) {
        CAPTURE(step);
        CHECK(0.1 * static_cast<double>(schedule(static_cast<index_t>(step))) == doctest::Approx(rates[step]).epsilon(1e-6).scale(0.1));
    }
}

} // namespace

TEST_CASE("schedules are PyTorch's") {
    test::Reference const r{"schedule"};
    check(r, "step", schedule::Step{.period = 7, .gamma = 0.3f});
    check(r, "cosine", schedule::Cosine{.length = 20});
    check(r, "cosine_floor", schedule::Cosine{.length = 13, .floor = 0.1f});
    check(r, "linear", schedule::WarmUp{6, schedule::Constant{}, 0.25f});
    check(r, "warm_up", schedule::WarmUp{4, schedule::Constant{}, 0.2f}); // (step + 1) / 5 is 0.2 at first and 1 after 4 steps
    // Any callable is a schedule: here PyTorch's rise ends one step before its cosine begins.
    check(r, "warm_up_cosine", [](index_t step) { return step < 5 ? schedule::WarmUp{4, schedule::Constant{}, 0.2f}(step) : schedule::Cosine{15}(step - 5); });
}

TEST_CASE("schedules at their ends") {
    schedule::Cosine const cosine{.length = 10, .floor = 0.25f};
    CHECK(cosine(0) == 1);
    CHECK(cosine(5) == doctest::Approx(0.625));
    CHECK(cosine(10) == 0.25f);
    CHECK(cosine(1000) == 0.25f);
    schedule::Step const steps{.period = 3};
    CHECK(steps(2) == 1);
    CHECK(steps(3) == 0.1f);
    CHECK(steps(300) == 0); // far below the smallest float
    schedule::WarmUp const rising{4, schedule::Step{.period = 2, .gamma = 0.5f}};
    CHECK(rising(0) == 0);
    CHECK(rising(2) == 0.5f);
    CHECK(rising(4) == 1);
    CHECK(rising(6) == 0.5f);
    CHECK(schedule::Constant{}(7) == 1);
}
