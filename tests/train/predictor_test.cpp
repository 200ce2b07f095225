// Inference on its own: the same outputs as the oracle's, parameters that come from a trainer by name, or not at all.
#include "support/trainer_oracle.hpp"

#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/dropout/dropout.hpp>
#include <tenon/ops/flatten/flatten.hpp>
#include <tenon/ops/mse/mse.hpp>
#include <tenon/train/predictor.hpp>

#include <bit>

using namespace tenon;

namespace {

using Net = Network<Input{2, 9, 8}, Named<"first", Conv2d{.out = 5, .kernel = 3, .padding = 1}>, ReLU{}, MaxPool2d{.kernel = 2},
                    Residual<Conv2d{.out = 5, .kernel = 3, .padding = 1}, GELU{}>, Dropout{.probability = 0.4f}, Flatten{}, Linear{.out = 6}, Tanh{}, Linear{.out = 3}>;

template <class P>
std::vector<float> predict(P& predictor, std::vector<float> const& inputs, index_t samples) {
    std::vector<float> found(static_cast<std::size_t>(samples * P::outputs), std::numeric_limits<float>::quiet_NaN());
    predictor.predict(inputs.data(), samples, found.data());
    return found;
}

template <index_t N>
void check_against_oracle() {
    Predictor predictor{Net{}, batch<N>, Options{.seed = 5, .threads = 2}};
    CHECK(predictor.threads() == 2);
    test::TrainerOracle<Net, MSE, SGD> const oracle{predictor.network(), MSE{}, SGD{}, 5};
    for (index_t const samples : {index_t{1}, N, 2 * N + 1}) {
        CAPTURE(N);
        CAPTURE(samples);
        auto const inputs = test::random_numbers(samples * predictor.features, static_cast<std::uint64_t>(40 + samples));
        CHECK(test::distance(predict(predictor, inputs, samples), oracle.predict(inputs, samples)) <= 4e-6);
    }
}

std::vector<std::uint32_t> bits(std::vector<float> const& values) {
    std::vector<std::uint32_t> found;
    for (float value : values) found.push_back(std::bit_cast<std::uint32_t>(value));
    return found;
}

std::vector<float> parameters_of(Parameters const& network) {
    std::vector<float> all;
    for (int p = 0; p < network.size(); ++p) all.insert(all.end(), network[p].values.begin(), network[p].values.end());
    return all;
}

/// The message of the error that copying gives; empty without one.
template <class From, class To>
std::string refusal(From const&, To const&) {
    Predictor from{From{}, batch<1>, Options{.seed = 1, .threads = 1}};
    Predictor to{To{}, batch<1>, Options{.seed = 2, .threads = 1}};
    auto const before = parameters_of(to.network());
    std::string message;
    try {
        to.copy_parameters(from.network());
    } catch (Error const& error) {
        message = error.what();
        CHECK(bits(parameters_of(to.network())) == bits(before));
    }
    return message;
}

} // namespace

TEST_CASE("predictions equal the oracle's, for batches that fill vectors and batches that do not") {
    check_against_oracle<1>();
    check_against_oracle<4>();
    check_against_oracle<7>();
    check_against_oracle<16>();
    check_against_oracle<33>();
}

TEST_CASE("after copying a trainer's parameters a predictor of the same batch computes the trainer's bits") {
    Trainer trainer{Net{}, CrossEntropy{}, SGD{.lr = 0.1f, .momentum = 0.9f}, batch<7>, Options{.seed = 3, .threads = 1}};
    Predictor predictor{Net{}, batch<7>, Options{.seed = 3, .threads = 1}};
    auto const inputs = test::random_numbers(9 * trainer.features, 1);
    auto const labels = test::random_labels(7, 3, 2);
    std::vector<float> of_trainer(9 * 3);
    auto const agree = [&] {
        trainer.predict(inputs.data(), 9, of_trainer.data());
        return bits(predict(predictor, inputs, 9)) == bits(of_trainer);
    };
    CHECK(agree()); // the same seed draws the same parameters
    (void)trainer.step(inputs.data(), labels.data(), 7);
    CHECK(!agree()); // they are the predictor's own
    predictor.copy_parameters(trainer.network());
    CHECK(agree());
}

TEST_CASE("the bits depend neither on the number of threads nor on what lies in dead buffers") {
    Predictor one{Net{}, batch<17>, Options{.seed = 6, .threads = 1}};
    Predictor three{Net{}, batch<17>, Options{.seed = 6, .threads = 3}};
    Predictor poisoned{Net{}, batch<17>, Options{.seed = 6, .threads = 2, .poison_dead_buffers = true}};
    auto const inputs = test::random_numbers(20 * one.features, 8);
    auto const expected = bits(predict(one, inputs, 20));
    CHECK(bits(predict(three, inputs, 20)) == expected);
    CHECK(bits(predict(poisoned, inputs, 20)) == expected);
    CHECK(bits(predict(one, inputs, 20)) == expected);
}

TEST_CASE("the arena has room for a forward pass alone") {
    using P = Predictor<Net, Batch<4>>;
    static_assert(P::memory.parameters == 4 * Net::parameters);
    static_assert(P::memory.optimizer_state == 0);
    static_assert(P::memory.total < Trainer<Net, CrossEntropy, SGD, Batch<4>>::memory.total);
}

TEST_CASE("parameters that do not fit are refused, all of them") {
    constexpr Network<Input{4}, Linear{.out = 3}, Linear{.out = 2}> net{};
    CHECK(refusal(net, net).empty());

    constexpr Network<Input{4}, Linear{.out = 3}, Linear{.out = 5}> wider{};
    std::string const shape = refusal(wider, net);
    CHECK(shape.find("1.weight") != std::string::npos);
    CHECK(shape.find("2 x 3") != std::string::npos);
    CHECK(shape.find("5 x 3") != std::string::npos);

    constexpr Network<Input{4}, Linear{.out = 3}, Named<"head", Linear{.out = 2}>> renamed{};
    CHECK(refusal(renamed, net).find("1.weight") != std::string::npos);

    constexpr Network<Input{4}, Linear{.out = 3}, Linear{.out = 2}, Linear{.out = 2}> longer{};
    CHECK(refusal(longer, net).find("2.weight") != std::string::npos);
    CHECK(refusal(net, longer).find("2.weight") != std::string::npos);
}
