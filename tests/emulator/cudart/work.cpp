#include "work.hpp"
#include "counts.hpp"
#include "call.hpp"
#include "device.hpp"
#include "event.hpp"
#include "failures.hpp"
#include "execution/random.hpp"
#include "execution/registry.hpp"
#include "execution/report.hpp"
#include "execution/settings.hpp"
#include "occupancy.hpp"

#include <algorithm>
#include <cstring>

namespace emu {
namespace {

void run(EmptyWork const&) {}

void run(KernelWork const& work) {
    count(Counted::kernel);
    if (fails(Failing::kernel)) return set_sticky_error(cudaErrorIllegalAddress);
    std::vector<char> storage(work.arguments.size() + 128);
    auto* const base =
        reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(storage.data()) + 127) & ~std::uintptr_t{127});
    std::copy(work.arguments.begin(), work.arguments.end(), base);
    std::vector<char*> pointers;
    for (std::size_t offset : work.offsets) pointers.push_back(base + offset);
    LaunchRequest request;
    request.kernel = work.function->kernel;
    request.module = work.function->module;
    request.grid = work.grid;
    request.block = work.block;
    request.dynamic_shared = work.dynamic_shared;
    request.cooperative = work.cooperative;
    request.arguments = pointers.data();
    switch (run_grid(request)) {
    case Fault::none: break;
    case Fault::assertion: set_sticky_error(cudaErrorAssert); break;
    case Fault::illegal_address: set_sticky_error(cudaErrorIllegalAddress); break;
    case Fault::misaligned_address: set_sticky_error(cudaErrorMisalignedAddress); break;
    case Fault::trap:
    case Fault::other: set_sticky_error(cudaErrorLaunchFailure); break;
    }
}

/// Memory may have been freed between the call and its execution: the pages are there still, but hold NaN.
void run(CopyWork const& work) {
    count(Counted::copy);
    auto const* from = work.staged ? work.staged->data() : static_cast<char const*>(work.from);
    std::size_t const from_pitch = work.staged ? work.width : work.from_pitch;
    for (std::size_t row = 0; row < work.height; ++row)
        std::memmove(static_cast<char*>(work.to) + row * work.to_pitch, from + row * from_pitch, work.width);
}

void run(FillWork const& work) {
    count(Counted::fill);
    for (std::size_t row = 0; row < work.height; ++row) {
        char* const to = static_cast<char*>(work.to) + row * work.pitch;
        if (work.element_size == 1) {
            std::memset(to, static_cast<int>(work.value & 0xff), work.width);
            continue;
        }
        for (std::size_t i = 0; i < work.width; ++i)
            std::memcpy(to + i * work.element_size, &work.value, work.element_size);
    }
}

void run(HostWork const& work) { work.function(); }

void run(AllocateWork const& work) {
    if (Allocation const* const allocation = heap().find(work.memory)) poison(allocation->begin, allocation->size);
}

void run(FreeWork const& work) {
    Allocation* const allocation = heap().find(work.memory);
    if (!allocation || !allocation->live) return;
    if (work.in_graph) poison(allocation->begin, allocation->size);
    else heap().release(*allocation, "cudaFreeAsync");
}

void run(EventWork const& work) { work.event->mark(); }

/// In an order that the edges allow; EMU_ORDER chooses which.
void run(GraphWork const& work) {
    auto const& nodes = *work.nodes;
    std::vector<bool> done(nodes.size(), false);
    for (std::size_t left = nodes.size(); left > 0; --left) {
        std::vector<std::size_t> ready;
        for (std::size_t i = 0; i < nodes.size(); ++i)
            if (!done[i] &&
                std::all_of(nodes[i].after.begin(), nodes[i].after.end(), [&](std::size_t j) { return done[j]; }))
                ready.push_back(i);
        if (ready.empty()) return; // a cycle: refused at instantiation
        std::size_t const next = settings().order == ThreadOrder::descending ? ready.back()
                                 : settings().order == ThreadOrder::random   ? ready[random_number() % ready.size()]
                                                                             : ready.front();
        execute(nodes[next].work);
        done[next] = true;
    }
}

/// What a pointer of a copy points at: an allocation, a __device__ variable, or the host.
struct Place {
    bool on_device = false, on_host = false, fits = true;
    std::string text;
};

