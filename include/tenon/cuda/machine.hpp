/// @file
/// A GPU as a place where compiled graphs run: one allocation on the device, two page-locked copies of what the host fills in before a
/// launch, and steps as captured graphs. The host waits for the device only where it reads something, or is two launches ahead.
#pragma once

#include <tenon/cuda/layout.hpp>
#include <tenon/cuda/samples.hpp>

#include <algorithm>
#include <cstring>
#include <memory>

namespace tenon {

/// Where a trainer runs: a GPU. Left alone it takes the one with the most free memory and a stream of its own.
///     Trainer trainer{LeNet{}, CrossEntropy{}, SGD{}, batch<64>, Cuda{}, Options{.seed = 1}};
struct Cuda {
    int device = -1;                ///< as the CUDA runtime counts; -1: chosen by free memory
    cudaStream_t stream = nullptr;  ///< the work's; must not be the default stream, outlives what uses it; null: a stream of its own
    bool graphs = true;             ///< replay captured steps; false: launch kernel by kernel and wait for each, so that an error names its stage
    int steps_per_launch = 8;       ///< the most steps of an epoch that are launched at once, 1 to 1024; see every()
    bool resident_data = true;      ///< keep a data set on the device where it fits; false: send it batch by batch
};

namespace cuda {

/// Memory, stream and captured steps of the programs that share them. Whatever is started here runs in the order of the stream.
class Machine {
public:
    using Device = cuda::Device;
    using Program = graph::Program<WaveKernel>;
    using Setup = Cuda;
    static constexpr bool replays = true; ///< runs a program as a whole: see run()

    /// Both programs must outlive the machine; they may be the same.
    Machine(Cuda const& where, Program const& training, Program const& inference)
        : programs_{programs_of(training, inference)}, graphs_{where.graphs}, resident_data_{where.resident_data}, most_steps_{most_steps_of(where)}, layout_{programs_, most_steps_} {
        DeviceInfo const found = find_device(where.device);
        if (std::string const reason = layout_.obstacle_on(found); !reason.empty())
            fail(message({"CUDA: ", reason, found.usable() && layout_.total > found.free ? layout_.describe_parts(training) : std::string{}}));
        device_ = found.number;
        DeviceScope const scope{device_};
        if (where.stream == nullptr) own_stream_ = make_stream();
        stream_ = where.stream == nullptr ? own_stream_.get() : where.stream;

        parameter_bytes_ = training.memory.parameters > 0 ? parameter_region(training) : 0;
        allocate();
        for (Staging& staging : staging_) {
            staging.memory = pinned_memory(layout_.host_bytes);
            staging.copied = make_event();
            std::memset(staging.memory.get(), 0, static_cast<std::size_t>(layout_.host_bytes));
        }
        parameters_ = pinned_memory(parameter_bytes_);
        std::memset(parameters_.get(), 0, static_cast<std::size_t>(parameter_bytes_));
        for (Program const* program : programs_)
            for (graph::ProgramBuffer const& buffer : program->buffers) result_bytes_ = (std::max)(result_bytes_, buffer.computed ? buffer.bytes : 0);
        results_ = pinned_memory(result_bytes_);
        losses_.resize(static_cast<std::size_t>(loss_log_size));
        mapped_.reserve((std::max)(training.slots.size(), inference.slots.size()));
        if (graphs_)
            for (std::size_t p = 0; p < programs_.size(); ++p) single_.push_back(capture_steps(p, {.first_block = layout_.sources[p].blocks() - 1}));
        cuda::wait(stream_, "preparing the arena");
    }
    Machine(Machine const&) = delete;
    Machine& operator=(Machine const&) = delete;

    /// Why no machine can be made for these programs now: no driver, no device, no code for it, too little memory. Nothing: one can.
    /// Allocates nothing on the device, and never fails.
    [[nodiscard]] static std::optional<std::string> obstacle(Cuda const& where, Program const& training, Program const& inference) {
        std::string reason = Layout{programs_of(training, inference), most_steps_of(where)}.obstacle_on(find_device(where.device));
        return reason.empty() ? std::nullopt : std::optional{std::move(reason)};
    }

