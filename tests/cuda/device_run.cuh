/// @file
/// Runs a compiled graph on the device outside of a trainer, as test::PlannedRun does on the CPU, and compares layers with the
/// definitions in double.
#pragma once

#include "support/interpreter.hpp"
#include "support/layer_graph.hpp"
#include "support/numbers.hpp"
#include "support/planned_run.hpp"
#include "support/test_layer.hpp"

#include <tenon/cuda/executor.hpp>
#include <tenon/cuda/operations.hpp>

namespace tenon::test {

/// The planned step of what `Source` writes, on the device: an image of the arena is filled with NaN and with what is set, goes
/// there, and comes back after the run.
/// @tparam Factors of its products
template <class Source, class Factors = float32>
class DeviceRun {
public:
    using Compiled = graph::Compiled<cuda::Source<Source, Factors>>;
    static constexpr auto const& tables = Compiled::tables;

    explicit DeviceRun(index_t samples)
        : samples_{samples}, program_{graph::make_program<Compiled, cuda::Device>()} {
        auto const [counters, partial_floats] = cuda::detail::largest_workspace(program_);
        counters_ = (tables.memory.total + 255) / 256 * 256;
        partial_ = counters_ + (counters + 3) / 4 * 16;
        image_.assign(static_cast<std::size_t>(partial_ + 4 * partial_floats), std::byte{0xFF});
        std::fill(image_.begin() + counters_, image_.begin() + partial_, std::byte{});
        *place<cuda::StepHead>(program_.find(cuda::head_op), 0) = {.samples = static_cast<std::int32_t>(samples)};
        for (index_t i = 0; i < cuda::max_stages; ++i) *place<std::int32_t>(program_.find(cuda::arrivals_op), i) = 0;
    }

    /// Writes [samples][elements] into a batched node, or [elements].
    template <class Numbers>
    void set(int node, Numbers const& numbers) {
        graph::Node const& n = at_node(node);
        index_t const count = n.shape.count() * (n.batched ? samples_ : 1);
        for (index_t i = 0; i < count; ++i) {
            double const number = static_cast<double>(numbers[static_cast<std::size_t>(i)]);
            if (n.dtype == graph::Dtype::i32) *place<std::int32_t>(offset(node), i) = static_cast<std::int32_t>(number);
            else *place<float>(offset(node), i) = static_cast<float>(number);
        }
    }
    void set_number(int node, double value) { *place<float>(offset(node), 0) = static_cast<float>(value); }
    void set_random(int node, RandomSource const& source) { *place<RandomSource>(offset(node), 0) = source; }

    void run() {
        auto const bytes = static_cast<index_t>(image_.size());
        cuda::Stream const stream = cuda::make_stream();
        cuda::DeviceMemory const arena = cuda::device_memory(bytes);
        cuda::copy_to_device(arena.get(), image_.data(), bytes, stream.get());
        for (std::size_t s = 0; s < program_.stages.size(); ++s) {
            auto const& kernel = program_.stages[s].kernel;
            if (kernel.launch == nullptr) continue;
            cuda::WaveCall call;
            call.arena = static_cast<std::byte*>(arena.get());
            call.head = program_.find(cuda::head_op);
            call.arrivals = program_.find(cuda::arrivals_op);
            call.counters = counters_;
            call.partial = partial_;
            call.capacity = program_.capacity;
            for (std::size_t job = 0; job < static_cast<std::size_t>(kernel.jobs); ++job) call.places[job] = program_.slots.data() + program_.stages[s + job].first_slot;
            call.stage = static_cast<int>(s);
            call.name = "a stage under test, number";
            call.stream = stream.get();
            kernel.launch(call);
        }
        cuda::copy_to_host(image_.data(), arena.get(), bytes, stream.get());
        cuda::wait(stream.get(), "a run under test");
    }

    /// [samples][elements] of a batched node, or [elements].
    [[nodiscard]] std::vector<float> get(int node) {
        graph::Node const& n = at_node(node);
        std::vector<float> numbers(static_cast<std::size_t>(n.shape.count() * (n.batched ? samples_ : 1)));
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            auto const at = static_cast<index_t>(i);
            numbers[i] = n.dtype == graph::Dtype::u2    ? static_cast<float>(*place<std::uint8_t>(offset(node), at / 4) >> at % 4 * 2 & 3)
                         : n.dtype == graph::Dtype::u8  ? static_cast<float>(*place<std::uint8_t>(offset(node), at))
                         : n.dtype == graph::Dtype::i32 ? static_cast<float>(*place<std::int32_t>(offset(node), at))
                                                        : *place<float>(offset(node), at);
        }
        return numbers;
    }
    [[nodiscard]] float number(int node) { return get(node).at(0); }
    [[nodiscard]] std::vector<std::byte> const& image() const { return image_; }

private:
    index_t samples_;
    graph::Program<cuda::WaveKernel> program_;
    index_t counters_ = 0, partial_ = 0; ///< where the kernels' workspaces lie behind the plan's arena
    std::vector<std::byte> image_;

    [[nodiscard]] static graph::Node const& at_node(int node) { return tables.nodes[static_cast<std::size_t>(node)]; }
    [[nodiscard]] static index_t offset(int node) {
        index_t const found = tables.offset[static_cast<std::size_t>(tables.storage(node))];
        if (found < 0) fail("device run: node " + std::to_string(node) + " has no memory of its own");
        return found;
    }
    template <class T>
    [[nodiscard]] T* place(index_t offset_in_arena, index_t element) {
        return reinterpret_cast<T*>(image_.data() + offset_in_arena) + element;
    }
};

/// Output and all gradients of layers on the device against the interpreter, for batches up to a capacity; two runs must give the
/// same bits. Returns the largest error.
template <class Factors, index_t Capacity, Input In, auto... Layers>
double test_products(LayerOptions const& options) {
    using Source = LayerSource<graph::BatchLayout{Capacity, 1}, In, Layers...>;
    graph::Builder const b = Frozen<Source>::graph();
    constexpr LayerNodes nodes = Source::nodes;
    double largest = 0;
    for (index_t const samples : {Capacity, (Capacity + 1) / 2, index_t{1}}) {
        CAPTURE(samples);
        LayerInputs const inputs{b, nodes, samples, options};
        Interpreter expected{b, samples};
        inputs.give(expected);
        DeviceRun<Source, Factors> found{samples}, again{samples};
        inputs.give(found);
        inputs.give(again);
        found.run();
        again.run();
        CHECK(std::memcmp(found.image().data(), again.image().data(), found.image().size()) == 0);
        double const error = distance(found.get(nodes.y), expected[nodes.y].data);
        CHECK(error <= options.tolerance);
        largest = (std::max)(largest, error);
        for (int const gradient : nodes.gradient) {
            if (gradient < 0) continue;
            CAPTURE(gradient);
            double const gradient_error = distance(found.get(gradient), expected[gradient].data);
            CHECK(gradient_error <= options.tolerance);
            largest = (std::max)(largest, gradient_error);
        }
    }
    return largest;
}

template <Input In, auto... Layers>
void test_on_device(LayerOptions const& options = {}) {
    (void)test_products<float32, 5, In, Layers...>(options);
}

} // namespace tenon::test
