/// @file
/// Runs a compiled graph on a GPU: stages that do not depend on one another become one kernel, a wave. Stages of a single block that
/// need the others' results end the wave: the block that finishes last goes on with them.
#pragma once

#include <tenon/cpu/executor.hpp>
#include <tenon/cuda/feed.hpp>
#include <tenon/cuda/job.hpp>
#include <tenon/cuda/launch.hpp>
#include <tenon/cuda/waves.hpp>
#include <tenon/graph/program.hpp>
#include <tenon/ops/conv2d/unpooled.hpp>

#include <algorithm>

namespace tenon::cuda {

/// How many blocks of a wave are done, by the number of its first stage; zero before and after each run.
inline constexpr graph::Op arrivals_op{"arrivals", graph::Kind::source};
inline constexpr int max_stages = 4096;

/// Losses of this many steps are kept on the device until the host reads them; a power of two.
inline constexpr index_t loss_log_size = index_t{1} << 13;

/// What a program leaves behind for the host to read when it likes.
struct Journal {
    index_t halted = 0;         ///< the step whose loss was not finite: it and later ones change nothing; 0: none
    float loss[loss_log_size]{}; ///< of step s at s % loss_log_size
};

/// What `Of` writes, laid out for CUDA: one sample after the other, and what runs are told among the sources.
/// @tparam Factors of its products: float32, tf32, tf32x3 or bf16
template <class Of, class Factors = float32>
struct Source {
    using factors = Factors;
    static constexpr graph::BatchLayout layout{Of::layout.capacity, 1};
    static constexpr bool reuse = Of::reuse;
    static constexpr index_t reserved = Of::reserved;
    static constexpr graph::Sizes usual_sizes = graph::usual_sizes_of<Of>();