    ~Machine() {
        if (stream_ == nullptr) return;
        (void)cudaStreamSynchronize(stream_); // copies may still read the staging memory
        (void)cudaGetLastError();
    }

    [[nodiscard]] int device() const { return device_; }
    [[nodiscard]] static int threads() { return 1; } ///< of the host
    [[nodiscard]] cudaStream_t stream() const { return stream_; }
    /// Bytes allocated on the device: the plan's, and what the host tells steps.
    [[nodiscard]] index_t device_bytes() const { return layout_.total; }
    /// The most steps of one launch.
    [[nodiscard]] int steps_per_launch() const { return most_steps_; }
    /// Kernels in the captured graph of a program.
    [[nodiscard]] int captured_kernels(Program const& program) const { return kernel_count(single_[number_of(program)].graph); }

    /// Where the host writes a source before the next run; every run hands out other memory, so all sources are to be written anew.
    template <class T>
    [[nodiscard]] T* at(Program const& program, index_t offset) const {
        std::size_t const p = number_of(program);
        return reinterpret_cast<T*>(staged(p, layout_.sources[p].on_host(offset, p == 0 ? block_ : 0)));
    }

    /// The parameters, on the host: what the device has now. What is written there reaches the device before the next run.
    [[nodiscard]] std::byte* parameters() const {
        if (!host_has_parameters_) {
            DeviceScope const scope{device_};
            copy_to_host(parameters_.get(), arena_.get(), parameter_bytes_, stream_);
            cuda::wait(stream_, "reading the parameters");
        }
        host_has_parameters_ = host_may_have_written_ = true; // the caller may write them
        return static_cast<std::byte*>(parameters_.get());
    }

    /// A copy of `count` results; valid until the next call. Waits for the device.
    template <class T>
    [[nodiscard]] T const* results(index_t offset, index_t count) const {
        index_t const bytes = count * static_cast<index_t>(sizeof(T));
        if (bytes > result_bytes_) fail({"CUDA: a result of ", bytes, " bytes is asked for; the largest there is has ", result_bytes_});
        DeviceScope const scope{device_};
        copy_to_host(results_.get(), arena() + offset, bytes, stream_);
        cuda::wait(stream_, "reading results");
        return static_cast<T const*>(results_.get());
    }

    // --- one run on what lies in the staging memory

    /// Runs all stages of a program. Returns before the device is done.
    void run(Program const& program, index_t samples) {
        DeviceScope const scope{device_};
        send_single(program, samples);
        if (graphs_) launch(single_[number_of(program)].executable, stream_);
        else {
            aim_single(program);
            for (int s = 0; s < static_cast<int>(program.stages.size()); ++s) launch_stage_and_wait(s);
        }
        turn();
    }

    /// The same kernel by kernel; adds each one's time to `seconds` of its first stage. Waits for the device.
    void run_timed(Program const& program, index_t samples, std::vector<double>& seconds) {
        DeviceScope const scope{device_};
        while (timers_.size() <= program.stages.size()) timers_.push_back(make_timer());
        send_single(program, samples);
        aim_single(program);
        std::size_t kernels = 0;
        for (std::size_t s = 0; s < program.stages.size(); ++s) {
            if (!launches(program.stages[s])) continue;
            record(timers_[kernels++], stream_);
            launch_stage(static_cast<int>(s));
        }
        record(timers_[kernels], stream_);
        turn();
        cuda::wait(stream_, "timing the stages");
        kernels = 0;
        for (std::size_t s = 0; s < program.stages.size(); ++s) {
            if (!launches(program.stages[s])) continue;
            seconds[s] += seconds_between(timers_[kernels], timers_[kernels + 1]);
            ++kernels;
        }
    }
    /// Is there a kernel that begins with this stage? No: it is part of the one before.
    [[nodiscard]] static bool launches(graph::ProgramStage<WaveKernel> const& stage) { return stage.kernel.launch != nullptr; }