Place place_of(void const* address, std::size_t bytes) {
    Place place;
    Allocation const* const allocation = heap().find(address);
    if (allocation) {
        place.on_device = allocation->kind != MemoryKind::pinned && allocation->kind != MemoryKind::registered;
        place.on_host = allocation->kind != MemoryKind::device;
        place.fits = allocation->live && allocation->contains(address, bytes);
        place.text =
            !allocation->live
                ? std::string("memory that was freed by ") + allocation->freed_by
                : std::to_string(allocation->size -
                                 static_cast<std::size_t>(static_cast<char const*>(address) - allocation->begin)) +
                      " bytes";
    } else if (find_variable(address, 1)) {
        place.on_device = true;
        place.fits = find_variable(address, bytes) != nullptr;
        place.text = "a variable of the device that is smaller";
    } else if (heap().in_device_range(address)) {
        place.on_device = true;
        place.fits = false;
        place.text = "no allocation";
    } else {
        place.on_host = true;
    }
    return place;
}

std::size_t span(std::size_t pitch, std::size_t width, std::size_t height) {
    return height == 0 || width == 0 ? 0 : pitch * (height - 1) + width;
}

} // namespace

void execute(Work const& work) {
    if (sticky_error() != cudaSuccess) return;
    DeviceMemoryAccess access;
    std::visit([](auto const& w) { run(w); }, work);
}

cudaError_t check(CopyWork const& work, char const* function) {
    auto const complain = [&](cudaError_t error, std::string const& text) {
        warn(std::string(function) + ": " + text);
        return error;
    };
    if (work.width == 0 || work.height == 0) return cudaSuccess;
    if (work.to_pitch < work.width || work.from_pitch < work.width)
        return complain(cudaErrorInvalidPitchValue, "a row is wider than the pitch");
    std::size_t const to_bytes = span(work.to_pitch, work.width, work.height),
                      from_bytes = span(work.from_pitch, work.width, work.height);
    Place const to = place_of(work.to, to_bytes), from = place_of(work.from, from_bytes);
    bool const to_device = work.kind == cudaMemcpyHostToDevice || work.kind == cudaMemcpyDeviceToDevice;
    bool const from_device = work.kind == cudaMemcpyDeviceToHost || work.kind == cudaMemcpyDeviceToDevice;
    if (work.to == nullptr || work.from == nullptr) return complain(cudaErrorInvalidValue, "a null pointer");
    if (work.kind != cudaMemcpyDefault) {
        if (to_device ? !to.on_device : !to.on_host)
            return complain(cudaErrorInvalidValue, "the destination is not where the direction says");
        if (from_device ? !from.on_device : !from.on_host)
            return complain(cudaErrorInvalidValue, "the source is not where the direction says");
    }
    if (!to.fits) return complain(cudaErrorInvalidValue, std::to_string(to_bytes) + " bytes to " + to.text);
    if (!from.fits) return complain(cudaErrorInvalidValue, std::to_string(from_bytes) + " bytes from " + from.text);
    return cudaSuccess;
}

cudaError_t check(FillWork const& work, char const* function) {
    if (work.width == 0 || work.height == 0) return cudaSuccess;
    std::size_t const bytes = span(work.pitch, work.width * work.element_size, work.height);
    Place const to = place_of(work.to, bytes);
    if (to.fits && (to.on_device || heap().find(work.to))) return cudaSuccess;
    warn(std::string(function) + ": " +
         (to.fits ? "the destination is not memory of the device" : std::to_string(bytes) + " bytes to " + to.text));
    return cudaErrorInvalidValue;
}

cudaError_t check(KernelWork const& work) {
    Function const& f = *work.function;
    if (!f.kernel) {
        warn("kernel " + demangle(f.name.c_str()) + " was not translated: its object must be given to emulate.py");
        return cudaErrorInvalidDeviceFunction;
    }
    if (f.module->arch > device_limits().arch) return cudaErrorNoKernelImageForDevice;
    Dimensions const &g = work.grid, &b = work.block;
    if (g.count() == 0 || b.count() == 0 || b.x > 1024 || b.y > 1024 || b.z > 64 || b.count() > threads_per_block ||
        g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535) {
        return cudaErrorInvalidConfiguration;
    }
    if (b.count() > f.kernel->max_threads) return cudaErrorLaunchOutOfResources;
    if (static_cast<long>(work.dynamic_shared) > max_dynamic_shared(f)) return cudaErrorInvalidValue;
    if (work.cooperative) {
        int const resident = blocks_per_multiprocessor(f, static_cast<int>(b.count()), work.dynamic_shared);
        if (g.count() > static_cast<std::uint64_t>(resident) * static_cast<std::uint64_t>(settings().multiprocessors))
            return cudaErrorCooperativeLaunchTooLarge;
    }
    return cudaSuccess;
}

} // namespace emu