    static constexpr graph::Roots write(graph::Builder& b) {
        graph::Roots roots = Of::write(b);
        if (!b.verdict.ok()) return roots;
        pool2d::pack_winning_taps(b);
        conv2d::read_pooled_gradients(b);
        (void)b.source(head_op, {index_t{sizeof(StepHead)} / 4}, false, 0, graph::Dtype::i32);
        (void)b.source(feed_op, {index_t{sizeof(Feed)} / 4}, false, 0, graph::Dtype::i32);
        (void)b.source(arrivals_op, {max_stages}, false, 0, graph::Dtype::i32);
        return roots;
    }
    static constexpr graph::Plan plan(graph::Builder const& b, graph::Fused const& fused, std::vector<int> const& outputs) {
        return plan_for_waves(b, fused, outputs, layout, reuse, reserved);
    }
};

namespace detail {

/// Where waves begin, as an array: see find_waves. `tail`: where each one's tail begins.
template <int Stages>
struct WaveTable {
    int count = 0;
    std::array<int, static_cast<std::size_t>(Stages) + 1> begin{}, tail{};
};

/// What the waves are made by.
struct JobFacts {
    int threads = 0;
    index_t blocks = 0; ///< of a full batch
    index_t counters = 0, partial_floats = 0;
    int least_architecture = 0; ///< the least compute capability, as 80 for 8.0
};

template <class Job>
constexpr JobFacts facts_of(index_t capacity) {
    if constexpr (requires { Job::partial_floats; }) return {Job::threads, Job::blocks(capacity), Job::counters, Job::partial_floats, Job::least_architecture};
    else return {Job::threads, Job::blocks(capacity)};
}

/// The stage of C that makes the loss; where there is none, all stages come before it.
template <class C, int Stages>
constexpr int find_loss_stage() {
    for (int s = 0; s < Stages && C::tables.loss >= 0; ++s)
        for (int written : footprint(C::stages[static_cast<std::size_t>(s)], C::nodes, C::code, C::operands).writes)
            if (written == C::tables.storage(C::tables.loss)) return s;
    return Stages;
}

/// Does a stage change a parameter or an optimiser's state?
template <class C>
constexpr bool updates(int stage) {
    for (int written : footprint(C::stages[static_cast<std::size_t>(stage)], C::nodes, C::code, C::operands).writes) {
        std::uint64_t const op = C::nodes[static_cast<std::size_t>(written)].op->id;
        if (op == graph::parameter_op.id || op == graph::state_op.id) return true;
    }
    return false;
}

template <class C, int Stages>
constexpr WaveTable<Stages> tabulate_waves(std::array<JobFacts, static_cast<std::size_t>(Stages) + 1> const& jobs) {
    auto const at = [](int i) { return static_cast<std::size_t>(i); };
    auto const alone = [&](int s) { return C::stages[at(s)].anchor >= 0 && !C::nodes[at(C::stages[at(s)].anchor)].op->tiles && jobs[at(s)].blocks == 1; };
    Waves const planned = find_planned_waves(Stages, C::stages, C::nodes, C::code, C::operands);
    constexpr int loss = find_loss_stage<C, Stages>();
    auto const together = [&](int s, int first) {
        if (first <= loss && loss < s && updates<C>(s)) return false; // a loss that is not finite must be known before weights change
        return planned.wave[at(s)] == planned.wave[at(first)] && jobs[at(s)].threads == jobs[at(first)].threads;
    };
    Waves const waves = find_waves(Stages, C::stages, C::nodes, C::code, C::operands, alone, together);
    WaveTable<Stages> table;
    for (int s = 0; s < Stages; ++s) {
        if (s == 0 || waves.wave[at(s)] != waves.wave[at(s - 1)]) {
            table.begin[at(table.count)] = s;
            table.tail[at(table.count++)] = s;
        }
        if (waves.in_tail[at(s)] == 0) table.tail[at(table.count - 1)] = s + 1;
    }
    table.begin[at(table.count)] = Stages;
    return table;
}

/// The proof that waves and memory plan fit: stages that run side by side touch no byte that another of them writes.
template <class C, int Stages>
constexpr bool keeps_apart(WaveTable<Stages> const& table) {
    struct Range {
        index_t begin, end;
    };
    auto const at = [](int i) { return static_cast<std::size_t>(i); };
    auto const ranges = [&](std::vector<int> const& nodes) {
        std::vector<Range> found;
        for (int node : nodes) {
            graph::Node const& n = C::nodes[at(node)];
            if (index_t const offset = C::tables.offset[at(node)]; offset >= 0) found.push_back({offset, offset + graph::bytes_of(n.dtype, C::layout.elements(n.shape, n.batched))});
        }
        return found;
    };
    auto const meet = [](std::vector<Range> const& a, std::vector<Range> const& b) {
        for (Range const& x : a)
            for (Range const& y : b)
                if (x.begin < y.end && y.begin < x.end) return true;
        return false;
    };
    for (int w = 0; w < table.count; ++w)
        for (int s = table.begin[at(w)]; s < table.tail[at(w)]; ++s)
            for (int other = s + 1; other < table.tail[at(w)]; ++other) {
                Footprint const x = footprint(C::stages[at(s)], C::nodes, C::code, C::operands);
                Footprint const y = footprint(C::stages[at(other)], C::nodes, C::code, C::operands);
                auto const x_writes = ranges(x.writes), y_writes = ranges(y.writes);
                if (meet(x_writes, y_writes) || meet(x_writes, ranges(y.reads)) || meet(ranges(x.reads), y_writes)) return false;
            }
    return true;
}

/// A kernel's arguments that its jobs share.
template <int Jobs>
struct Launch {
    std::byte* arena;
    index_t head;                  ///< where the StepHead lies in the arena
    index_t arrived;               ///< where the number of blocks lies that are done
    Journal* journal;              ///< null: none is kept
    index_t loss;                  ///< where the loss lies in the arena
    int after_loss;                ///< 1 for kernels behind the one that makes the loss, else 0
    index_t counters, partial;     ///< where the jobs' workspaces lie in the arena, one after the other
    index_t first_block[Jobs + 1]; ///< of each job; those of the tail have none
};

/// What jobs need beside the plan's buffers, while their kernel runs.
struct Workspace {
    index_t counters = 0;       ///< words that are zero before and after each launch
    index_t partial_floats = 0; ///< sums of blocks that share one

