/// @file
/// Trains a network: compiles its step, owns the memory, runs, evaluates.
#pragma once

#include <tenon/train/backend.hpp>
#include <tenon/train/facts.hpp>
#include <tenon/train/program.hpp>

#include <optional>

namespace tenon {

/// Fails to compile where a loss cannot take the network's output.
template <class Loss, Fault const* mistake, class Arriving, class Right>
struct loss_check {
    static_assert(sizeof(Loss) == 0, "tenon: the loss cannot take the network's output; loss, mistake and shapes are named in loss_check<...>");
    static constexpr bool reported = true;
};

namespace detail {

struct loss_fits {
    static constexpr bool reported = true;
};

/// loss_fits, or the loss_check that fails.
template <bool NetworkIsValid, class Loss, Verdict v>
constexpr auto find_loss_check() {
    if constexpr (!NetworkIsValid || v.ok()) return std::type_identity<loss_fits>{};
    else return std::type_identity<loss_check<Loss, v.fault, typename spelled<Arrives, v.arrives>::type, typename spelled<Expected, v.expected>::type>>{};
}

} // namespace detail

/// Trains `Net` with `Loss` and `Optimizer`, N samples a step.
///     Trainer trainer{LeNet{}, CrossEntropy{}, SGD{.lr = 0.001f, .momentum = 0.9f}, batch<4>, Options{.seed = 1}};
/// Everything a step does is planned at compile time; after construction a step allocates nothing. Neither copyable nor movable:
/// hand out references. What it can do is in training::TrainerCore. Reuse = false gives every value bytes of its own, for tests.
/// Where: Cpu, or under nvcc Cuda, given before the options: `batch<64>, Cuda{}, Options{.seed = 1}`. Factors: what products are made
/// of on a GPU, given behind the batch: `batch<64>, precision<tf32>, Cuda{}`.
template <class Net, class Loss, class Optimizer, class BatchSize, bool Reuse = true, class Where = Cpu, class Factors = float32>
class Trainer : public training::TrainerCore<Loss, Optimizer, typename training::Backend<Where>::Machine> {
    using Backend = training::Backend<Where>;
    using Core = training::TrainerCore<Loss, Optimizer, typename Backend::Machine>;

    static constexpr bool network_is_valid = Net::valid;
    static constexpr graph::BatchLayout layout{BatchSize::size, Backend::lanes_for(BatchSize::size)};

    using Training = graph::Compiled<typename Backend::template Source<training::TrainingSource<Net, Loss, Optimizer, layout, Reuse>, Factors>>;
    using Inference = graph::Compiled<typename Backend::template Source<training::InferenceSource<Net, Loss, layout, Training::tables.memory.kept>, Factors>>;

    static_assert(decltype(detail::find_loss_check<network_is_valid, Loss, Training::tables.verdict>())::type::reported);
    static constexpr bool valid = network_is_valid && Training::tables.verdict.ok();

public:
    static constexpr index_t batch_size = BatchSize::size;
    static constexpr index_t features = Net::input.count();
    static constexpr index_t outputs = Net::output.count();
    /// Bytes of the training step's arena.
    static constexpr graph::Memory memory = Training::tables.memory;
    /// The compiled step as constants: graph, stages and plan.
    static constexpr auto const& plan = Training::tables;

    TENON_ALWAYS_INLINE Trainer(Net, Loss loss, Optimizer optimizer, BatchSize, Options const& options = {})
        : Core(training::network_facts<Net, Training>(batch_size), make<Training>(), make<Inference>(), setup({}, options), std::move(loss), std::move(optimizer), options) {}
    TENON_ALWAYS_INLINE Trainer(Net, Loss loss, Optimizer optimizer, BatchSize, Where const& where, Options const& options = {})
        : Core(training::network_facts<Net, Training>(batch_size), make<Training>(), make<Inference>(), setup(where, options), std::move(loss), std::move(optimizer), options) {}
    TENON_ALWAYS_INLINE Trainer(Net, Loss loss, Optimizer optimizer, BatchSize, Precision<Factors>, Options const& options = {})
        : Trainer(Net{}, std::move(loss), std::move(optimizer), BatchSize{}, options) {}
    TENON_ALWAYS_INLINE Trainer(Net, Loss loss, Optimizer optimizer, BatchSize, Precision<Factors>, Where const& where, Options const& options = {})
        : Trainer(Net{}, std::move(loss), std::move(optimizer), BatchSize{}, where, options) {}

    /// Why none can be made there now, in a line; nothing: one can. On a CPU that is always so; on a GPU it takes a driver, a device that
    /// this program has code for, and free memory for the plan. Allocates nothing, and never fails.
    ///     if (auto const reason = decltype(trainer)::obstacle(Cuda{})) std::cout << "Training on the CPU: " << *reason << '\n';
    [[nodiscard]] TENON_ALWAYS_INLINE static std::optional<std::string> obstacle(Where const& where = {}) {
        if constexpr (valid && requires { &Backend::Machine::obstacle; }) return Backend::Machine::obstacle(setup(where, {}), make<Training>(), make<Inference>());
        else return std::nullopt;
    }

private:
    // Nothing is made of a network that is in error: the one message about it is enough.
    template <class C>
    TENON_ALWAYS_INLINE static typename Backend::Machine::Program make() {
        if constexpr (valid) return graph::make_program<C, typename Backend::Device>();
        else return {};
    }
    TENON_ALWAYS_INLINE static typename Backend::Machine::Setup setup(Where const& where, Options const& options) {
        if constexpr (valid) return Backend::template setup<Training, Inference>(where, options.threads);
        else return {};
    }
};

template <class Net, class Loss, class Optimizer, class BatchSize>
Trainer(Net, Loss, Optimizer, BatchSize, Options const&) -> Trainer<Net, Loss, Optimizer, BatchSize>;
template <class Net, class Loss, class Optimizer, class BatchSize, training::Place Where>
Trainer(Net, Loss, Optimizer, BatchSize, Where) -> Trainer<Net, Loss, Optimizer, BatchSize, true, Where>;
template <class Net, class Loss, class Optimizer, class BatchSize, training::Place Where>
Trainer(Net, Loss, Optimizer, BatchSize, Where, Options const&) -> Trainer<Net, Loss, Optimizer, BatchSize, true, Where>;
template <class Net, class Loss, class Optimizer, class BatchSize, class Factors>
Trainer(Net, Loss, Optimizer, BatchSize, Precision<Factors>) -> Trainer<Net, Loss, Optimizer, BatchSize, true, Cpu, Factors>;
template <class Net, class Loss, class Optimizer, class BatchSize, class Factors>
Trainer(Net, Loss, Optimizer, BatchSize, Precision<Factors>, Options const&) -> Trainer<Net, Loss, Optimizer, BatchSize, true, Cpu, Factors>;
template <class Net, class Loss, class Optimizer, class BatchSize, class Factors, training::Place Where>
Trainer(Net, Loss, Optimizer, BatchSize, Precision<Factors>, Where) -> Trainer<Net, Loss, Optimizer, BatchSize, true, Where, Factors>;
template <class Net, class Loss, class Optimizer, class BatchSize, class Factors, training::Place Where>
Trainer(Net, Loss, Optimizer, BatchSize, Precision<Factors>, Where, Options const&) -> Trainer<Net, Loss, Optimizer, BatchSize, true, Where, Factors>;

} // namespace tenon
