/// @file
/// The one allocation of a program: aligned to large pages, and zero at first.
#pragma once

#include <tenon/core/error.hpp>
#include <tenon/core/config.hpp>

#include <cstring>
#include <memory>
#include <string>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tenon::cpu {

/// Bytes on the heap, aligned to 2 MiB where they are as large (the kernel then backs them with large pages: the first touch of
/// a small page costs microseconds), else to a cache line.
class Arena {
public:
    Arena() = default;
    explicit Arena(index_t bytes) : size_{bytes} {
        std::size_t const alignment = bytes >= large_page ? static_cast<std::size_t>(large_page) : 64;
        std::size_t const rounded = (static_cast<std::size_t>(bytes < 1 ? 1 : bytes) + alignment - 1) / alignment * alignment;
        data_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
        if (data_ == nullptr) fail({"tenon: no memory for an arena of ", rounded, " bytes"});
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (bytes >= large_page) (void)madvise(data_.get(), rounded, MADV_HUGEPAGE); // only advice: a failure costs speed, nothing else
#endif
        std::memset(data_.get(), 0, rounded);
    }

    [[nodiscard]] std::byte* data() const { return data_.get(); }
    [[nodiscard]] index_t size() const { return size_; }

private:
    static constexpr index_t large_page = index_t{2} << 20;
    struct Free {
        void operator()(std::byte* p) const { std::free(p); }
    };
    std::unique_ptr<std::byte, Free> data_;
    index_t size_ = 0;
};

} // namespace tenon::cpu
