/// @file
/// Batches of samples in a shuffled or plain order, one of them being made on a thread of its own while the last is in
/// use.
#pragma once

#include <tenon/data/source.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace tenon::data {

/// One batch. It is valid until the loader's next one is asked for.
template <class T, class Label>
struct Batch {
    std::span<T const> samples;       ///< [count][features]
    std::span<Label const> labels;    ///< [count]
    std::span<index_t const> numbers; ///< [count], which samples of the source these are
    index_t count = 0;
    index_t first = 0; ///< samples of this epoch that came before
};

/// Whether the next batch is made on a thread of its own. `automatic`: unless the source is a Dataset, which only
/// copies.
enum class Prefetch : std::uint8_t { automatic, on, off };

struct LoaderOptions {
    index_t batch = 1;
    bool shuffle = true; ///< an order of its own for every epoch; else the source's order
    std::uint64_t seed = 0;
    bool drop_last = false; ///< leave out a last batch that is short
    Prefetch prefetch = Prefetch::automatic;
};

/// Gives the batches of an epoch, one after the other:
///
///     data::Loader loader{train, {.batch = 64, .seed = 1}};
///     for (auto const& batch : loader.epoch(0)) use(batch.samples, batch.labels);
///
/// The batches depend on the source, the options and the epoch's number alone. Leaving the loop early is fine: the next
/// epoch(), or the destructor, waits for the one sample being made and drops the rest. All memory is taken by the
/// constructor. One user at a time.
///
/// Errors: tenon::Error from the constructor on options that make no sense; from next() (and the loop) when the source
/// fails, naming the sample. The batches before it have come out by then, and next() goes on failing until another
/// epoch is begun.
template <Source S>
class Loader {
public:
    using value_type = typename S::value_type;
    using label_type = typename S::label_type;
    using BatchType = Batch<value_type, label_type>;

    explicit Loader(S source, LoaderOptions options = {})
        : source_(std::move(source)), options_(options), size_(source_.size()), features_(source_.shape().count()) {
        if (options.batch < 1) refuse({"a loader's batch is ", options.batch, ", it must be at least 1"});
        if (size_ < 0 || features_ < 1)
            refuse({"a loader's source says that it has ", size_, " samples of ", features_, " values"});
        // No batch is larger than the source, however large the option.
        index_t const room = options.batch < size_ ? options.batch : size_;
        for (Slot& slot : slots_) {
            slot.samples.resize(static_cast<std::size_t>(room * features_));
            slot.labels.resize(static_cast<std::size_t>(room));
            slot.numbers.resize(static_cast<std::size_t>(room));
        }
        if (prefetches()) thread_ = std::thread([this] { work(); });
    }

    Loader(Loader const&) = delete;
    Loader& operator=(Loader const&) = delete;

    ~Loader() {
        if (!thread_.joinable()) return;
        {
            std::lock_guard const lock(mutex_);
            quit_ = true;
            cancel_ = true;
        }
        to_worker_.notify_one();
        thread_.join();
    }

    [[nodiscard]] S const& source() const { return source_; }
    [[nodiscard]] LoaderOptions const& options() const { return options_; }

    /// Whether a thread makes the next batch while one is in use.
    [[nodiscard]] bool prefetches() const {
        return options_.prefetch == Prefetch::automatic ? is_worth_a_thread<S> : options_.prefetch == Prefetch::on;
    }

    /// Batches in an epoch.
    [[nodiscard]] index_t batches() const {
        return size_ / options_.batch + (!options_.drop_last && size_ % options_.batch != 0 ? 1 : 0);
    }

    /// Begins an epoch, whatever is left of the one before.
    void begin_epoch(std::uint32_t number) {
        {
            std::unique_lock lock(mutex_);
            cancel_ = true;
            to_user_.wait(lock, [this] { return !working_; });
            cancel_ = false;
            epoch_ = number;
            order_ = options_.shuffle ? Permutation(size_, options_.seed, number) : Permutation::in_order(size_);
            made_ = 0;
            returned_ = 0;
            holds_batch_ = false;
            failed_ = false;
            running_ = true;
        }
        to_worker_.notify_one();
    }

    /// The next batch, or null at the end of the epoch. The batch before is no longer valid.
    [[nodiscard]] BatchType const* next() {
        std::unique_lock lock(mutex_);
        if (holds_batch_) {
            holds_batch_ = false;
            ++returned_;
            to_worker_.notify_one();
        }
        if (!running_ || returned_ == batches()) return nullptr;
        if (prefetches()) to_user_.wait(lock, [this] { return made_ > returned_ || failed_; });
        else make_next(lock);
        if (made_ == returned_) {
            std::string const why = failure_;
            lock.unlock();
            refuse({why});
        }
        holds_batch_ = true;
        return &slots_[returned_ % 2].batch;
    }

