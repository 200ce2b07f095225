/// @file
/// A network as a type: a flat pack of layers, checked when it is first used.
#pragma once

#include <tenon/nn/layers.hpp>

#include <utility>

namespace tenon {

/// Words of an error message.
template <int... Number>
struct Layer {};
template <index_t... Extent>
struct Arrives;
template <index_t... Extent>
struct Expected;

/// Fails to compile with the layer's number (from 0, Input not counted), the layer, the mistake, the shape that arrives
/// there and the shape that would have been right.
template <class Number, class LayerType, Fault const* mistake, class Arriving, class Right>
struct network_check {
    static_assert(sizeof(Number) == 0, "tenon: a layer cannot take what arrives at it; layer number, layer, mistake and shapes are named in network_check<...>");
};

namespace detail {

template <template <index_t...> class Word, Dims D>
struct spelled {
    template <std::size_t... I>
    static Word<D.extent[I]...> spell(std::index_sequence<I...>);
    using type = decltype(spell(std::make_index_sequence<static_cast<std::size_t>(D.rank)>{}));
};

template <Verdict V>
struct spelled_number {
    template <std::size_t... I>
    static Layer<V.path[I]...> spell(std::index_sequence<I...>);
    using type = decltype(spell(std::make_index_sequence<static_cast<std::size_t>(V.depth < Verdict::max_depth ? V.depth : Verdict::max_depth)>{}));
};

template <int I, class First, class... Rest>
struct type_at : type_at<I - 1, Rest...> {};
template <class First, class... Rest>
struct type_at<0, First, Rest...> {
    using type = First;
};

} // namespace detail

namespace detail {

/// What a pack of layers is, right or wrong: known before Network is complete, so that Network can check itself.
template <auto... Layers>
struct NetworkFacts {
    /// Writes the forward graph; the value is the network's output. `b.verdict` tells of mistakes.
    static constexpr graph::Value write(graph::Builder& b) {
        graph::Value x{&b, -1};
        int number = -1;
        ((x = write_next(b, Layers, number++, x)), ...);
        if (number < 0) b.fail(fault::network_must_begin_with_Input);
        b.layer = number;
        return x;
    }

    template <class LayerType>
    static constexpr graph::Value write_next(graph::Builder& b, LayerType const& layer, int number, graph::Value x) {
        if (number >= 0) return b.verdict.ok() ? detail::write_layer(b, layer, number, x) : x;
        Dims shape{1};
        b.enter(0);
        if constexpr (std::is_same_v<LayerType, Input>) {
            shape = layer.shape();
            for (int axis = 0; axis < shape.rank; ++axis)
                if (shape[axis] < 1) b.fail(fault::extents_must_be_positive, Dims{shape});
        } else {
            b.fail(fault::network_must_begin_with_Input);
        }
        b.leave();
        b.layer = -1;
        return {&b, b.source(graph::input_op, shape, true, 0)};
    }

    struct Facts {
        Verdict verdict;
        Dims input, output;
        index_t parameters = 0, flops = 0;
        int nodes = 0, parameter_tensors = 0;
    };

    static constexpr Facts find_facts() {
        graph::Builder b;
        graph::Value const y = write(b);
        Facts found;
        found.verdict = b.verdict;
        if (y.id < 0) return found;
        found.input = b.shape(0);
        found.output = y.shape();
        found.nodes = b.size();
        found.parameter_tensors = static_cast<int>(b.parameters.size());
        for (graph::Parameter const& p : b.parameters) found.parameters += p.shape.count();
        for (graph::Node const& node : b.nodes) {
            graph::Node const* inputs[graph::Node::max_inputs]{};
            for (std::size_t i = 0; i < graph::Node::max_inputs; ++i)
                if (node.input[i] >= 0) inputs[i] = &b[node.input[i]];
            found.flops += node.op->flops(node, inputs);
        }
        return found;
    }
};

template <auto... Layers>
inline constexpr auto network_facts = NetworkFacts<Layers...>::find_facts();

struct network_fits {};

/// network_fits, or the network_check that fails for the first mistake.
template <auto... Layers>
constexpr auto find_network_check() {
    constexpr Verdict v = network_facts<Layers...>.verdict;
    if constexpr (v.ok()) return std::type_identity<network_fits>{};
    else {
        constexpr bool at_input = v.depth == 0 || v.fault->at_input;
        constexpr int top = at_input ? 0 : v.path[0] + 1;
        using Top = typename shown_layer<typename type_at<top, std::remove_const_t<decltype(Layers)>..., network_fits>::type>::type;
        return std::type_identity<network_check<typename spelled_number<v>::type, Top, v.fault, typename spelled<Arrives, v.arrives>::type,
                                                typename spelled<Expected, v.expected>::type>>{};
    }
}

} // namespace detail

/// Layers, first to last; the first is Input. The type holds no weights: a Trainer or a Predictor does.
///     using LeNet = Network<Input{1, 28, 28}, Conv2d{.out = 20, .kernel = 5}, ReLU{}, ...>;
/// Layers are numbered from 0 after Input, as in torch.nn.Sequential, and so are the names of their parameters.
template <auto... Layers>
struct Network : detail::NetworkFacts<Layers...>,
                 decltype(detail::find_network_check<Layers...>())::type { // a base, because its failure leaves Network usable: one error
private:
    static constexpr auto const& facts = detail::network_facts<Layers...>;

public:
    static constexpr bool valid = facts.verdict.ok();
    /// Shape of one sample, and of the output for one sample.
    static constexpr Dims input = facts.input;
    static constexpr Dims output = facts.output;
    /// Number of trainable numbers.
    static constexpr index_t parameters = facts.parameters;
    /// Number of layers after Input, and what they are called.
    static constexpr int layers = static_cast<int>(sizeof...(Layers)) - 1;
    static constexpr std::array<char const*, sizeof...(Layers) + 1> layer_names = [] {
        std::array<char const*, sizeof...(Layers) + 1> names{};
        std::size_t i = 0;
        ((i > 0 ? void(names[i - 1] = std::remove_cvref_t<decltype(Layers)>::name) : void(), ++i), ...);
        return names;
    }();
    /// Multiplications and additions of convolutions and matrix products for one sample, forward.
    static constexpr index_t forward_flops = facts.flops;
    /// Nodes of the forward graph, and tensors of parameters.
    static constexpr int forward_nodes = facts.nodes, parameter_tensors = facts.parameter_tensors;
};

} // namespace tenon
