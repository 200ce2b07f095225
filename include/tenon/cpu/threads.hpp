/// @file
/// Threads that wait for work without leaving the processor for long: the fork and join of one stage costs about a
/// microsecond. Host code only.
#pragma once

#include <tenon/core/config.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace tenon::cpu {

/// Tells the processor that this is a waiting loop.
TENON_ALWAYS_INLINE void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
}

/// Waits until `word` is no longer `old`: some tens of microseconds on the processor, because the next stage usually comes
/// sooner than the kernel can wake a thread, then asleep, because the processor may be wanted by others.
/// @return what `word` became; everything written before it was stored is visible
template <class T>
T wait_while_equal(std::atomic<T> const& word, T old) {
    constexpr auto patience = std::chrono::microseconds{40};
    constexpr int pauses_per_look_at_the_clock = 32;
    auto const start = std::chrono::steady_clock::now();
    do {
        for (int i = 0; i < pauses_per_look_at_the_clock; ++i) {
            if (T const now = word.load(std::memory_order_acquire); now != old) return now;
            pause();
        }
    } while (std::chrono::steady_clock::now() - start < patience);
    for (;;) {
        word.wait(old, std::memory_order_acquire);
        if (T const now = word.load(std::memory_order_acquire); now != old) return now; // woken for nothing otherwise
    }
}

/// A fixed team of threads that runs numbered tasks: the caller is thread 0, the pool owns the others.
///
///     ThreadPool pool{ThreadPool::default_threads()};
///     pool.run(tasks, [&](index_t task, int thread) noexcept { ... });
///
/// Each thread begins with a share of its own, [tasks t / n, tasks (t + 1) / n), the same in every call, so that data stay in its
/// cache; who is done helps the others. A thread that the system does not let run holds nobody up: the caller does its tasks too.
/// One call of run at a time; not from within a task.
class ThreadPool {
public:
    /// @param threads all together, the caller included; less than 1 counts as 1
    explicit ThreadPool(int threads) : threads_{threads < 1 ? 1 : threads} {
        if (threads_ == 1) return;
        shares_ = std::make_unique<Share[]>(static_cast<std::size_t>(threads_));
        workers_ = std::make_unique<std::thread[]>(static_cast<std::size_t>(threads_ - 1));
        for (int t = 1; t < threads_; ++t)
            workers_[static_cast<std::size_t>(t - 1)] = std::thread{[this, t] { work(t); }};
    }
    ~ThreadPool() {
        if (threads_ == 1) return;
        leave_.store(true, std::memory_order_relaxed);
        wake();
        for (int t = 1; t < threads_; ++t) workers_[static_cast<std::size_t>(t - 1)].join();
    }
    ThreadPool(ThreadPool const&) = delete;
    ThreadPool& operator=(ThreadPool const&) = delete;

    [[nodiscard]] int size() const { return threads_; }

    /// As many threads as this process may keep running at once: one per core that it is allowed to use.
    [[nodiscard]] static int default_threads() {
#if defined(__linux__)
        cpu_set_t allowed;
        if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0) return CPU_COUNT(&allowed);
#endif
        unsigned const cores = std::thread::hardware_concurrency();
        return cores == 0 ? 1 : static_cast<int>(cores);
    }

    /// Calls f(task, thread) for each task in [0, tasks) and returns when all are done. Allocates nothing. With one thread it is
    /// a plain loop. With more, f must not throw: an exception ends the program, as from any noexcept function.
    template <class F>
    void run(index_t tasks, F const& f) {
        if (threads_ == 1 || tasks <= 1) {
            for (index_t task = 0; task < tasks; ++task) f(task, 0);
            return;
        }
        job_ = {&call<F>, &f};
        for (int t = 0; t < threads_; ++t) {
            shares_[static_cast<std::size_t>(t)].next.store(tasks * t / threads_, std::memory_order_relaxed);
            shares_[static_cast<std::size_t>(t)].end = tasks * (t + 1) / threads_;
        }
        open_.store(true, std::memory_order_seq_cst);
        wake();
        take_part(0);
        // Every task is taken. Who entered may still be at one; who did not enter will find the door closed and touch nothing.
        open_.store(false, std::memory_order_seq_cst);
        for (int inside = inside_.load(std::memory_order_seq_cst); inside != 0;)
            inside = wait_while_equal(inside_, inside);
    }

private:
    struct Job {
        void (*call)(void const* f, index_t task, int thread) noexcept = nullptr;
        void const* f = nullptr;
    };
    static constexpr std::size_t line = 128; // two cache lines: neighbours are fetched in pairs
    struct alignas(line) Share {
        std::atomic<index_t> next{0};
        index_t end = 0;
    };

    template <class F>
    static void call(void const* f, index_t task, int thread) noexcept {
        (*static_cast<F const*>(f))(task, thread);
    }

    /// Runs what is left of one's own share, then of the others'.
    void take_part(int thread) {
        for (int i = 0; i < threads_; ++i) {
            Share& share = shares_[static_cast<std::size_t>((thread + i) % threads_)];
            for (;;) {
                index_t const task = share.next.fetch_add(1, std::memory_order_relaxed);
                if (task >= share.end) break;
                job_.call(job_.f, task, thread);
            }
        }
    }

    void wake() {
        round_.fetch_add(1, std::memory_order_release);
        round_.notify_all();
    }

    void work(int thread) {
        for (unsigned seen = 0;;) {
            seen = wait_while_equal(round_, seen);
            if (leave_.load(std::memory_order_relaxed)) return;
            // Announce first, look at the door after: the caller closes the door first and looks for people inside after.
            inside_.fetch_add(1, std::memory_order_seq_cst);
            if (open_.load(std::memory_order_seq_cst)) take_part(thread);
            if (inside_.fetch_sub(1, std::memory_order_seq_cst) == 1) inside_.notify_one();
        }
    }

    int threads_;
    std::unique_ptr<Share[]> shares_; // next and end are set by the caller while nobody is inside
    std::unique_ptr<std::thread[]> workers_;
    Job job_; // the same
    std::atomic<bool> leave_{false};
    alignas(line) std::atomic<unsigned> round_{0};
    alignas(line) std::atomic<bool> open_{false};
    alignas(line) std::atomic<int> inside_{0};
};

} // namespace tenon::cpu
