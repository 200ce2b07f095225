// The loader takes all of its memory when it is constructed. A program of its own, because it replaces operator new.
#include <tenon/data/loader.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>

// The sanitizers bring an operator new of their own; clang++ links it in such a way that there can be no other.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define OPERATOR_NEW_IS_TAKEN
#endif
#endif

#if !defined(OPERATOR_NEW_IS_TAKEN)

// Counts what the program allocates, on any thread. Not inlined: g++ warns of free() on what new gave if it sees both.
namespace {
std::atomic<long> allocations = 0;
}
[[gnu::noinline]] void* operator new(std::size_t size) {
    ++allocations;
    if (void* const memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("loader: nothing is allocated after the constructor") {
    using tenon::data::Prefetch;
    auto const source = tenon::data::generate<float>(
        1000, {3}, [](tenon::data::Draw const& draw, std::span<float> values, std::uint8_t& label) {
            for (float& value : values) value = draw.uniform(0);
            label = 1;
        });
    for (Prefetch const prefetch : {Prefetch::off, Prefetch::on}) {
        tenon::data::Loader loader{source, {.batch = 8, .seed = 1, .prefetch = prefetch}};
        CHECK(allocations > 0);
        for (auto const& batch : loader.epoch(0)) static_cast<void>(batch); // the thread has started by its end
        long const before = allocations;
        float sum = 0;
        for (std::uint32_t epoch = 1; epoch < 4; ++epoch)
            for (auto const& batch : loader.epoch(epoch)) sum += batch.samples[2];
        CHECK(allocations == before);
        CHECK(sum > 0);
    }
}

#endif
