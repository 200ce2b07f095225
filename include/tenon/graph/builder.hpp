/// @file
/// Writes a graph, node by node. Equal nodes are stored once: asking for a value that exists gives that value.
#pragma once

#include <tenon/graph/fault.hpp>
#include <tenon/graph/node.hpp>

#include <vector>

namespace tenon::graph {

/// How a parameter begins.
enum class Distribution : std::uint8_t { uniform, normal, constant };

/// A trainable tensor, as the trainer, the initialiser and files see it.
struct Parameter {
    static constexpr int name_capacity = 64;

    char name[name_capacity]{}; ///< PyTorch's: "3.weight", "conv1.bias"
    Dims shape;
    Distribution distribution = Distribution::uniform;
    float scale = 0;  ///< bound of uniform(-scale, scale), standard deviation, or the constant
    int node = -1;
    int layer = -1;
};

/// A tensor that the optimiser keeps beside a parameter, zero at first.
struct State {
    int parameter = -1;
    int node = -1;
};

inline constexpr Op parameter_op{"parameter", Kind::source};
inline constexpr Op state_op{"state", Kind::source};
inline constexpr Op number_op{"number", Kind::source};
inline constexpr Op input_op{"input", Kind::source};
inline constexpr Op label_op{"label", Kind::source};
/// 1 for each real sample, 0 in the lanes that a short batch leaves empty: a loss must give those no gradient.
inline constexpr Op presence_op{"presence", Kind::source};
inline constexpr Op random_op{"random", Kind::source};
inline constexpr Op constant_op{"constant", Kind::constant};

class Builder {
public:
    constexpr Builder() { nodes.reserve(4096); } // costs nothing in constant evaluation, where moving them costs much

    std::vector<Node> nodes;
    std::vector<Parameter> parameters;
    std::vector<State> states;
    std::vector<int> adjoints; ///< while differentiating: the adjoint of each forward node, or -1
    std::vector<char> wanted;  ///< while differentiating: does a parameter lie above this node?
    Verdict verdict;
    int layer = -1;           ///< the layer that is being written
    int update = -1;          ///< the parameter whose update is being written
    bool training = true;     ///< dropout and its like write other nodes for inference

    [[nodiscard]] constexpr Node const& operator[](int id) const { return nodes[static_cast<std::size_t>(id)]; }
    [[nodiscard]] constexpr int size() const { return static_cast<int>(nodes.size()); }
    [[nodiscard]] constexpr Dims const& shape(int id) const { return (*this)[id].shape; }

    /// The number of a node equal to `node`, which is appended if there is none yet.
    constexpr int add(Node node) {
        if (2 * nodes.size() >= table_.size()) grow();
        std::size_t slot = probe(node);
        if (table_[slot] >= 0) return table_[slot];
        node.layer = layer;
        node.update = update;
        table_[slot] = size();
        nodes.push_back(node);
        return size() - 1;
    }

    /// Records the first mistake; later ones are consequences.
    constexpr void fail(Fault const& fault, Dims const& arrives = {}, Dims const& expected = {}) {
        if (verdict.ok()) verdict = {&fault, true, path_, depth_, arrives, expected};
    }

    constexpr int constant(float value) {
        Node node{.op = &constant_op};
        node.value = value;
        return add(node);
    }

    /// A number that is set before each step: learning rate, 1 / samples in the batch.
    constexpr int number(int slot) { return source(number_op, {}, false, slot); }

    constexpr int source(Op const& op, Dims const& shape, bool batched, int slot, Dtype dtype = Dtype::f32) {
        Node node{.op = &op};
        node.attribute[0] = slot;
        node.shape = shape;
        node.batched = batched;
        node.dtype = dtype;
        return add(node);
    }

    /// A trainable tensor of the layer that is being written, named path + name.
    constexpr int parameter(char const* name, Dims const& shape, Distribution distribution, float scale) {
        Parameter p;
        p.shape = shape;
        p.distribution = distribution;
        p.scale = scale;
        p.layer = layer;
        int length = 0;
        for (int i = 0; i < name_length(); ++i) p.name[length++] = name_[i];
        for (; *name != 0 && length + 1 < Parameter::name_capacity; ++name) p.name[length++] = *name;
        int const slot = static_cast<int>(parameters.size());
        p.node = source(parameter_op, shape, false, slot);
        parameters.push_back(p);
        return p.node;
    }

    /// A tensor of the optimiser beside parameter `parameter`.
    constexpr int state(int parameter) {
        int const slot = static_cast<int>(states.size());
        int const node = source(state_op, parameters[static_cast<std::size_t>(parameter)].shape, false, slot);
        states.push_back({parameter, node});
        return node;
    }

    /// A stream of random numbers: its RandomSource. Streams are numbered in order of appearance.
    constexpr int random_source() { return source(random_op, {}, false, randoms_++, Dtype::random_source); }
    [[nodiscard]] constexpr int random_sources() const { return randoms_; }

    /// Enters part `number` of the network, or of the layer that is being written; `component` becomes part of the names of
    /// parameters ("conv1.").
    constexpr void enter(int number, char const* component) {
        if (depth_ < Verdict::max_depth) path_[static_cast<std::size_t>(depth_)] = number;
        if (depth_ == 0) layer = number;
        int const before = name_length();
        name_length_[static_cast<std::size_t>(++depth_)] = before;
        for (; *component != 0; ++component) push(*component);
        push('.');
    }
    /// The same where the number is the name: "3.".
    constexpr void enter(int number) {
        char digits[12]{};
        int begin = 11, rest = number;
        do digits[--begin] = static_cast<char>('0' + rest % 10);
        while ((rest /= 10) != 0);
        enter(number, digits + begin);
    }
    constexpr void leave() { --depth_; }

private:
    std::vector<int> table_; // open addressing; -1 is free
    std::array<int, Verdict::max_depth> path_{};
    std::array<int, 16> name_length_{};
    int depth_ = 0;
    char name_[Parameter::name_capacity]{};
    int randoms_ = 0;

    [[nodiscard]] constexpr int& name_length() { return name_length_[static_cast<std::size_t>(depth_)]; }
    constexpr void push(char c) {
        if (name_length() < Parameter::name_capacity) name_[name_length()++] = c;
    }

    /// Over what tells most nodes apart, in few steps and 32 bits: compilers keep every number that they come across.
    [[nodiscard]] static constexpr std::size_t hash(Node const& node) {
        auto h = static_cast<std::uint32_t>(node.op->id);
        h = (h ^ (static_cast<std::uint32_t>(node.input[0]) + static_cast<std::uint32_t>(node.input[1]) * 4099u +
                  static_cast<std::uint32_t>(node.input[2]) * 65537u)) * 0x9E3779B1u;
        h = (h ^ static_cast<std::uint32_t>(node.attribute[0]) ^ node.bits()) * 0x85EBCA6Bu;
        return h ^ (h >> 15);
    }

    [[nodiscard]] constexpr std::size_t probe(Node const& node) const {
        std::size_t const mask = table_.size() - 1;
        std::size_t slot = hash(node) & mask;
        while (table_[slot] >= 0 && !nodes[static_cast<std::size_t>(table_[slot])].same_value(node)) slot = (slot + 1) & mask;
        return slot;
    }

    constexpr void grow() {
        table_.assign(table_.empty() ? 64 : 2 * table_.size(), -1);
        for (int id = 0; id < size(); ++id) table_[probe(nodes[static_cast<std::size_t>(id)])] = id;
    }
};

} // namespace tenon::graph
