/// @file
/// A GPU as a place where compiled graphs run: one arena on the device, two page-locked copies of what the host fills in before a
/// step, and each program as one captured graph. Allocates when it is made, never after.
#pragma once

#include <tenon/cuda/device.hpp>
#include <tenon/cuda/executor.hpp>

#include <algorithm>
#include <cstring>

namespace tenon {

/// Where a trainer runs: a GPU. Left alone it takes the one with the most free memory and a stream of its own.
///     Trainer trainer{LeNet{}, CrossEntropy{}, SGD{}, batch<64>, Cuda{}, Options{.seed = 1}};
struct Cuda {
    int device = -1;                ///< as the CUDA runtime counts; -1: chosen by free memory
    cudaStream_t stream = nullptr;  ///< the work's; must not be the default stream, outlives what uses it; null: a stream of its own
    bool graphs = true;             ///< replay captured steps; false: launch kernel by kernel, for tests and debuggers
};

namespace cuda {

/// Arena, stream and staging memory for the programs that share them. Whatever is started here runs in the order of the stream.
class Machine {
public:
    using Device = cuda::Device;
    using Program = graph::Program<WaveKernel>;
    using Setup = Cuda;
    static constexpr bool replays = true; ///< runs a program as a whole: see run()

    /// Both programs must outlive the machine.
    Machine(Cuda const& where, Program const& training, Program const& inference) : programs_{&training, &inference}, graphs_{where.graphs} {
        device_ = where.device >= 0 ? where.device : choose_device().number;
        if (where.device >= 0)
            if (std::optional<std::string> const reason = obstacle()) fail("CUDA: " + *reason);
        DeviceScope const scope{device_};
        if (std::string const reason = detail::obstacle_on_current_device(); !reason.empty()) fail("CUDA: device " + std::to_string(device_) + ": " + reason);
        if (where.stream == nullptr) own_stream_ = make_stream();
        stream_ = where.stream == nullptr ? own_stream_.get() : where.stream;

        index_t total = 0;
        for (Program const* program : programs_) total = (std::max)(total, program->memory.total);
        parameter_bytes_ = programs_[0]->memory.parameters > 0 ? parameter_region(*programs_[0]) : 0;
        check_memory(total);
        arena_ = device_memory(total);
        fill_device(arena_.get(), 0, total, stream_);

        source_begin_ = total;
        for (Program const* program : programs_)
            for (graph::ProgramSource const& source : program->sources) {
                if (kept(source)) continue;
                source_begin_ = (std::min)(source_begin_, source.offset);
                source_end_ = (std::max)(source_end_, source.offset + source_bytes(*program, source));
            }
        source_end_ = (std::max)(source_end_, source_begin_);
        for (Staging& staging : staging_) {
            staging.memory = pinned_memory(source_end_ - source_begin_);
            staging.copied = make_event();
            std::memset(staging.memory.get(), 0, static_cast<std::size_t>(source_end_ - source_begin_));
        }
        parameters_ = pinned_memory(parameter_bytes_);
        std::memset(parameters_.get(), 0, static_cast<std::size_t>(parameter_bytes_));
        index_t largest = 64;
        for (Program const* program : programs_)
            for (graph::ProgramBuffer const& buffer : program->buffers) largest = (std::max)(largest, buffer.computed ? buffer.bytes : 0);
        results_ = pinned_memory(largest);
        result_bytes_ = largest;
        if (graphs_)
            for (Program const* program : programs_) capture_program(*program);
        cuda::wait(stream_, "preparing the arena");
    }
    Machine(Machine const&) = delete;
    Machine& operator=(Machine const&) = delete;
    ~Machine() {
        if (stream_ != nullptr) (void)cudaStreamSynchronize(stream_); // copies may still read the staging memory
    }

    [[nodiscard]] int device() const { return device_; }
    [[nodiscard]] static int threads() { return 1; } ///< of the host
    [[nodiscard]] cudaStream_t stream() const { return stream_; }
    /// Kernels in the captured graph of a program.
    [[nodiscard]] int captured_kernels(Program const& program) const { return kernel_count(captured_[number_of(program)].graph); }

    /// Where the host writes a source before the next run; every run hands out other memory, so all sources are to be written anew.
    template <class T>
    [[nodiscard]] T* at(index_t offset) const {
        return reinterpret_cast<T*>(static_cast<std::byte*>(staging_[turn_].memory.get()) + (offset - source_begin_));
    }

    /// The parameters, on the host: what the device has now. What is written there reaches the device before the next run.
    [[nodiscard]] std::byte* parameters() const {
        if (!host_has_parameters_) {
            DeviceScope const scope{device_};
            copy_to_host(parameters_.get(), arena_.get(), parameter_bytes_, stream_);
            cuda::wait(stream_, "reading the parameters");
        }
        host_has_parameters_ = host_may_have_written_ = true;
        return static_cast<std::byte*>(parameters_.get());
    }

    /// A copy of `count` results; valid until the next call. Waits for the device.
    template <class T>
    [[nodiscard]] T const* results(index_t offset, index_t count) const {
        index_t const bytes = count * static_cast<index_t>(sizeof(T));
        if (bytes > result_bytes_) fail("CUDA: a result of " + std::to_string(bytes) + " bytes is asked for; the largest there is has " + std::to_string(result_bytes_));
        DeviceScope const scope{device_};
        copy_to_host(results_.get(), arena() + offset, bytes, stream_);
        cuda::wait(stream_, "reading results");
        return static_cast<T const*>(results_.get());
    }