    /// The same stage by stage, between begin() and end(). A stage that another's kernel has done already does nothing.
    void begin(Program const& program, index_t samples) {
        DeviceScope const scope{device_};
        send_single(program, samples);
        aim_single(program);
    }
    void run_stage(Program const&, int s, index_t) {
        DeviceScope const scope{device_};
        launch_stage(s);
    }
    void end() {
        DeviceScope const scope{device_};
        turn();
    }

    // --- several training steps on samples that the device gathers

    /// From now on the host writes the numbers of step `step` of the next launch, 0 being the first.
    void select(int step) { block_ = step; }
    /// ... of a single one.
    void select_single() { block_ = layout_.sources[0].blocks() - 1; }
    /// The selected step's samples; the one behind the last step's tells what a launch after this one will begin with, or count 0.
    void set_feed(Feed const& feed) const { std::memcpy(at<Feed>(*programs_[0], programs_[0]->find(feed_op)), &feed, sizeof feed); }
    /// Launches so many steps: 1, or steps_per_launch(). Returns before the device is done.
    void run_steps(int steps) {
        DeviceScope const scope{device_};
        Program const& training = *programs_[0];
        Sources const& sources = layout_.sources[0];
        for (block_ = 0; block_ < steps; ++block_) write_head(0, at<Feed const>(training, training.find(feed_op))->count);
        bool const next_is_known = at<Feed const>(training, training.find(feed_op))->count > 0; // block_ == steps
        send_parameters();
        host_has_parameters_ = false;
        copy_to_device(arena() + sources.block(0), staged(0, 0), (steps + 1) * sources.block_bytes(), stream_);
        record(staging_[turn_].copied, stream_);
        if (!gathered_) gather(0, buffer_);
        if (graphs_) launch(captured(steps).executable, stream_);
        else launch_steps({.steps = steps, .buffer = buffer_, .fetches = true, .waits = true});
        buffer_ = (buffer_ + steps) % 2;
        gathered_ = next_is_known;
        turn();
    }
    /// Forgets which samples would come next.
    void begin_pass() { gathered_ = false; }

    /// Keeps a data set on the device; null: it does not fit, or is of other types.
    template <class Target, class Data>
    [[nodiscard]] ResidentSamples const* hold(Data const& data) {
        if constexpr (requires { data.identity(); }) {
            if constexpr (std::is_same_v<typename Data::value_type, std::uint8_t> || std::is_same_v<typename Data::value_type, float>) {
                DeviceScope const scope{device_};
                if (resident_data_ && resident_.template hold<Target>(data, stream_)) return &resident_;
            }
        }
        return nullptr;
    }
    /// Batches that are sent on the way; used inside with_device().
    [[nodiscard]] StreamedSamples& streamed() { return streamed_; }
    /// Bytes of a value as it is sent.
    template <class T>
    static constexpr int element_bytes = element_bytes_of<T>;
    template <class T>
    static void copy_sample(T const* from, index_t features, std::byte* to) {
        cuda::copy_sample(from, features, to);
    }
    /// Runs `work` with this device current.
    template <class Work>
    void with_device(Work const& work) const {
        DeviceScope const scope{device_};
        work();
    }

    // --- losses

