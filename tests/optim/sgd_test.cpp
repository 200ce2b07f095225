// Momentum SGD against PyTorch, every option, step by step; and the values that must come out.
#include "support/planned_run.hpp"
#include "support/numbers.hpp"
#include "support/reference.hpp"

#include <tenon/optim/sgd.hpp>

#include <doctest/doctest.h>

#include <string>

using namespace tenon;

namespace {

/// One update of a tensor of `Count` numbers from a gradient that is given.
template <index_t Count>
struct Update {
    static constexpr graph::BatchLayout layout{1, 1};
    static constexpr bool reuse = true;
    static constexpr index_t reserved = 0;

    static constexpr graph::Roots write(graph::Builder& b) {
        graph::Value const p{&b, b.parameter("p", {Count}, graph::Distribution::uniform, 1)};
        int const gradient = b.source(graph::input_op, {Count}, false, 0);
        b.update = 0;
        SGD::write(b, 0, {&b, gradient});
        b.update = -1;
        return {p.id, -1, {}};
    }
};

/// A parameter that SGD changes, as the planned program does it.
template <index_t Count>
class Parameter {
public:
    Parameter(SGD const& sgd, std::vector<float> const& start) : sgd_{sgd} {
        run_.set(find(graph::parameter_op), start);
        run_.set(find(graph::state_op), std::vector<float>(start.size()));
    }

    std::vector<float> step(std::vector<float> const& gradient, float schedule = 1) {
        float numbers[SGD::numbers];
        sgd_.fill_numbers(step_++, schedule, numbers);
        for (int n = 0; n < SGD::numbers; ++n) run_.set_number(find(graph::number_op, graph::first_optimizer_number + n), static_cast<double>(numbers[n]));
        run_.set(find(graph::input_op), gradient);
        run_.run();
        return run_.get(find(graph::parameter_op));
    }
    [[nodiscard]] std::vector<float> velocity() const { return run_.get(find(graph::state_op)); }

private:
    SGD sgd_;
    test::PlannedRun<Update<Count>> run_{1};
    index_t step_ = 0;

    static int find(graph::Op const& op, int slot = 0) {
        auto const& tables = test::PlannedRun<Update<Count>>::tables;
        for (int id = 0; id < tables.sizes.nodes; ++id)
            if (graph::Node const& node = tables.nodes[static_cast<std::size_t>(id)]; node.is(op) && node.attribute[0] == slot) return id;
        return -1;
    }
};

/// w after each of three steps from 1, with gradient 2.
std::vector<float> from_one(SGD const& sgd) {
    Parameter<1> w{sgd, {1}};
    std::vector<float> found;
    for (int step = 0; step < 3; ++step) found.push_back(w.step({2})[0]);
    return found;
}

bool near(std::vector<float> const& found, std::vector<double> const& expected) { return test::distance(found, expected) <= 3e-7; }

} // namespace

TEST_CASE("SGD is PyTorch's") {
    test::Reference const r{"sgd"};
    for (std::string const name : {"plain", "momentum", "dampening", "nesterov", "weight_decay", "momentum_weight_decay", "dampening_weight_decay", "nesterov_weight_decay"}) {
        CAPTURE(name);
        auto const option = [&](char const* what) { return static_cast<float>(r.tensor(name + "." + what).scalar()); };
        SGD const sgd{.lr = option("lr"), .momentum = option("momentum"), .dampening = option("dampening"), .weight_decay = option("weight_decay"), .nesterov = option("nesterov") != 0};
        Parameter<7> p{sgd, r.tensor(name + ".start").as<float>()};
        auto const gradients = r.tensor(name + ".gradient").as<float>();
        auto const row = [&](std::string const& tensor, std::ptrdiff_t step) {
            auto const& all = r.tensor(name + tensor).values;
            return std::vector<double>(all.begin() + 7 * step, all.begin() + 7 * (step + 1));
        };
        for (std::ptrdiff_t step = 0; step < 10; ++step) {
            CAPTURE(step);
            CHECK(test::distance(p.step({gradients.begin() + 7 * step, gradients.begin() + 7 * (step + 1)}), row(".parameter", step)) <= 1e-6);
            if (r.has(name + ".momentum_buffer")) CHECK(test::distance(p.velocity(), row(".momentum_buffer", step)) <= 1e-6);
        }
    }
}

TEST_CASE("SGD: the values that must come out") {
    CHECK(near(from_one({.lr = 0.1f, .momentum = 0.9f}), {0.8, 0.42, -0.122}));
    CHECK(near(from_one({.lr = 0.1f, .momentum = 0.9f, .dampening = 0.5f}), {0.8, 0.52, 0.168}));
    CHECK(near(from_one({.lr = 0.1f, .momentum = 0.9f, .nesterov = true}), {0.62, 0.078, -0.6098}));
    CHECK(near(from_one({.lr = 0.1f, .weight_decay = 0.1f}), {0.79, 0.5821, 0.376279}));
}

TEST_CASE("SGD: the schedule multiplies the rate and leaves the momentum alone") {
    Parameter<1> w{SGD{.lr = 0.1f, .momentum = 0.5f}, {1}};
    CHECK(near(w.step({2}, 0.5f), {0.9}));  // v = 2
    CHECK(near(w.step({2}, 0), {0.9}));     // v = 3
    CHECK(near(w.step({0}, 2), {0.6}));     // v = 1.5
    CHECK(near(w.velocity(), {1.5}));
}
