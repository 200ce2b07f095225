/// @file
/// Losses that may still be under way on a device, and callbacks that look at some steps only.
#pragma once

#include <tenon/core/config.hpp>

#include <utility>

namespace tenon {

/// A number that converts to double. On a GPU it is fetched when it is first looked at, which waits for the device: a loss that
/// nobody looks at costs nothing. Read it while its trainer lives, before the trainer has taken 8192 further steps, and not after it
/// has reported a loss that is not finite: the steps taken then bear the numbers of those that were refused.
class Reading {
public:
    Reading() = default;
    /// A number that is known.
    constexpr Reading(double value) : value_{value} {} // NOLINT: a double is a reading
    /// The one that `read(from, step)` finds.
    constexpr Reading(double (*read)(void* from, index_t step), void* from, index_t step)
        : read_{read}, from_{from}, step_{step} {}

    /// Errors: tenon::Error where the device reports that training has failed, see Options::stop_at_non_finite.
    [[nodiscard]] double value() const { return read_ == nullptr ? value_ : read_(from_, step_); }
    operator double() const { return value(); } // NOLINT: it stands for the number
    /// Is it here already?
    [[nodiscard]] bool known() const { return read_ == nullptr; }

private:
    double value_ = 0;
    double (*read_)(void*, index_t) = nullptr;
    void* from_ = nullptr;
    index_t step_ = 0;
};

/// A callback for every n-th step: see every().
template <class F>
struct Every {
    index_t period = 1;
    F call;
};

/// For epochs(): calls `f` with a Step after each `period`-th step of an epoch; that step's samples, loss (the mean) and weight are
/// those of all `period` steps. On a GPU the steps between two calls are launched together.
///     trainer.epochs(train, 2, every(2000, [](Step const& step) { std::printf("%.3f\n", step.loss.value()); }))
template <class F>
[[nodiscard]] Every<F> every(index_t period, F f) {
    return {period < 1 ? 1 : period, std::move(f)};
}

namespace training {

/// No callback: nothing looks at single steps.
struct NoCallback {};

/// After how many steps a callback must see the trainer as it is then: 1, unless it says otherwise; 0: never.
template <class OnStep>
struct CallbackPeriod {
    static index_t of(OnStep const&) { return 1; }
};
template <>
struct CallbackPeriod<NoCallback> {
    static index_t of(NoCallback const&) { return 0; }
};
template <class F>
struct CallbackPeriod<Every<F>> {
    static index_t of(Every<F> const& callback) { return callback.period; }
};

} // namespace training
} // namespace tenon