    template <class Facts>
    constexpr void add(Facts const& job) {
        counters += job.counters, partial_floats += job.partial_floats;
    }
};
/// Enough for each kernel of a program: they run one after the other.
template <class Program>
[[nodiscard]] Workspace largest_workspace(Program const& program) {
    Workspace most;
    for (auto const& stage : program.stages) {
        most.counters = (std::max)(most.counters, stage.kernel.workspace.counters);
        most.partial_floats = (std::max)(most.partial_floats, stage.kernel.workspace.partial_floats);
    }
    return most;
}
/// Of the first `count` jobs together.
template <class... Job>
[[nodiscard]] constexpr Workspace workspace_of_first(int count) {
    constexpr JobFacts all[] = {facts_of<Job>(1)...};
    Workspace sum;
    for (int i = 0; i < count; ++i) sum.add(all[i]);
    return sum;
}

/// Is this the last block of the kernel to come here? Then it sees what all have written. `counter` is zero again afterwards.
__device__ inline bool arrives_last(unsigned* counter, unsigned* flag) {
    __syncthreads(); // all threads have written what they had to
    if (thread_number() == 0) {
        __threadfence();
        *flag = atomicInc(counter, gridDim.x - 1); // wraps to zero
        __threadfence();
    }
    __syncthreads();
    bool const last = *flag == gridDim.x - 1;
    __syncthreads(); // the flag's memory is free again
    return last;
}

/// Thread 0's answer, in every thread. `flag` is shared memory.
__device__ inline bool agree(bool mine, unsigned* flag) {
    __syncthreads();
    if (thread_number() == 0) *flag = mine ? 1u : 0u;
    __syncthreads();
    bool const all = *flag != 0;
    __syncthreads();
    return all;
}

/// The body of a wave's kernel: jobs from number Tail on are the tail; job number Loss makes the loss (-1: none does).
template <int Tail, int Loss, class Numbers, class... Job>
struct WaveBody;
template <int Tail, int Loss, int... I, class... Job>
struct WaveBody<Tail, Loss, std::integer_sequence<int, I...>, Job...> {
    static constexpr int jobs = static_cast<int>(sizeof...(Job));

    template <class... P>
    __device__ static void run(Launch<jobs> const& launch, std::byte* shared, P const&... places) {
        StepHead const head = *reinterpret_cast<StepHead const*>(launch.arena + launch.head);
        // All threads of a block agree: what this very kernel may write there in this step is not below head.step.
        if (launch.journal != nullptr) {
            index_t const halted = *static_cast<index_t const volatile*>(&launch.journal->halted);
            if (halted != 0 && head.step + launch.after_loss > halted) return;
        }
        (run_part<I, Job>(launch, head, shared, places), ...);
        if constexpr (Tail < jobs) {
            auto* const flag = reinterpret_cast<unsigned*>(shared);
            if (!arrives_last(reinterpret_cast<unsigned*>(launch.arena + launch.arrived), flag)) return;
            if constexpr (Loss >= 0 && Loss < Tail)
                if (agree(halts(launch, head), flag)) return;
            (void)(run_tail<I, Job>(launch, head, shared, places) && ...);
        }
    }

private:
    template <int N>
    static constexpr Workspace workspaces_before = workspace_of_first<Job...>(N);
    template <int N, class P>
    __device__ static Context<P> context(Launch<jobs> const& launch, StepHead const& head, P const& places) {
        constexpr Workspace before = workspaces_before<N>;
        return {launch.arena, head.samples, places, reinterpret_cast<float*>(launch.arena + launch.partial) + before.partial_floats,
                reinterpret_cast<unsigned*>(launch.arena + launch.counters) + before.counters};
    }
    template <int N, class J, class P>
    __device__ static void run_part(Launch<jobs> const& launch, StepHead const& head, std::byte* shared, P const& places) {
        if constexpr (N < Tail) {
            auto const block = static_cast<index_t>(blockIdx.x);
            if (block < launch.first_block[N] || block >= launch.first_block[N + 1]) return;
            J::run(context<N>(launch, head, places), block - launch.first_block[N], shared);
            if constexpr (N == Loss) (void)note_loss(launch, head, shared);
        }
    }
    /// False: the tail ends here.
    template <int N, class J, class P>
    __device__ static bool run_tail(Launch<jobs> const& launch, StepHead const& head, std::byte* shared, P const& places) {
        if constexpr (N >= Tail) {
            J::run(context<N>(launch, head, places), 0, shared);
            if constexpr (N == Loss) return note_loss(launch, head, shared);
            else if constexpr (N + 1 < jobs) __syncthreads();
        }
        return true;
    }