    /// Does a loss that is not finite halt training? Such a step and those behind it change nothing.
    void guard(bool on) { guards_ = on; }
    /// Training steps that were launched and that the device has not refused; the newest has this number.
    [[nodiscard]] index_t steps() const { return steps_; }
    /// The loss of step `step`, one of the last loss_log_size. Waits for the device where it was not read before.
    [[nodiscard]] float loss(index_t step) {
        if (step > read_) read_journal();
        if (step < 1 || step > read_ || step + loss_log_size <= read_)
            fail({"CUDA: the loss of step ", step, " is asked for; those of steps ", (std::max)(index_t{1}, read_ - loss_log_size + 1), " to ", read_, " are known"});
        return losses_[static_cast<std::size_t>(step & (loss_log_size - 1))];
    }
    /// Reads the losses of all steps so far. Waits for the device.
    void read_journal() {
        if (read_ == steps_) return;
        DeviceScope const scope{device_};
        index_t const mask = loss_log_size - 1;
        auto* const host = static_cast<Journal*>(journal_.get());
        copy_to_host(&host->halted, &device_journal()->halted, sizeof host->halted, stream_);
        for (index_t from = read_ + 1; from <= steps_;) {
            index_t const count = (std::min)(steps_ - from + 1, loss_log_size - (from & mask));
            copy_to_host(host->loss + (from & mask), device_journal()->loss + (from & mask), count * index_t{sizeof(float)}, stream_);
            from += count;
        }
        cuda::wait(stream_, "reading the losses");
        for (index_t step = read_ + 1; step <= steps_; ++step) losses_[static_cast<std::size_t>(step & mask)] = host->loss[step & mask];
        read_ = steps_;
        if (halted_ == 0 && host->halted != 0) halting_loss_ = host->loss[host->halted & mask]; // one of those read: it is new
        halted_ = host->halted;
    }
    /// The step that halted training, as far as was read; 0: none.
    [[nodiscard]] index_t halted() const { return halted_; }
    /// Its loss, however many steps were started behind it.
    [[nodiscard]] float halting_loss() const { return halting_loss_; }
    /// Goes on with the weights as they were before the step that halted training: that one, and those behind it, were not taken.
    void resume() {
        if (halted_ == 0) return;
        DeviceScope const scope{device_};
        steps_ = read_ = halted_ - 1;
        halted_ = 0;
        gathered_ = false;
        fill_device(&device_journal()->halted, 0, sizeof(Journal::halted), stream_);
        fill_device(arena() + layout_.arrivals, 0, layout_.counter_bytes, stream_); // a halted kernel may have left a count
    }

    /// Sets every byte of a part of the arena, in order with the other work.
    void fill(index_t offset, int byte, index_t bytes) {
        DeviceScope const scope{device_};
        fill_device(arena() + offset, byte, bytes, stream_);
    }
    /// Until all that was started is done.
    void wait() const { cuda::wait(stream_, "waiting for the device"); }

private:
    struct Staging {
        PinnedMemory memory;
        Event copied; ///< recorded after the last copy from it
    };
    /// Which steps, and how.
    struct Steps {
        int steps = 1, first_block = 0, buffer = 0;
        bool fetches = false; ///< each gathers the next one's batch
        bool waits = false;   ///< for each kernel
    };
    struct Captured {
        Steps what;
        Graph graph;
        GraphExecutable executable;
    };

    std::vector<Program const*> programs_; ///< training, inference; or inference alone
    bool graphs_ = true, resident_data_ = true, guards_ = true;
    int most_steps_ = 1;
    Layout layout_;
    int device_ = 0;
    Stream own_stream_;
    cudaStream_t stream_ = nullptr;
    DeviceMemory arena_;
    index_t parameter_bytes_ = 0, result_bytes_ = 64;
    Staging staging_[2];
    std::size_t turn_ = 0;  ///< the staging memory that the host may write
    int block_ = 0;         ///< of the training program, which the host writes
    int buffer_ = 0;        ///< which the next step reads
    bool gathered_ = false; ///< is its batch there already?
    PinnedMemory parameters_, results_, journal_;
    std::vector<float> losses_;
    index_t steps_ = 0, read_ = 0, halted_ = 0;
    float halting_loss_ = 0;
    std::vector<Captured> single_, several_;
    std::vector<Event> timers_; ///< one more than there are kernels, once it is timed
    std::vector<index_t> mapped_; ///< a program's slots, as its current run sees them
    WaveCall call_;
    Program const* running_ = nullptr;
    ResidentSamples resident_;
    StreamedSamples streamed_;
    mutable bool host_has_parameters_ = true, host_may_have_written_ = true;

