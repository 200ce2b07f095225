/// @file
/// Data sets for the device: kept there as they are where they fit, else sent in chunks by a stream of its own while the device works
/// on the chunk before.
#pragma once

#include <tenon/cuda/feed.hpp>
#include <tenon/cuda/runtime.hpp>
#include <tenon/data/dataset.hpp>

#include <bit>
#include <cstring>

namespace tenon::cuda {

/// Samples of a type that FetchJob reads, or that becomes one of them.
template <class T>
inline constexpr int element_bytes_of = std::is_same_v<T, std::uint8_t> ? 1 : 4;

/// Copies values of one sample as FetchJob reads them.
template <class T>
void copy_sample(T const* from, index_t features, std::byte* to) {
    if constexpr (std::is_same_v<T, std::uint8_t> || std::is_same_v<T, float>) {
        std::memcpy(to, from, static_cast<std::size_t>(features) * sizeof(T));
    } else {
        for (index_t f = 0; f < features; ++f) {
            float const value = static_cast<float>(from[f]);
            std::memcpy(to + f * index_t{sizeof(float)}, &value, sizeof value);
        }
    }
}

/// A data set on the device.
class ResidentSamples {
public:
    /// Of the device's memory this much is left to others.
    static constexpr index_t reserve = index_t{64} << 20;

    /// Is it there afterwards? No: it does not fit into the free memory, or has no samples. One that is there already is not sent again.
    /// @tparam Target what labels become: std::int32_t or float
    template <class Target, class T, class Label>
    [[nodiscard]] bool hold(data::Dataset<T, Label> const& data, cudaStream_t stream) {
        auto identity = typename data::Dataset<std::uint8_t, std::uint8_t>::Identity{
            data.identity().storage, data.identity().rows, data.identity().begin, data.identity().size};
        if (bytes_ > 0 && identity == identity_) return true;
        index_t const values = data.size() * data.features(), bytes = values * element_bytes_of<T>;
        drop();
        if (bytes == 0 || bytes + data.size() * 4 + reserve > memory_info().free) return false;
        if (!send<Target>(data, bytes, stream)) return false;
        identity_ = std::move(identity);
        bytes_ = bytes;
        return true;
    }

    /// All but the order and the place in it.
    [[nodiscard]] Feed feed() const {
        Feed feed;
        feed.samples = samples_.get();
        feed.labels = static_cast<std::int32_t const*>(labels_.get());
        feed.element_bytes = element_bytes_;
        return feed;
    }

private:
    DeviceMemory samples_, labels_;
    data::Dataset<std::uint8_t, std::uint8_t>::Identity identity_;
    index_t bytes_ = 0;
    int element_bytes_ = 1;

    void drop() {
        bytes_ = 0;
        samples_ = DeviceMemory{};
        labels_ = DeviceMemory{};
    }
    template <class Target, class T, class Label>
    bool send(data::Dataset<T, Label> const& data, index_t bytes, cudaStream_t stream) {
        element_bytes_ = element_bytes_of<T>;
        samples_ = try_device_memory(bytes);
        labels_ = try_device_memory(data.size() * 4);
        if (samples_.get() == nullptr || labels_.get() == nullptr) { // others have taken what was free
            drop();
            return false;
        }
        std::vector<std::int32_t> labels(static_cast<std::size_t>(data.size()));
        for (index_t i = 0; i < data.size(); ++i)
            labels[static_cast<std::size_t>(i)] = std::bit_cast<std::int32_t>(static_cast<Target>(data.label(i)));
        std::vector<std::byte> gathered;
        void const* values = data.contiguous() ? data.samples().data() : nullptr;
        if (values == nullptr) {
            gathered.resize(static_cast<std::size_t>(bytes));
            index_t const sample_bytes = data.features() * element_bytes_;
            for (index_t i = 0; i < data.size(); ++i)
                copy_sample(data.sample(i).data(), data.features(), gathered.data() + i * sample_bytes);
            values = gathered.data();
        }
        copy_to_device(samples_.get(), values, bytes, stream);
        copy_to_device(labels_.get(), labels.data(), data.size() * 4, stream);
        cuda::wait(stream, "sending the data set");
        return true;
    }
};

/// Batches on their way to the device: two chunks of a few steps' batches each, the host filling one while the other is used.
class StreamedSamples {
public:
    /// The most bytes of a chunk of more than one step.
    static constexpr index_t most_bytes = index_t{32} << 20;