    [[nodiscard]] __device__ static float loss_of(Launch<jobs> const& launch) { return *reinterpret_cast<float const volatile*>(launch.arena + launch.loss); }
    [[nodiscard]] __device__ static bool halts(Launch<jobs> const& launch, StepHead const& head) {
        return head.guards != 0 && head.step > 0 && !isfinite(loss_of(launch));
    }
    /// Writes the loss down for the host; false: it is one that halts training.
    __device__ static bool note_loss(Launch<jobs> const& launch, StepHead const& head, std::byte* shared) {
        __syncthreads(); // the loss is written
        if (launch.journal != nullptr && head.step > 0 && thread_number() == 0) {
            launch.journal->loss[head.step & (loss_log_size - 1)] = loss_of(launch);
            if (halts(launch, head)) *static_cast<index_t volatile*>(&launch.journal->halted) = head.step;
        }
        return !agree(halts(launch, head), reinterpret_cast<unsigned*>(shared));
    }
};

/// The least blocks of a kernel that a multiprocessor must hold: no bound in practice, but without it ptxas saves registers by spilling.
inline constexpr int least_blocks = 2;

/// Bytes of shared memory that the jobs of a kernel need: they use the same, one after the other.
template <class... Job>
inline constexpr index_t most_shared = [] {
    index_t most = 16; // flags of WaveBody
    for (index_t const bytes : {Job::shared...}) most = bytes > most ? bytes : most;
    return most;
}();

template <int Threads, int Tail, int Loss, class... Job>
__global__ void __launch_bounds__(Threads, least_blocks) wave(Launch<static_cast<int>(sizeof...(Job))> launch, Places<Job::slots>... places) {
    alignas(16) __shared__ std::byte memory[most_shared<Job...>];
    WaveBody<Tail, Loss, std::make_integer_sequence<int, static_cast<int>(sizeof...(Job))>, Job...>::run(launch, memory, places...);
}

} // namespace detail

/// What a wave is launched with.
struct WaveCall {
    std::byte* arena = nullptr;
    index_t head = 0, arrivals = 0;            ///< where the StepHead and the counters of blocks lie in the arena
    index_t counters = 0, partial = 0;         ///< where workspaces lie in the arena: WaveKernel::workspace says how large
    index_t capacity = 0;                      ///< the most samples: kernels are launched for these
    index_t const* places[max_jobs]{};         ///< of each stage of the wave, by slot
    index_t const* fetch = nullptr;            ///< by FetchJob::Slot: gather another step's batch beside the wave; null: no
    Journal* journal = nullptr;                ///< where losses are written down; null: nowhere
    index_t loss = -1;                         ///< where the loss lies in the arena
    int stage = 0;                             ///< the first, for errors
    char const* name = nullptr;
    cudaStream_t stream = nullptr;
};

namespace detail {

template <class Job>
Places<Job::slots> copy_places(index_t const* from) {
    Places<Job::slots> places;
    for (int i = 0; i < Job::slots; ++i) places.offset[i] = from[i];
    return places;
}

/// A kernel of a wave, as constants: what WaveBody is told, whether it stands behind the loss, whether its first job is a FetchJob.
template <int Tail, int Loss, bool AfterLoss, bool Fetches>
struct WaveFacts {};

template <class... Job, int Tail, int Loss, bool AfterLoss, bool Fetches, int... I>
void launch_jobs(WaveFacts<Tail, Loss, AfterLoss, Fetches>, WaveCall const& call, std::integer_sequence<int, I...>) {
    constexpr int jobs = static_cast<int>(sizeof...(Job)), all_threads[] = {Job::threads...}, threads = all_threads[0];
    index_t const blocks[] = {Job::blocks(call.capacity)...};
    static constexpr index_t nowhere[FetchJob<threads>::slots]{};
    index_t const* places[jobs]{};
    for (int i = 0; i < jobs; ++i) places[i] = Fetches && i == 0 ? call.fetch == nullptr ? nowhere : call.fetch : call.places[i - (Fetches ? 1 : 0)];
    Launch<jobs> launch{call.arena, call.head, call.arrivals + call.stage * index_t{sizeof(unsigned)}, call.journal, call.loss, AfterLoss ? 1 : 0, call.counters, call.partial, {}};
    for (int i = 0; i < jobs; ++i) {
        bool const runs = i < Tail && !(Fetches && i == 0 && call.fetch == nullptr);
        launch.first_block[i + 1] = launch.first_block[i] + (runs ? blocks[i] : 0);
    }
    cuda::launch(call.name, &wave<threads, Tail, Loss, Job...>, {.grid = launch.first_block[jobs], .block = threads, .stream = call.stream, .stage = call.stage}, launch,
                 copy_places<Job>(places[I])...);
}
template <class Facts, class... Job>
void launch_wave(WaveCall const& call) {
    launch_jobs<Job...>(Facts{}, call, std::make_integer_sequence<int, static_cast<int>(sizeof...(Job))>{});
}
/// Takes the types from values: nvcc's host stubs would spell out where they come from, and then the network's whole type.
template <class Facts, class... Job>
constexpr auto launcher_of(Facts, Job...) {
    return &launch_wave<Facts, Job...>;
}

/// Gathers a batch alone, where no step before could: at the beginning of an epoch.
inline void launch_fetch(WaveCall const& call) {
    launch_wave<WaveFacts<1, -1, false, true>, FetchJob<usual_threads>>(call);
}

} // namespace detail

/// The waves of a compiled graph C (of a Source).
template <class C>
struct Executor {
    static constexpr int stages = C::tables.sizes.stages;
    template <int S>
    static constexpr auto job() {
        return CudaStage<cpu::detail::anchor_op<C, S>()>::template job<C, S>();
    }