    /// Runs all stages of a program on what lies in the staging memory. Returns before the device is done.
    void run(Program const& program, index_t samples) {
        DeviceScope const scope{device_};
        if (graphs_) {
            prepare(program, samples);
            launch(captured_[number_of(program)].executable[turn_], stream_);
        } else {
            begin(program, samples);
            for (std::size_t s = 0; s < program.stages.size(); ++s) launch_stage(program, static_cast<int>(s));
        }
        end();
    }

    /// The same stage by stage, between begin() and end(). A stage that another's kernel has done already does nothing.
    void begin(Program const& program, index_t samples) {
        DeviceScope const scope{device_};
        prepare(program, samples);
        upload(turn_);
    }
    void run_stage(Program const& program, int s, index_t) {
        DeviceScope const scope{device_};
        launch_stage(program, s);
    }
    void end() {
        DeviceScope const scope{device_};
        host_has_parameters_ = false;
        record(staging_[turn_].copied, stream_);
        turn_ = 1 - turn_;
        cuda::wait(staging_[turn_].copied, "waiting for an earlier step"); // an event that was never recorded is complete
    }

    /// Sets every byte of a part of the arena, in order with the other work.
    void fill(index_t offset, int byte, index_t bytes) { fill_device(arena() + offset, byte, bytes, stream_); }
    /// Until all that was started is done.
    void wait() const { cuda::wait(stream_, "waiting for the device"); }

private:
    struct Staging {
        PinnedMemory memory;
        Event copied; ///< recorded after the run that reads it
    };
    struct Captured {
        Graph graph; ///< with the first staging memory
        GraphExecutable executable[2];
    };

    std::vector<Program const*> programs_;
    bool graphs_ = true;
    int device_ = 0;
    Stream own_stream_;
    cudaStream_t stream_ = nullptr;
    DeviceMemory arena_;
    index_t source_begin_ = 0, source_end_ = 0, parameter_bytes_ = 0, result_bytes_ = 0;
    Staging staging_[2];
    std::size_t turn_ = 0; ///< the staging memory that the host may write
    PinnedMemory parameters_, results_;
    std::vector<Captured> captured_;
    mutable bool host_has_parameters_ = true, host_may_have_written_ = true;

    [[nodiscard]] std::byte* arena() const { return static_cast<std::byte*>(arena_.get()); }

    [[nodiscard]] static bool kept(graph::ProgramSource const& source) { return source.op == graph::parameter_op.id || source.op == graph::state_op.id; }
    [[nodiscard]] static index_t source_bytes(Program const& program, graph::ProgramSource const& source) {
        for (graph::ProgramBuffer const& buffer : program.buffers)
            if (buffer.offset == source.offset && !buffer.computed) return buffer.bytes;
        return 0;
    }
    /// Parameters lie together at the arena's beginning.
    [[nodiscard]] static index_t parameter_region(Program const& program) {
        index_t end = 0;
        for (graph::ProgramSource const& source : program.sources)
            if (source.op == graph::parameter_op.id) end = (std::max)(end, source.offset + source_bytes(program, source));
        return end;
    }

    void check_memory(index_t total) const {
        MemoryInfo const memory = memory_info();
        if (total <= memory.free) return;
        graph::Memory const& plan = programs_[0]->memory;
        fail("CUDA: the plan needs " + std::to_string(total) + " bytes, device " + std::to_string(device_) + " has " + std::to_string(memory.free) + " of " + std::to_string(memory.total) +
             " free. Parameters take " + std::to_string(plan.parameters) + ", optimiser state " + std::to_string(plan.optimizer_state) + ", activations " + std::to_string(plan.activations) + ", the rest " +
             std::to_string(plan.other) + ". Take a smaller batch");
    }

    [[nodiscard]] std::size_t number_of(Program const& program) const {
        return static_cast<std::size_t>(std::find(programs_.begin(), programs_.end(), &program) - programs_.begin());
    }

    void upload(std::size_t turn) { copy_to_device(arena() + source_begin_, staging_[turn].memory.get(), source_end_ - source_begin_, stream_); }

    void launch_stage(Program const& program, int s) {
        graph::ProgramStage<WaveKernel> const& stage = program.stages[static_cast<std::size_t>(s)];
        if (stage.kernel.launch == nullptr) return; // its wave was launched before
        WaveCall call;
        call.arena = arena();
        call.samples = program.find(samples_op);
        call.arrivals = program.find(arrivals_op);
        call.capacity = program.capacity;
        for (int job = 0; job < stage.kernel.jobs; ++job) call.places[job] = program.slots.data() + program.stages[static_cast<std::size_t>(s + job)].first_slot;
        call.stage = s;
        call.name = stage.anchor == nullptr ? "launching a pointwise stage, number" : stage.anchor;
        call.stream = stream_;
        stage.kernel.launch(call);
    }

    void capture_program(Program const& program) {
        Captured captured;
        for (std::size_t turn : {std::size_t{1}, std::size_t{0}}) {
            captured.graph = capture(stream_, [&] {
                upload(turn);
                for (std::size_t s = 0; s < program.stages.size(); ++s) launch_stage(program, static_cast<int>(s));
            });
            captured.executable[turn] = instantiate(captured.graph);
        }
        captured_.push_back(std::move(captured));
    }

    void prepare(Program const& program, index_t samples) {
        *at<std::int32_t>(program.find(samples_op)) = static_cast<std::int32_t>(samples);
        if (host_may_have_written_) copy_to_device(arena_.get(), parameters_.get(), parameter_bytes_, stream_);
        host_may_have_written_ = false;
    }
};

} // namespace cuda
} // namespace tenon