    [[nodiscard]] std::byte* arena() const { return static_cast<std::byte*>(arena_.get()); }
    [[nodiscard]] Journal* device_journal() const { return reinterpret_cast<Journal*>(arena() + layout_.journal); }
    [[nodiscard]] std::byte* staged(std::size_t program, index_t at) const { return static_cast<std::byte*>(staging_[turn_].memory.get()) + layout_.host_begin[program] + at; }
    [[nodiscard]] std::size_t number_of(Program const& program) const { return &program == programs_[0] ? 0 : 1; }

    [[nodiscard]] static std::vector<Program const*> programs_of(Program const& training, Program const& inference) {
        std::vector<Program const*> programs{&training};
        if (&training != &inference) programs.push_back(&inference);
        return programs;
    }
    [[nodiscard]] static int most_steps_of(Cuda const& where) { return (std::min)((std::max)(1, where.steps_per_launch), 1024); }

    /// Parameters lie together at the arena's beginning.
    [[nodiscard]] static index_t parameter_region(Program const& program) {
        index_t end = 0;
        for (graph::ProgramSource const& source : program.sources)
            if (source.op == graph::parameter_op.id) end = (std::max)(end, source.offset + Sources::bytes_of(program, source));
        return end;
    }

    void allocate() {
        block_ = layout_.sources[0].blocks() - 1;
        arena_ = try_device_memory(layout_.total);
        if (arena_.get() == nullptr) fail(message({"CUDA: ", layout_.describe_shortage(device_, memory_info()), layout_.describe_parts(*programs_[0])})); // others were faster
        journal_ = pinned_memory(index_t{sizeof(Journal)});
        fill_device(arena_.get(), 0, layout_.total, stream_);
    }

    void write_head(std::size_t p, index_t samples) {
        StepHead head;
        head.samples = static_cast<std::int32_t>(samples);
        head.guards = guards_ ? 1 : 0;
        head.step = p == 0 && programs_[0]->loss_offset >= 0 ? ++steps_ : 0;
        std::memcpy(at<StepHead>(*programs_[p], programs_[p]->find(head_op)), &head, sizeof head);
    }
    void send_parameters() {
        if (host_may_have_written_) copy_to_device(arena_.get(), parameters_.get(), parameter_bytes_, stream_);
        host_may_have_written_ = false;
    }
    /// One step's block and batch.
    void send_single(Program const& program, index_t samples) {
        std::size_t const p = number_of(program);
        Sources const& sources = layout_.sources[p];
        int const block = sources.blocks() - 1;
        if (p == 0) {
            block_ = block;
            gathered_ = false; // its buffer is overwritten
            host_has_parameters_ = false;
        }
        write_head(p, samples);
        send_parameters();
        copy_to_device(arena() + sources.block(block), staged(p, block * sources.block_bytes()), sources.block_bytes() + sources.batch_bytes(), stream_);
        record(staging_[turn_].copied, stream_);
    }
    void turn() {
        turn_ = 1 - turn_;
        select_single();
        cuda::wait(staging_[turn_].copied, "waiting for an earlier step"); // an event that was never recorded is complete
        if (steps_ - read_ > loss_log_size - most_steps_ - 1) read_journal();
    }

