// The elementwise layers, and functors that a user writes.
#include "support/reference_layer.hpp"
#include "support/test_layer.hpp"

#include <tenon/ops/activation/activation.hpp>

#include <limits>

using namespace tenon;
using test::test_layer;

namespace {

constexpr graph::BatchLayout layout{33, 4};

/// The special values of PyTorch's file, each in a sample of its own: the float program must agree one by one.
template <auto Layer>
void check_special(test::Reference const& reference, std::string const& name) {
    using Source = test::LayerSource<layout, Input{1}, Layer>;
    CAPTURE(name);
    constexpr test::LayerNodes nodes = Source::nodes;
    auto const& x = reference.tensor(name + ".special.x").values;
    index_t const samples = static_cast<index_t>(x.size());
    test::PlannedRun<Source> run{samples};
    run.set(nodes.x, x);
    run.set(nodes.dy, reference.tensor(name + ".special.dy").values);
    run.run();
    auto const check = [&](std::vector<float> const& found, std::string const& tensor) {
        auto const& expected = reference.tensor(name + ".special" + tensor).values;
        for (std::size_t i = 0; i < x.size(); ++i) {
            CAPTURE(tensor);
            CAPTURE(x[i]);
            CAPTURE(found[i]);
            CAPTURE(expected[i]);
            if (std::isnan(expected[i])) CHECK(std::isnan(found[i]));
            else if (std::isinf(expected[i])) CHECK(static_cast<double>(found[i]) == expected[i]);
            else CHECK(std::fabs(static_cast<double>(found[i]) - expected[i]) <= 1e-6 * std::fabs(expected[i]) + 1e-7);
        }
    };
    check(run.get(nodes.y), ".y");
    check(run.get(nodes.gradient[0]), ".dx");
}

template <auto Layer>
void check_activation(test::Reference const& reference, std::string const& name) {
    test::check_reference<layout, Input{3, 7}, Layer>(reference, name, 1e-6);
    check_special<Layer>(reference, name);
}

struct Softplus {
    constexpr auto operator()(auto x) const { return log1p(exp(x)); }
};
struct ELU {
    constexpr auto operator()(auto x) const { return select(x > 0.0f, x, expm1(x)); }
};
struct Mish {
    constexpr auto operator()(auto x) const { return x * tanh(log1p(exp(x))); }
};

} // namespace

TEST_CASE("activations: gradients and program") {
    test_layer<Input{3, 5, 2}, ReLU{}>();
    test_layer<Input{37}, Tanh{}>();
    test_layer<Input{3, 2, 3}, Sigmoid{}>();
    test_layer<Input{11}, SiLU{}>();
    test_layer<Input{3, 5, 1}, GELU{}>();
    test_layer<Input{9}, GELU{GELU::Form::tanh}>();
    test_layer<Input{13}, LeakyReLU{.slope = 0.2f}>();
    test_layer<Input{17}, Pointwise<Mish>{}>();
}

TEST_CASE("activations are PyTorch's, at the edges too") {
    test::Reference const r{"activation"};
    check_activation<ReLU{}>(r, "relu");
    check_activation<Tanh{}>(r, "tanh");
    check_activation<Sigmoid{}>(r, "sigmoid");
    check_activation<GELU{}>(r, "gelu_erf");
    check_activation<GELU{GELU::Form::tanh}>(r, "gelu_tanh");
    check_activation<SiLU{}>(r, "silu");
    check_activation<LeakyReLU{}>(r, "leaky_relu");
}

TEST_CASE("a user's functor becomes PyTorch's layer of that name") {
    test::Reference const r{"activation"};
    test::check_reference<layout, Input{3, 7}, Pointwise<Softplus>{}>(r, "softplus", 1e-6);
    test::check_reference<layout, Input{3, 7}, Pointwise<ELU>{}>(r, "elu", 1e-6);
}

TEST_CASE("relu: the values that must come out") {
    float const infinity = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();
    using Source = test::LayerSource<layout, Input{6}, ReLU{}>;
    constexpr test::LayerNodes nodes = Source::nodes;
    test::PlannedRun<Source> run{1};
    run.set(nodes.x, std::vector<float>{not_a_number, -1, 0, 2, infinity, -infinity});
    run.set(nodes.dy, std::vector<float>(6, 1.0f));
    run.run();
    std::vector<float> const y = run.get(nodes.y);
    CHECK(std::isnan(y[0]));
    CHECK(std::vector<float>(y.begin() + 1, y.end()) == std::vector<float>{0, 0, 2, infinity, 0});
}
