/// @file
/// What a piece of a program asks of the device, as the emulator counts it; on a GPU nothing is counted.
#pragma once

/// The emulator's; see tests/emulator/README.md.
extern "C" __attribute__((weak)) long long emu_count(char const* what);

namespace tenon::test {

/// How often something has happened since this was made.
class Counts {
public:
    [[nodiscard]] static bool available() { return emu_count != nullptr; }

    [[nodiscard]] long long kernels() const { return now("kernel") - kernels_; }
    [[nodiscard]] long long graph_launches() const { return now("graph_launch") - launches_; }
    [[nodiscard]] long long graphs_made() const { return now("graph_made") - made_; }
    [[nodiscard]] long long copies() const { return now("copy") - copies_; }
    [[nodiscard]] long long allocations() const { return now("allocation") - allocations_; }
    /// The host waiting for all work of a stream or of the device.
    [[nodiscard]] long long waits() const { return now("stream_wait") + now("device_wait") - waits_; }

private:
    static long long now(char const* what) { return available() ? emu_count(what) : 0; }

    long long kernels_ = now("kernel"), launches_ = now("graph_launch"), made_ = now("graph_made"),
              copies_ = now("copy"), allocations_ = now("allocation"), waits_ = now("stream_wait") + now("device_wait");
};

} // namespace tenon::test