    struct End {};

    class Iterator {
    public:
        explicit Iterator(Loader& loader) : loader_(&loader), batch_(loader.next()) {}
        [[nodiscard]] BatchType const& operator*() const { return *batch_; }
        [[nodiscard]] BatchType const* operator->() const { return batch_; }
        Iterator& operator++() {
            batch_ = loader_->next();
            return *this;
        }
        [[nodiscard]] bool operator==(End) const { return batch_ == nullptr; }

    private:
        Loader* loader_;
        BatchType const* batch_;
    };

    /// The batches of one epoch, for a range-based loop.
    struct Epoch {
        Loader* loader;
        [[nodiscard]] Iterator begin() const { return Iterator(*loader); }
        [[nodiscard]] End end() const { return {}; }
    };

    [[nodiscard]] Epoch epoch(std::uint32_t number) & {
        begin_epoch(number);
        return {this};
    }
    Epoch epoch(std::uint32_t) && = delete; // the loop would outlive its loader

private:
    struct Slot {
        std::vector<value_type> samples;
        std::vector<label_type> labels;
        std::vector<index_t> numbers;
        BatchType batch;
    };

    /// The thread: makes batches as long as there is a free slot to put them into.
    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            to_worker_.wait(lock, [this] {
                return quit_ || (running_ && !failed_ && !cancel_ && made_ < batches() && made_ - returned_ < 2);
            });
            if (quit_) return;
            make_next(lock);
            to_user_.notify_one();
        }
    }

    /// Makes batch number made_, with the mutex released meanwhile: its slot, epoch_ and order_ stay as they are while
    /// working_ is true.
    void make_next(std::unique_lock<std::mutex>& lock) {
        if (failed_) return;
        working_ = true;
        index_t const number = made_;
        lock.unlock();
        bool const complete = make(slots_[number % 2], number * options_.batch);
        lock.lock();
        working_ = false;
        if (complete) ++made_;
        else if (!cancel_) failed_ = true;
    }

    /// Fills a slot with the samples from position `first` of the epoch on. False when cancelled, or when failure_ says
    /// why not.
    bool make(Slot& slot, index_t first) {
        index_t const count = size_ - first < options_.batch ? size_ - first : options_.batch;
        for (index_t i = 0; i < count; ++i) {
            if (cancel_.load(std::memory_order_relaxed)) return false;
            std::size_t const at = static_cast<std::size_t>(i);
            Draw const draw{order_(first + i), epoch_, options_.seed};
            slot.numbers[at] = draw.sample;
            std::span<value_type> const values{slot.samples.data() + i * features_,
                                               static_cast<std::size_t>(features_)};
            if (!fill(draw, values, slot.labels[at])) return false;
        }
        std::size_t const n = static_cast<std::size_t>(count);
        slot.batch = {{slot.samples.data(), n * static_cast<std::size_t>(features_)},
                      {slot.labels.data(), n},
                      {slot.numbers.data(), n},
                      count,
                      first};
        return true;
    }

    /// Has the source write one sample; an exception must not leave the thread, so that it becomes failure_ here.
    bool fill(Draw const& draw, std::span<value_type> values, label_type& label) {
#if defined(__cpp_exceptions)
        try {
            return fill_or_throw(draw, values, label);
        } catch (std::exception const& error) {
            return set_failure(draw, error.what());
        } catch (...) {
            return set_failure(draw, "an exception that is no std::exception");
        }
#else
        return fill_or_throw(draw, values, label);
#endif
    }

    bool fill_or_throw(Draw const& draw, std::span<value_type> values, label_type& label) {
        return succeeds([&] { return source_.fill(draw, values, label); }) || set_failure(draw, "it returned false");
    }

    bool set_failure(Draw const& draw, char const* why) {
        failure_ = message({"the loader's source failed at sample ", draw.sample, " in epoch ", draw.epoch, ": ", why});
        return false;
    }

    S const source_;
    LoaderOptions options_;
    index_t size_, features_;
    Slot slots_[2];

    std::mutex mutex_; // guards everything below, but see make_next()
    std::condition_variable to_worker_, to_user_;
    Permutation order_;
    std::uint32_t epoch_ = 0;
    index_t made_ = 0, returned_ = 0; // batches of this epoch: made, and given back by the user
    bool running_ = false, working_ = false, holds_batch_ = false, failed_ = false, quit_ = false;
    std::atomic<bool> cancel_ = false; // asks make() to stop between two samples
    std::string failure_;
    std::thread thread_;
};

} // namespace tenon::data
