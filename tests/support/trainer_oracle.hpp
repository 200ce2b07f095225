/// @file
/// A trainer in double: the same graph, node by node. Trainers are compared with it step by step.
#pragma once

#include "loss_graph.hpp"

#include <tenon/optim/sgd.hpp>
#include <tenon/train/trainer.hpp>

namespace tenon::test {

/// Parameters and optimiser state in double, and the steps that change them.
template <class Net, class Loss, class Optimizer>
class TrainerOracle {
public:
    /// @param start the weights to begin with
    TrainerOracle(Parameters const& start, Loss loss, Optimizer optimizer, std::uint64_t seed)
        : loss_{std::move(loss)}, optimizer_{std::move(optimizer)}, seed_{seed} {
        training_roots_ = Training::write(training_);
        inference_roots_ = Inference::write(inference_);
        for (int p = 0; p < start.size(); ++p) parameters_.emplace_back(start[p].values.begin(), start[p].values.end());
        for (graph::State const& s : training_.states) states_.emplace_back(training_.shape(s.node).count());
    }

    [[nodiscard]] std::vector<double> const& parameter(int p) const { return parameters_[static_cast<std::size_t>(p)]; }
    [[nodiscard]] Optimizer& optimizer() { return optimizer_; }

    /// One step; the loss at the weights before it.
    template <class Targets>
    double step(std::vector<float> const& inputs, Targets const& targets, index_t samples, float schedule = 1) {
        Interpreter run{training_, samples};
        give(run, training_, inputs);
        give_loss(run, training_, loss_, targets, samples);
        for (std::size_t s = 0; s < states_.size(); ++s) run.set(training_.states[s].node, states_[s]);
        float numbers[Optimizer::numbers];
        optimizer_.fill_numbers(step_, schedule, numbers);
        for (int id = 0; id < training_.size(); ++id) {
            graph::Node const& node = training_[id];
            int const slot = node.attribute[0];
            if (node.is(graph::number_op) && slot >= graph::first_optimizer_number)
                run.set_number(id, static_cast<double>(numbers[slot - graph::first_optimizer_number]));
            if (node.is(graph::random_op))
                run.set_random(id, {seed_, random_stream(RandomPurpose::dropout, static_cast<std::uint32_t>(slot)), static_cast<std::uint32_t>(step_)});
        }
        double const loss = run.number(training_roots_.loss);
        run.assign();
        for (std::size_t p = 0; p < parameters_.size(); ++p) parameters_[p] = run[training_.parameters[p].node].data;
        for (std::size_t s = 0; s < states_.size(); ++s) states_[s] = run[training_.states[s].node].data;
        ++step_;
        return loss;
    }

    [[nodiscard]] std::vector<double> predict(std::vector<float> const& inputs, index_t samples) const {
        Interpreter run{inference_, samples};
        give(run, inference_, inputs);
        return run[inference_roots_.output].data;
    }

    /// The loss of a batch without a step, dropout off.
    template <class Targets>
    [[nodiscard]] double evaluate(std::vector<float> const& inputs, Targets const& targets, index_t samples) const {
        Interpreter run{inference_, samples};
        give(run, inference_, inputs);
        give_loss(run, inference_, loss_, targets, samples);
        return run.number(inference_roots_.loss);
    }

private:
    static constexpr graph::BatchLayout any{1, 1}; // the graph does not depend on it
    using Training = training::TrainingSource<Net, Loss, Optimizer, any, true>;
    using Inference = training::InferenceSource<Net, Loss, any, 0>;

    Loss loss_;
    Optimizer optimizer_;
    std::uint64_t seed_;
    graph::Builder training_, inference_;
    graph::Roots training_roots_, inference_roots_;
    std::vector<std::vector<double>> parameters_, states_;
    index_t step_ = 0;

    void give(Interpreter& run, graph::Builder const& b, std::vector<float> const& inputs) const {
        for (int id = 0; id < b.size(); ++id)
            if (b[id].is(graph::input_op)) run.set(id, inputs);
        for (std::size_t p = 0; p < parameters_.size(); ++p) run.set(b.parameters[p].node, parameters_[p]);
    }
};

/// Targets of a loss, at random.
template <class Loss>
[[nodiscard]] auto random_targets(index_t samples, index_t outputs, std::uint64_t seed) {
    if constexpr (std::is_integral_v<typename Loss::Target>) return random_labels(samples, outputs, seed);
    else return random_numbers(samples * outputs, seed);
}

/// What a case may say beside network, loss and optimiser.
struct TrainerOptions {
    Options trainer{.seed = 11, .threads = 1};
    double tolerance = 4e-6; ///< of predictions and weights, see distance()
};

/// Trains on one batch after the other, of these sizes, and compares with the oracle each time: predictions before the step, the
/// loss, every weight after it.
template <class Net, index_t N, bool Reuse = true, class Loss, class Optimizer>
void check_trainer(Loss const& loss, Optimizer const& optimizer, std::initializer_list<index_t> batches, TrainerOptions const& options = {}) {
    Trainer<Net, Loss, Optimizer, Batch<N>, Reuse> trainer{Net{}, loss, optimizer, batch<N>, options.trainer};
    TrainerOracle<Net, Loss, Optimizer> oracle{trainer.network(), loss, optimizer, options.trainer.seed};
    std::uint64_t seed = 100 * N;
    for (index_t const samples : batches) {
        CAPTURE(N);
        CAPTURE(samples);
        auto const inputs = random_numbers(samples * trainer.features, ++seed);
        auto const targets = random_targets<Loss>(samples, trainer.outputs, ++seed);

        std::vector<float> predicted(static_cast<std::size_t>(samples * trainer.outputs), std::numeric_limits<float>::quiet_NaN());
        trainer.predict(inputs.data(), samples, predicted.data());
        CHECK(distance(predicted, oracle.predict(inputs, samples)) <= options.tolerance);

        double const found = trainer.step(inputs.data(), targets.data(), samples);
        CHECK(found == doctest::Approx(oracle.step(inputs, targets, samples)).epsilon(options.tolerance).scale(0));
        for (int p = 0; p < trainer.network().size(); ++p) {
            ParameterView const view = trainer.network()[p];
            CAPTURE(std::string{view.name});
            CHECK(distance(view.values, oracle.parameter(p)) <= options.tolerance);
        }
    }
}

} // namespace tenon::test
