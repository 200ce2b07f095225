/// @file
/// The CPU as a place where compiled graphs run: threads, the arena and scratch memory. Allocates when it is made, never after.
#pragma once

#include <tenon/cpu/arena.hpp>
#include <tenon/cpu/executor.hpp>

#include <algorithm>

namespace tenon::cpu {

/// Threads, an arena and scratch for the programs that share them.
class Machine {
public:
    using Device = Cpu;
    using Program = graph::Program<Cpu::Kernel>;
    static constexpr bool replays = false; ///< are stages run one by one, rather than as a whole?

    struct Setup {
        int threads = 0;     ///< 0: one for each core that this process may use
        index_t scratch = 0; ///< floats per thread, of the most demanding stage
    };

    /// @param threads 0: one for each core that this process may use
    /// @param arena_bytes of the largest program  @param scratch_floats per thread, of the most demanding stage
    Machine(int threads, index_t arena_bytes, index_t scratch_floats)
        : threads_{(std::min)(threads > 0 ? threads : ThreadPool::default_threads(), max_threads)}, arena_{arena_bytes},
          scratch_{scratch_floats * threads_.size() * static_cast<index_t>(sizeof(float))}, scratch_floats_{scratch_floats} {}

    Machine(Setup const& setup, Program const& training, Program const& inference)
        : Machine{setup.threads, (std::max)(training.memory.total, inference.memory.total), setup.scratch} {}

    [[nodiscard]] int threads() const { return threads_.size(); }
    [[nodiscard]] std::byte* arena() const { return arena_.data(); }
    template <class T>
    [[nodiscard]] T* at(index_t offset) const {
        return reinterpret_cast<T*>(arena_.data() + offset);
    }

    /// Where the host writes a source of a program.
    template <class T>
    [[nodiscard]] T* at(Program const&, index_t offset) const {
        return at<T>(offset);
    }

    /// Where parameters lie, by their offsets, for the host to read and to write.
    [[nodiscard]] std::byte* parameters() const { return arena_.data(); }
    /// What a stage has computed, for the host to read.
    template <class T>
    [[nodiscard]] T const* results(index_t offset, index_t) const {
        return at<T const>(offset);
    }
    /// Sets every byte of a part of the arena.
    void fill(index_t offset, int byte, index_t bytes) { std::memset(arena_.data() + offset, byte, static_cast<std::size_t>(bytes)); }
    /// Does a stage begin a piece of work of its own? Each does.
    [[nodiscard]] static bool launches(graph::ProgramStage<Cpu::Kernel> const&) { return true; }
    /// Around the stages of one run.
    void begin(Program const&, index_t) {}
    void end() {}
    void wait() const {}

    /// Runs stage `s` of a program on `samples` samples.
    void run_stage(Program const& program, int s, index_t samples) {
        graph::ProgramStage<Cpu::Kernel> const& stage = program.stages[static_cast<std::size_t>(s)];
        stage.kernel({arena_.data(), program.slots.data() + stage.first_slot, program.padded(samples) / program.lanes, samples, &threads_,
                      reinterpret_cast<float*>(scratch_.data()), scratch_floats_});
    }

private:
    ThreadPool threads_;
    Arena arena_;
    Arena scratch_;
    index_t scratch_floats_;
};

} // namespace tenon::cpu