    /// Prepares launches of a program's stages on one block's numbers and one buffer's batch. A captured graph needs it no more.
    void aim(std::size_t p, int block, int buffer) {
        Program const& program = *programs_[p];
        mapped_.clear();
        for (index_t const planned : program.slots) {
            index_t const moved = layout_.sources[p].on_device(planned, block, buffer);
            mapped_.push_back(moved >= 0 ? moved : planned);
        }
        running_ = &program;
        address(p, block, buffer);
    }
    /// ... on what send_single() sent.
    void aim_single(Program const& program) {
        std::size_t const p = number_of(program);
        aim(p, layout_.sources[p].blocks() - 1, 0);
    }
    /// What every kernel of a program is told, its buffers aside.
    void address(std::size_t p, int block, int buffer) {
        Program const& program = *programs_[p];
        Sources const& sources = layout_.sources[p];
        call_ = {};
        call_.arena = arena();
        call_.head = sources.on_device(program.find(head_op), block, buffer);
        call_.arrivals = layout_.arrivals;
        call_.counters = layout_.counters;
        call_.partial = layout_.partial;
        call_.capacity = program.capacity;
        call_.journal = p == 0 && program.loss_offset >= 0 ? device_journal() : nullptr;
        call_.loss = program.loss_offset;
        call_.stream = stream_;
    }
    /// By FetchJob::Slot.
    void aim_fetch(index_t (&places)[4], int block, int buffer) const {
        Program const& training = *programs_[0];
        auto const place = [&](graph::Op const& op) { return layout_.sources[0].on_device(training.find(op), block, buffer); };
        places[FetchJob<1>::feed] = place(feed_op);
        places[FetchJob<1>::input] = place(graph::input_op);
        places[FetchJob<1>::label] = place(graph::label_op);
        places[FetchJob<1>::presence] = place(graph::presence_op);
    }
    void launch_stage(int s, index_t const* fetch = nullptr) {
        graph::ProgramStage<WaveKernel> const& stage = running_->stages[static_cast<std::size_t>(s)];
        if (stage.kernel.launch == nullptr) return; // its wave was launched before
        for (int job = 0; job < stage.kernel.jobs; ++job) call_.places[job] = mapped_.data() + running_->stages[static_cast<std::size_t>(s + job)].first_slot;
        call_.fetch = stage.kernel.fetches ? fetch : nullptr;
        call_.stage = s;
        call_.name = stage.anchor == nullptr ? "pointwise" : stage.anchor;
        stage.kernel.launch(call_);
    }
    void launch_stage_and_wait(int s, index_t const* fetch = nullptr) {
        launch_stage(s, fetch);
        check_stage(cudaStreamSynchronize(stream_), "running", s, call_.name);
    }
    /// Gathers the batch that a block speaks of, alone.
    void gather(int block, int buffer) {
        address(0, block, buffer);
        index_t places[4];
        aim_fetch(places, block, buffer);
        call_.fetch = places;
        call_.name = "gathering of a batch";
        detail::launch_fetch(call_);
    }
    void launch_steps(Steps const& what) {
        Program const& training = *programs_[0];
        for (int step = 0; step < what.steps; ++step) {
            int const block = what.first_block + step, buffer = (what.buffer + step) % 2;
            aim(0, block, buffer);
            index_t places[4];
            if (what.fetches) aim_fetch(places, block + 1, 1 - buffer);
            bool rides = false; // does a kernel of the step gather the next one's batch?
            for (int s = 0; s < static_cast<int>(training.stages.size()); ++s) {
                rides = rides || training.stages[static_cast<std::size_t>(s)].kernel.fetches;
                if (what.waits) launch_stage_and_wait(s, what.fetches ? places : nullptr);
                else launch_stage(s, what.fetches ? places : nullptr);
            }
            if (what.fetches && !rides) gather(block + 1, 1 - buffer);
        }
    }

    [[nodiscard]] Captured capture_steps(std::size_t p, Steps const& what) {
        Captured captured;
        captured.what = what;
        captured.graph = capture(stream_, [&] {
            if (p == 0) return launch_steps(what);
            aim(p, what.first_block, what.buffer);
            for (int s = 0; s < static_cast<int>(running_->stages.size()); ++s) launch_stage(s);
        });
        captured.executable = instantiate(captured.graph);
        return captured;
    }
    /// So many steps that begin in the current buffer; captured when they are first asked for.
    Captured const& captured(int steps) {
        for (Captured const& there : several_)
            if (there.what.steps == steps && there.what.buffer == buffer_) return there;
        several_.push_back(capture_steps(0, {.steps = steps, .buffer = buffer_, .fetches = true}));
        return several_.back();
    }
};

} // namespace cuda
} // namespace tenon