    static_assert(stages <= max_stages, "tenon: a program has more stages than the CUDA backend counts blocks for");

    static constexpr auto facts = []<int... S>(std::integer_sequence<int, S...>) {
        return std::array<detail::JobFacts, static_cast<std::size_t>(stages) + 1>{detail::facts_of<decltype(job<S>())>(C::layout.capacity)...};
    }(std::make_integer_sequence<int, stages>{});

    static constexpr detail::WaveTable<stages> table = detail::tabulate_waves<C, stages>(facts);
    static_assert(detail::keeps_apart<C, stages>(table), "tenon: stages that run side by side share memory");
    /// Kernels that one run launches.
    static constexpr int waves = table.count;

    /// The stage that makes the loss; stages of a program without one: all of them come before.
    static constexpr int loss_stage = detail::find_loss_stage<C, stages>();
    /// The wave in which the next step's batch is gathered: of those behind the loss, which only training has, the one with the
    /// fewest blocks, for it leaves the most of the device idle. -1: none.
    static constexpr int fetching_wave = [] {
        auto const at = [](int i) { return static_cast<std::size_t>(i); };
        int best = -1;
        index_t fewest = 0;
        for (int w = 0; w < table.count; ++w) {
            if (table.begin[at(w)] <= loss_stage) continue;
            index_t blocks = 0;
            for (int s = table.begin[at(w)]; s < table.tail[at(w)]; ++s) blocks += facts[at(s)].blocks;
            if (best < 0 || blocks < fewest) best = w, fewest = blocks;
        }
        return best;
    }();

    /// Of the kernel of stages [first, end).
    static constexpr detail::Workspace workspace(int first, int end) {
        detail::Workspace sum;
        for (int s = first; s < end; ++s) sum.add(facts[static_cast<std::size_t>(s)]);
        return sum;
    }

    static constexpr int least_architecture(int first, int end) {
        int least = 0;
        for (int s = first; s < end; ++s) least = (std::max)(least, facts[static_cast<std::size_t>(s)].least_architecture);
        return least;
    }

    template <int W, int... I>
    static constexpr auto launcher(std::integer_sequence<int, I...>) {
        constexpr int first = table.begin[W], fetches = W == fetching_wave ? 1 : 0;
        constexpr int loss = loss_stage >= first && loss_stage < table.begin[W + 1] ? loss_stage - first + fetches : -1;
        constexpr detail::WaveFacts<table.tail[W] - first + fetches, loss, (first > loss_stage), fetches == 1> wave;
        if constexpr (fetches == 1) return detail::launcher_of(wave, FetchJob<facts[static_cast<std::size_t>(first)].threads>{}, job<first + I>()...);
        else return detail::launcher_of(wave, job<first + I>()...);
    }
};

/// What a program's stage calls: the first of a wave launches the wave, the others nothing.
struct WaveKernel {
    using Workspace = detail::Workspace;

    void (*launch)(WaveCall const&) = nullptr;
    int jobs = 0;         ///< stages of the wave
    bool fetches = false; ///< can it gather the next step's batch as well?
    Workspace workspace;  ///< that its jobs need
    int least_architecture = 0; ///< the least compute capability that has what they need, as 80 for 8.0
};

/// What graph::make_program asks of a device.
struct Device {
    using Kernel = WaveKernel;

    template <class C>
    static constexpr graph::StageTable<C, Kernel> stage_table() {
        using E = Executor<C>;
        graph::StageTable<C, Kernel> table;
        [&]<int... W>(std::integer_sequence<int, W...>) {
            ((table.kernel[E::table.begin[W]] = {E::template launcher<W>(std::make_integer_sequence<int, E::table.begin[W + 1] - E::table.begin[W]>{}),
                                                 E::table.begin[W + 1] - E::table.begin[W], W == E::fetching_wave, E::workspace(E::table.begin[W], E::table.begin[W + 1]),
                                                 E::least_architecture(E::table.begin[W], E::table.begin[W + 1])}),
             ...);
        }(std::make_integer_sequence<int, E::waves>{});
        return table;
    }
};

} // namespace tenon::cuda
