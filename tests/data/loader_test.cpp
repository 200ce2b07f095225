// The loader: which batches come, in which order, however the two threads happen to run; and how it ends.
#include "files.hpp"

#include <tenon/data/loader.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

using namespace tenon::test;
using tenon::Dims;
using tenon::index_t;
using tenon::data::Draw;
using tenon::data::Loader;
using tenon::data::Prefetch;

namespace {

/// Sample i of epoch e holds i, e and a random number; its label is i % 7.
auto counting_source(index_t count) {
    return tenon::data::generate<float>(count, {3}, [](Draw const& draw, std::span<float> values, std::uint8_t& label) {
        values[0] = static_cast<float>(draw.sample);
        values[1] = static_cast<float>(draw.epoch);
        values[2] = draw.uniform(5);
        label = static_cast<std::uint8_t>(draw.sample % 7);
    });
}

struct Seen {
    std::vector<index_t> counts, numbers;
    std::vector<float> values;
    bool operator==(Seen const&) const = default;
};

/// Goes through an epoch and checks that each batch is of a piece.
template <class AnyLoader>
Seen see(AnyLoader& loader, std::uint32_t epoch) {
    Seen seen;
    index_t first = 0;
    for (auto const& batch : loader.epoch(epoch)) {
        CHECK(batch.first == first);
        REQUIRE(batch.samples.size() == 3 * static_cast<std::size_t>(batch.count));
        REQUIRE(batch.labels.size() == static_cast<std::size_t>(batch.count));
        REQUIRE(batch.numbers.size() == static_cast<std::size_t>(batch.count));
        for (std::size_t i = 0; i < batch.numbers.size(); ++i) {
            CHECK(batch.samples[3 * i] == static_cast<float>(batch.numbers[i]));
            CHECK(batch.samples[3 * i + 1] == static_cast<float>(epoch));
            CHECK(batch.labels[i] == batch.numbers[i] % 7);
        }
        seen.counts.push_back(batch.count);
        seen.numbers.insert(seen.numbers.end(), batch.numbers.begin(), batch.numbers.end());
        seen.values.insert(seen.values.end(), batch.samples.begin(), batch.samples.end());
        first += batch.count;
    }
    CHECK(static_cast<index_t>(seen.counts.size()) == loader.batches());
    return seen;
}

} // namespace

TEST_CASE("loader: every sample once, a short last batch, with and without a thread") {
    for (Prefetch const prefetch : {Prefetch::off, Prefetch::on}) {
        for (index_t const size : {0, 1, 2, 12, 13, 100}) {
            for (index_t const batch : {1, 2, 4, 12, 13, 1000}) {
                CAPTURE(size);
                CAPTURE(batch);
                Loader loader{counting_source(size), {.batch = batch, .seed = 3, .prefetch = prefetch}};
                Seen seen = see(loader, 0);
                for (std::size_t i = 0; i < seen.counts.size(); ++i)
                    CHECK(seen.counts[i] == std::min(batch, size - static_cast<index_t>(i) * batch));
                std::sort(seen.numbers.begin(), seen.numbers.end());
                REQUIRE(static_cast<index_t>(seen.numbers.size()) == size);
                for (index_t i = 0; i < size; ++i) CHECK(seen.numbers[static_cast<std::size_t>(i)] == i);
            }
        }
    }
}

TEST_CASE("loader: plain order, and last batches left out") {
    for (Prefetch const prefetch : {Prefetch::off, Prefetch::on}) {
        Loader loader{counting_source(11), {.batch = 4, .shuffle = false, .drop_last = true, .prefetch = prefetch}};
        CHECK(loader.batches() == 2);
        CHECK(see(loader, 0).numbers == std::vector<index_t>{0, 1, 2, 3, 4, 5, 6, 7});
        Loader whole{counting_source(8), {.batch = 4, .shuffle = false, .drop_last = true, .prefetch = prefetch}};
        CHECK(whole.batches() == 2);
        CHECK(see(whole, 3).numbers == std::vector<index_t>{0, 1, 2, 3, 4, 5, 6, 7});
        Loader none{counting_source(3), {.batch = 4, .drop_last = true, .prefetch = prefetch}};
        CHECK(see(none, 0).counts.empty());
    }
}