    /// Makes room for chunks of so many steps. Allocates where there is less.
    void open(int steps, index_t batch, index_t features, int element_bytes) {
        features_ = features;
        element_bytes_ = element_bytes;
        label_at_ = (batch * features * element_bytes + 15) / 16 * 16;
        step_bytes_ = (label_at_ + batch * 4 + 15) / 16 * 16;
        if (stream_.get() == nullptr) {
            stream_ = make_stream();
            for (Chunk& chunk : chunks_) chunk.arrived = make_event(), chunk.used = make_event();
        }
        if (steps * step_bytes_ <= bytes_) return;
        wait();
        bytes_ = steps * step_bytes_;
        for (Chunk& chunk : chunks_) {
            chunk.host = pinned_memory(bytes_);
            chunk.device = device_memory(bytes_);
        }
    }
    [[nodiscard]] static int steps_of_chunk(int wanted, index_t batch, index_t sample_bytes) {
        return wanted * batch * (sample_bytes + 4) <= most_bytes ? wanted : 1;
    }

    /// Before a chunk is filled: until its last copy is done.
    void begin() { cuda::wait(chunks_[turn_].arrived, "waiting for a batch to be sent"); }
    /// Where sample i of a step's batch is written, and its labels.
    [[nodiscard]] std::byte* sample(int step, index_t i) {
        return static_cast<std::byte*>(chunks_[turn_].host.get()) + step * step_bytes_ + i * features_ * element_bytes_;
    }
    template <class Target>
    [[nodiscard]] Target* labels(int step) {
        return reinterpret_cast<Target*>(static_cast<std::byte*>(chunks_[turn_].host.get()) + step * step_bytes_ +
                                         label_at_);
    }
    [[nodiscard]] Feed feed(int step, index_t samples) const {
        auto const* const at = static_cast<std::byte const*>(chunks_[turn_].device.get()) + step * step_bytes_;
        Feed feed;
        feed.samples = at;
        feed.labels = reinterpret_cast<std::int32_t const*>(at + label_at_);
        feed.order = data::Permutation::in_order(samples);
        feed.count = static_cast<std::int32_t>(samples);
        feed.element_bytes = element_bytes_;
        return feed;
    }
    /// Sends the batches of so many steps; what `worker` is given from now on waits for them.
    void send(int steps, cudaStream_t worker) {
        Chunk& chunk = chunks_[turn_];
        wait_for(stream_.get(), chunk.used);
        copy_to_device(chunk.device.get(), chunk.host.get(), steps * step_bytes_, stream_.get());
        record(chunk.arrived, stream_.get());
        wait_for(worker, chunk.arrived);
    }
    /// After the steps have been given to `worker`.
    void end(cudaStream_t worker) {
        record(chunks_[turn_].used, worker);
        turn_ = 1 - turn_;
    }
    /// Until nothing is on its way.
    void wait() const {
        if (stream_.get() == nullptr) return;
        for (Chunk const& chunk : chunks_) cuda::wait(chunk.used, "waiting for the last batches");
        cuda::wait(stream_.get(), "waiting for the last batches");
    }

private:
    struct Chunk {
        PinnedMemory host;
        DeviceMemory device;
        Event arrived, used;
    };
    Chunk chunks_[2];
    Stream stream_;
    index_t features_ = 0, label_at_ = 0, step_bytes_ = 0, bytes_ = 0;
    int element_bytes_ = 1;
    std::size_t turn_ = 0;
};

} // namespace tenon::cuda
