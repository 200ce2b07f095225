/// @file
/// Where the things that the host tells a program lie: numbers in blocks, one for each step of a launch; samples, labels and presence
/// in one of two buffers, so that a batch can be gathered while the one before is in use.
#pragma once

#include <tenon/cuda/executor.hpp>

#include <vector>

namespace tenon::cuda {

/// A program's sources on the device and in page-locked memory: `blocks` blocks of numbers, then `buffers` batches. The last block
/// stands right before the first batch: what a single step needs is one copy.
class Sources {
public:
    using Program = graph::Program<WaveKernel>;

    Sources() = default;
    /// @param begin where they may lie in the device's memory, counted from the arena
    Sources(Program const& program, index_t begin, int blocks, int buffers)
        : begin_{begin}, blocks_{blocks}, buffers_{buffers} {
        for (graph::ProgramSource const& source : program.sources) {
            if (kept(source) || source.op == arrivals_op.id) continue;
            bool const batch = source.op == graph::input_op.id || source.op == graph::label_op.id ||
                               source.op == graph::presence_op.id;
            index_t& end = batch ? batch_bytes_ : block_bytes_;
            places_.push_back({source.offset, end, batch});
            end += (bytes_of(program, source) + graph::arena_alignment - 1) / graph::arena_alignment *
                   graph::arena_alignment;
        }
    }

    [[nodiscard]] index_t block_bytes() const { return block_bytes_; }
    [[nodiscard]] index_t batch_bytes() const { return batch_bytes_; }
    [[nodiscard]] int blocks() const { return blocks_; }
    [[nodiscard]] index_t bytes() const { return blocks_ * block_bytes_ + buffers_ * batch_bytes_; }
    /// Of the device's memory, counted from the arena.
    [[nodiscard]] index_t block(int number) const { return begin_ + number * block_bytes_; }

    /// Where the source with this offset in the plan lies on the device; -1 where it is none of these.
    [[nodiscard]] index_t on_device(index_t planned, int block, int buffer) const {
        Place const* const place = find(planned);
        if (place == nullptr) return -1;
        return place->batch ? begin_ + blocks_ * block_bytes_ + buffer * batch_bytes_ + place->at
                            : begin_ + block * block_bytes_ + place->at;
    }
    /// The same in page-locked memory, which holds the blocks and one batch.
    [[nodiscard]] index_t on_host(index_t planned, int block) const {
        Place const* const place = find(planned);
        if (place == nullptr)
            fail({"CUDA: offset ", planned, " of the plan belongs to no source that the host writes"});
        return place->batch ? blocks_ * block_bytes_ + place->at : block * block_bytes_ + place->at;
    }

    static bool kept(graph::ProgramSource const& source) {
        return source.op == graph::parameter_op.id || source.op == graph::state_op.id;
    }
    static index_t bytes_of(Program const& program, graph::ProgramSource const& source) {
        for (graph::ProgramBuffer const& buffer : program.buffers)
            if (buffer.offset == source.offset && !buffer.computed) return buffer.bytes;
        return 0;
    }

private:
    struct Place {
        index_t planned = 0, at = 0; ///< in the plan; in the block or the batch
        bool batch = false;
    };

    index_t begin_ = 0, block_bytes_ = 0, batch_bytes_ = 0;
    int blocks_ = 1, buffers_ = 1;
    std::vector<Place> places_;

    [[nodiscard]] Place const* find(index_t planned) const {
        for (Place const& place : places_)
            if (place.planned == planned) return &place;
        return nullptr;
    }
};

} // namespace tenon::cuda