TEST_CASE(
    "loader: an epoch's batches depend on seed and epoch, not on threads, on what came before or on who is slow") {
    Loader plain{counting_source(101), {.batch = 8, .seed = 3, .prefetch = Prefetch::off}};
    Seen const expected[] = {see(plain, 0), see(plain, 1)};
    CHECK(expected[0].numbers != expected[1].numbers);
    CHECK(see(plain, 0) == expected[0]);

    Loader loader{counting_source(101), {.batch = 8, .seed = 3}};
    for (std::uint32_t const epoch : {1u, 0u, 1u, 1u}) CHECK(see(loader, epoch) == expected[epoch]);

    Loader other_seed{counting_source(101), {.batch = 8, .seed = 4}};
    CHECK(see(other_seed, 0).numbers != expected[0].numbers);

    auto const slow = tenon::data::augment(counting_source(101), [](Draw const& draw, std::span<float>) {
        if (draw.sample % 10 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    });
    Loader slow_source{slow, {.batch = 8, .seed = 3}};
    CHECK(see(slow_source, 1) == expected[1]);

    Seen slow_user;
    for (auto const& batch : loader.epoch(0)) {
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        slow_user.counts.push_back(batch.count);
        slow_user.numbers.insert(slow_user.numbers.end(), batch.numbers.begin(), batch.numbers.end());
        slow_user.values.insert(slow_user.values.end(), batch.samples.begin(), batch.samples.end());
    }
    CHECK(slow_user == expected[0]);
}

TEST_CASE("loader: a batch stays as it is while the next one is made") {
    Loader loader{counting_source(64), {.batch = 4, .seed = 1}};
    for (auto const& batch : loader.epoch(0)) {
        std::vector<float> const before(batch.samples.begin(), batch.samples.end());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        CHECK(std::equal(before.begin(), before.end(), batch.samples.begin()));
    }
}

TEST_CASE("loader: over a dataset, and over one with changes") {
    std::vector<std::uint8_t> samples, labels;
    for (int i = 0; i < 30; ++i) {
        samples.push_back(static_cast<std::uint8_t>(i));
        samples.push_back(static_cast<std::uint8_t>(2 * i));
        labels.push_back(static_cast<std::uint8_t>(i % 5));
    }
    tenon::data::Dataset<> const set({2}, samples, labels, 5);
    for (Prefetch const prefetch : {Prefetch::automatic, Prefetch::on}) {
        Loader loader{set.range(10, 30), {.batch = 7, .seed = 2, .prefetch = prefetch}};
        CHECK(loader.prefetches() == (prefetch == Prefetch::on));
        std::size_t seen = 0;
        for (auto const& batch : loader.epoch(0)) {
            for (std::size_t i = 0; i < batch.labels.size(); ++i) {
                CHECK(batch.samples[2 * i] == 10 + batch.numbers[i]);
                CHECK(batch.samples[2 * i + 1] == 2 * batch.samples[2 * i]);
                CHECK(batch.labels[i] == batch.samples[2 * i] % 5);
                ++seen;
            }
        }
        CHECK(seen == 20);
    }

    Loader changed{tenon::data::augment(set,
                                        [](Draw const& draw, std::span<std::uint8_t> values) {
                                            values[0] = static_cast<std::uint8_t>(draw.uniform(0) * 256);
                                            values[1] = static_cast<std::uint8_t>(values[1] + 1);
                                        }),
                   {.batch = 30, .shuffle = false, .seed = 2}};
    CHECK(changed.prefetches());
    std::vector<std::vector<std::uint8_t>> epochs;
    for (std::uint32_t const epoch : {0u, 1u, 0u}) {
        for (auto const& batch : changed.epoch(epoch)) {
            epochs.emplace_back(batch.samples.begin(), batch.samples.end());
            for (std::size_t i = 0; i < 30; ++i) CHECK(batch.samples[2 * i + 1] == 2 * i + 1);
        }
    }
    CHECK(epochs[0] == epochs[2]);
    CHECK(epochs[0] != epochs[1]);
    CHECK(set.sample(3)[1] == 6); // the set itself is as it was
}

TEST_CASE("loader: left in the middle, again and again") {
    std::atomic<long> made = 0;
    auto const source = tenon::data::augment(counting_source(1000), [&](Draw const&, std::span<float>) {
        if (++made % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    });
    Loader reference{counting_source(1000), {.batch = 8, .seed = 1, .prefetch = Prefetch::off}};
    Seen const expected = see(reference, 5);
    Loader loader{source, {.batch = 8, .seed = 1}};
    for (std::uint32_t epoch = 0; epoch < 100; ++epoch) {
        std::uint32_t batches = 0;
        for (auto const& batch : loader.epoch(epoch)) {
            CHECK(batch.samples[1] == static_cast<float>(epoch));
            if (++batches > epoch % 5) break;
        }
    }
    CHECK(made < 100 * 8 * 8); // nobody finished an epoch that was not wanted
    CHECK(see(loader, 5).numbers == expected.numbers);

    for (int round = 0; round < 100; ++round) { // the loader itself goes away: before, at and after its first batch
        Loader brief{source, {.batch = 8, .seed = 1}};
        if (round % 4 > 0) brief.begin_epoch(0);
        if (round % 4 > 1) CHECK(brief.next() != nullptr);
        if (round % 4 > 2) CHECK(brief.next() != nullptr);
    }
}

TEST_CASE("loader: whoever leaves does not wait for the whole batch that is being made") {
    std::atomic<int> made = 0;
    auto const source = tenon::data::augment(counting_source(400), [&](Draw const&, std::span<float>) {
        if (++made > 200) std::this_thread::sleep_for(std::chrono::milliseconds(5)); // the second batch takes a second
    });
    {
        Loader loader{source, {.batch = 200}};
        loader.begin_epoch(0);
        CHECK(loader.next() != nullptr);
        while (made <= 200) std::this_thread::yield();
    }
    CHECK(made < 400);
}

TEST_CASE("loader: next() before an epoch and after its end") {
    Loader loader{counting_source(3), {.batch = 2}};
    CHECK(loader.next() == nullptr);
    loader.begin_epoch(0);
    CHECK(loader.next() != nullptr);
    CHECK(loader.next()->count == 1);
    CHECK(loader.next() == nullptr);
    CHECK(loader.next() == nullptr);
    loader.begin_epoch(0);
    CHECK(loader.next()->first == 0);
}

TEST_CASE("loader: a failure of the source reaches the user, after the batches before it, with the sample's number") {
    struct Strange {};
    enum class Way { standard, own, strange, false_value };
    for (Prefetch const prefetch : {Prefetch::off, Prefetch::on}) {
        for (Way const way : {Way::standard, Way::own, Way::strange, Way::false_value}) {
            auto const source = tenon::data::augment(counting_source(40), [way](Draw const& draw, std::span<float>) {
                if (draw.sample != 22 || draw.epoch == 1) return true;
                if (way == Way::standard) throw std::runtime_error("the disk is on fire");
                if (way == Way::own) tenon::fail("a tenon does not fit");
                if (way == Way::strange) throw Strange{};
                return false;
            });
            Loader loader{source, {.batch = 4, .shuffle = false, .prefetch = prefetch}};
            loader.begin_epoch(3);
            index_t batches = 0;
            auto const error_of_next = [&] {
                return error_of([&] {
                    while (loader.next() != nullptr) ++batches;
                });
            };
            std::string const error = error_of_next();
            CHECK(batches == 5);
            CHECK(holds(error, "sample 22 in epoch 3: ",
                        way == Way::standard  ? "the disk is on fire"
                        : way == Way::own     ? "a tenon does not fit"
                        : way == Way::strange ? "no std::exception"
                                              : "returned false"));
            CHECK(error_of_next() == error); // it does not go away
            CHECK(batches == 5);
            CHECK(see(loader, 1).counts.size() == 10); // another epoch is fine
            loader.begin_epoch(0);                     // and a loader may go away with a failure that nobody has seen
            CHECK(loader.next() != nullptr);
        }
    }
}

TEST_CASE("loader: a failure stays until another epoch is begun, even if the source has recovered") {
    for (Prefetch const prefetch : {Prefetch::off, Prefetch::on}) {
        std::atomic<int> calls = 0;
        auto const source =
            tenon::data::augment(counting_source(3), [&](Draw const&, std::span<float>) { return ++calls != 2; });
        Loader loader{source, {.shuffle = false, .prefetch = prefetch}};
        loader.begin_epoch(0);
        CHECK(loader.next() != nullptr);
        for (int i = 0; i < 3; ++i)
            CHECK(holds(error_of([&] { static_cast<void>(loader.next()); }), "sample 1 in epoch 0"));
        CHECK(calls == 2);
        CHECK(see(loader, 0).counts.size() == 3);
    }
}

TEST_CASE("loader: a failure below a change is a failure as well") {
    auto const broken = tenon::data::generate<float>(
        10, {3}, [](Draw const& draw, std::span<float>, std::uint8_t&) { return draw.sample != 4; });
    Loader loader{tenon::data::augment(broken, [](Draw const&, std::span<float>) {}), {.batch = 2, .shuffle = false}};
    loader.begin_epoch(0);
    CHECK(loader.next() != nullptr);
    CHECK(loader.next() != nullptr);
    CHECK(holds(error_of([&] { static_cast<void>(loader.next()); }), "sample 4 in epoch 0: it returned false"));
}

TEST_CASE("loader: options that make no sense are refused") {
    CHECK(holds(error_of([] { Loader loader{counting_source(3), {.batch = 0}}; }), "batch is 0"));
    CHECK(holds(error_of([] { Loader loader{counting_source(3), {.batch = -4}}; }), "batch is -4"));
    CHECK(holds(error_of([] { Loader loader{counting_source(-3), {.batch = 4}}; }), "-3 samples"));
    auto const nothing = tenon::data::generate<float>(3, {2, 0}, [](Draw const&, std::span<float>, std::uint8_t&) {});
    CHECK(holds(error_of([&] { Loader loader{nothing, {.batch = 4}}; }), "of 0 values"));
}
