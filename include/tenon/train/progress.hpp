/// @file
/// A line that tells how far training is, for terminals.
#pragma once

#include <tenon/core/config.hpp>

#include <chrono>
#include <cstdio>

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace tenon {

/// One line at the bottom of a terminal, rewritten a few times a second: what is done, samples per second, time left. Where the
/// output is no terminal nothing is ever written.
///     ProgressLine progress{epochs * train.size()};
///     ... progress.advance(samples); ... progress.clear(); std::puts("..."); ... 
class ProgressLine {
public:
    /// @param samples how many there will be
    explicit ProgressLine(index_t samples, std::FILE* to = stdout) : to_{to}, shown_{is_terminal(to)}, total_{samples}, start_{Clock::now()}, last_{start_} {}
    ~ProgressLine() { clear(); }
    ProgressLine(ProgressLine const&) = delete;
    ProgressLine& operator=(ProgressLine const&) = delete;

    /// Counts `samples` more.
    void advance(index_t samples) {
        done_ += samples;
        if (!shown_ || (samples < 64 && (++calls_ & 15) != 0)) return; // looking at the clock costs as much as a small step's stage
        auto const now = Clock::now();
        if (now - last_ < std::chrono::milliseconds{200}) return;
        last_ = now;
        double const seconds = std::chrono::duration<double>(now - start_).count(), rate = static_cast<double>(done_) / seconds;
        std::fprintf(to_, "\r\033[K%5.1f %%  %.0f images/s  %.0f s left", 100.0 * static_cast<double>(done_) / static_cast<double>(total_ > 0 ? total_ : 1), rate,
                     static_cast<double>(total_ - done_) / rate);
        std::fflush(to_);
        visible_ = true;
    }

    /// Wipes the line, so that something else can be printed.
    void clear() {
        if (visible_) std::fputs("\r\033[K", to_), std::fflush(to_);
        visible_ = false;
    }

private:
    using Clock = std::chrono::steady_clock;

    std::FILE* to_;
    bool shown_, visible_ = false;
    index_t total_, done_ = 0;
    unsigned calls_ = 0;
    Clock::time_point start_, last_;

    static bool is_terminal([[maybe_unused]] std::FILE* file) {
#if defined(__unix__) || defined(__APPLE__)
        return isatty(fileno(file)) != 0;
#else
        return false;
#endif
    }
};

} // namespace tenon
