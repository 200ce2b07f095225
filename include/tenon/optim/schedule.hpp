/// @file
/// Learning-rate schedules: functions of the step that multiply the optimiser's rate. `trainer.set_schedule(...)` takes any
/// callable `float(index_t step)`; step 0 is the first.
#pragma once

#include <tenon/core/config.hpp>

#include <cmath>

namespace tenon::schedule {

/// Multiplies by `gamma` every `period` steps (torch.optim.lr_scheduler.StepLR, with steps for its epochs).
struct Step {
    index_t period;
    float gamma = 0.1f;

    [[nodiscard]] float operator()(index_t step) const { return std::pow(gamma, static_cast<float>(step / period)); }
};

/// From 1 to `floor` along half a cosine over `length` steps, then `floor`
/// (Loshchilov and Hutter 2017, https://arxiv.org/abs/1608.03983, without restarts).
struct Cosine {
    index_t length;
    float floor = 0;

    [[nodiscard]] float operator()(index_t step) const {
        double const part = step >= length ? 1.0 : static_cast<double>(step) / static_cast<double>(length);
        return static_cast<float>(static_cast<double>(floor) + (1.0 - static_cast<double>(floor)) * 0.5 * (1 + std::cos(3.14159265358979323846 * part)));
    }
};

/// Rises linearly from `start` to 1 over `length` steps, then follows `next`, whose step 0 is the end of the rise.
template <class Next>
struct WarmUp {
    index_t length;
    Next next;
    float start = 0;

    [[nodiscard]] float operator()(index_t step) const {
        if (step >= length) return next(step - length);
        return start + (1 - start) * static_cast<float>(step) / static_cast<float>(length);
    }
};
template <class Next>
WarmUp(index_t, Next) -> WarmUp<Next>;
template <class Next>
WarmUp(index_t, Next, float) -> WarmUp<Next>;

/// Always 1.
struct Constant {
    [[nodiscard]] float operator()(index_t) const { return 1; }
};

} // namespace tenon::schedule
