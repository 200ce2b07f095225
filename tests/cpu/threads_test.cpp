// The thread pool: every task exactly once, nobody waits for a thread that the system does not run, however often and however fast.
#include <tenon/cpu/threads.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <vector>

using namespace tenon;
using cpu::ThreadPool;

TEST_CASE("ThreadPool: each task once, by a thread of the team") {
    for (int threads : {1, 2, 3, 4, 7})
        for (index_t tasks : {0, 1, 2, 3, 5, 8, 64, 1001}) {
            CAPTURE(threads);
            CAPTURE(tasks);
            ThreadPool pool{threads};
            CHECK(pool.size() == threads);
            std::vector<int> calls(static_cast<std::size_t>(tasks));
            std::vector<std::vector<index_t>> order(static_cast<std::size_t>(threads));
            pool.run(tasks, [&](index_t task, int thread) noexcept {
                ++calls[static_cast<std::size_t>(task)];
                order[static_cast<std::size_t>(thread)].push_back(task); // a thread runs one task at a time
            });
            CHECK(std::count(calls.begin(), calls.end(), 1) == tasks);
            if (threads == 1) CHECK(std::is_sorted(order[0].begin(), order[0].end()));
        }
}

TEST_CASE("ThreadPool: thread 0 is the caller, the others are not, and they do take part") {
    ThreadPool pool{3};
    std::thread::id const caller = std::this_thread::get_id();
    std::vector<std::atomic<int>> runs(3);
    std::atomic<int> wrong{0};
    for (int round = 0; round < 2000 && (runs[1] == 0 || runs[2] == 0); ++round)
        pool.run(30, [&](index_t, int thread) noexcept {
            ++runs[static_cast<std::size_t>(thread)];
            if ((std::this_thread::get_id() == caller) != (thread == 0)) ++wrong;
            std::this_thread::sleep_for(std::chrono::microseconds{20}); // long enough for the others to come
        });
    CHECK(wrong == 0);
    CHECK(runs[1] > 0);
    CHECK(runs[2] > 0);
}

TEST_CASE("ThreadPool: a thread that is held up holds nobody else up") {
    ThreadPool pool{2};
    std::vector<int> by(8, -1);
    std::atomic<int> done{0};
    pool.run(8, [&](index_t task, int thread) noexcept {
        by[static_cast<std::size_t>(task)] = thread;
        ++done;
        if (thread == 1) // waits until all others are done: without help the second half would never be
            while (done < 8) std::this_thread::yield();
    });
    CHECK(done == 8);
}

TEST_CASE("ThreadPool: what tasks wrote is visible after run, and what the caller wrote is visible to tasks") {
    ThreadPool pool{4};
    std::vector<long> value(16, 0);
    for (long round = 1; round <= 3000; ++round)
        pool.run(
            16, [&](index_t task, int) noexcept { value[static_cast<std::size_t>((task * 7 + round) % 16)] += round; });
    for (long v : value) CHECK(v == 3000 * 3001 / 2);
}

TEST_CASE("ThreadPool: workers that fell asleep wake up") {
    ThreadPool pool{2};
    for (int round = 0; round < 3; ++round) {
        std::this_thread::sleep_for(std::chrono::milliseconds{5}); // far beyond the worker's patience
        std::atomic<bool> other{false};
        pool.run(2, [&](index_t, int thread) noexcept {
            if (thread == 1) other = true;
            while (!other) std::this_thread::yield(); // the caller stays until the worker has come
        });
        CHECK(other);
    }
}

TEST_CASE("ThreadPool: a caller that has to wait long falls asleep and is woken") {
    ThreadPool pool{2};
    bool finished = false;
    pool.run(2, [&](index_t task, int) noexcept {
        if (task == 0) return;
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        finished = true;
    });
    CHECK(finished);
}

TEST_CASE("ThreadPool: made and destroyed at once, used or not") {
    for (int round = 0; round < 50; ++round) {
        ThreadPool pool{3};
        if (round % 2 == 0) pool.run(3, [](index_t, int) noexcept {});
    }
}

TEST_CASE("ThreadPool: with one thread it is a plain loop in which exceptions travel") {
    ThreadPool pool{1};
    index_t seen = 0;
    CHECK_THROWS_AS(pool.run(10,
                             [&](index_t task, int thread) {
                                 CHECK(thread == 0);
                                 seen = task;
                                 if (task == 4) throw 1;
                             }),
                    int);
    CHECK(seen == 4);
}

TEST_CASE("ThreadPool: counts below one mean one, and the default is at least one") {
    CHECK(ThreadPool{0}.size() == 1);
    CHECK(ThreadPool{-3}.size() == 1);
    CHECK(ThreadPool::default_threads() >= 1);
}
