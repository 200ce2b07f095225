// Instructions of a warp. Each lane hands in its argument; the last lane that the mask names carries the instruction
// out for all of them.
#include "warp.hpp"
#include "report.hpp"
#include "sanitizer.hpp"
#include "settings.hpp"

namespace emu {

namespace {

/// The operation that this lane joins, or a new one.
WarpOperation& find_operation(Warp& warp, std::uint32_t mask, WarpOperation::Action action, std::uint32_t bit,
                              Site site) {
    for (std::uint32_t i = 0; i < warp.operations_used; ++i) {
        WarpOperation& o = warp.operations[i];
        if (o.mask == mask && o.action == action && !(o.arrived & bit)) return o;
    }
    std::uint32_t place = 0;
    while (place < warp.operations_used && warp.operations[place].mask != 0) ++place;
    if (place == warp.operations_used) ++warp.operations_used;
    WarpOperation& o = warp.operations[place];
    o.mask = mask;
    o.arrived = 0;
    o.action = action;
    o.site = site;
    return o;
}

} // namespace

void warp_collective(ThreadState& t, std::uint32_t mask, WarpOperation::Action action, void* argument, char const* what,
                     Site site) {
    Block& block = *t.block;
    Warp& warp = block.warps[t.warp];
    std::uint32_t const bit = 1u << t.lane;
    if (!(mask & bit))
        fail(t, Fault::other, std::string(what) + ": the mask does not name the lane that executes it", site);
    mask &= warp.exists; // the block's last warp may be a partial one
    if (mask & ~warp.live) {
        if (!settings().allow_early_exit)
            fail(t, Fault::other, std::string(what) + ": the mask names a lane that has returned", site);
        mask &= warp.live;
    }
    // Lanes of other branches may wait for this lane with another mask, or for another instruction: it may come to
    // them later. If it never does, the scheduler reports the deadlock.
    WarpOperation& operation = find_operation(warp, mask, action, bit, site);
    operation.arrived |= bit;
    operation.arguments[t.lane] = argument;
    if (operation.arrived != mask) {
        wait(t, Status::at_warp, what, site);
        return;
    }
    void* arguments[32];
    for (std::uint32_t lane = 0; lane < 32; ++lane)
        arguments[lane] = mask >> lane & 1 ? operation.arguments[lane] : nullptr;
    operation.mask = 0;
    while (warp.operations_used > 0 && warp.operations[warp.operations_used - 1].mask == 0) --warp.operations_used;
    action(arguments, mask, t, site);
    for (std::uint32_t lane = 0; lane < 32; ++lane)
        if ((mask >> lane & 1) && lane != t.lane) block.threads[t.warp * 32 + lane].status = Status::ready;
}

namespace {

struct ShuffleArgument {
    Shuffle mode;
    std::uint32_t value, lane, clamp;
    Shuffled result;
};

/// PTX ISA, shfl.sync: bits 0-4 of `clamp` bound the lane, bits 8-12 mask it into segments.
void do_shuffle(void* const* arguments, std::uint32_t, ThreadState& t, Site site) {
    for (int lane = 0; lane < 32; ++lane) {
        if (!arguments[lane]) continue;
        auto& a = *static_cast<ShuffleArgument*>(arguments[lane]);
        int const by = static_cast<int>(a.lane & 31), bound = static_cast<int>(a.clamp & 31),
                  segment = static_cast<int>(a.clamp >> 8 & 31);
        int const highest = (lane & segment) | (bound & ~segment), lowest = lane & segment;
        int source = lane;
        switch (a.mode) {
        case Shuffle::up:
            source = lane - by;
            a.result.in_range = source >= highest;
            break;
        case Shuffle::down:
            source = lane + by;
            a.result.in_range = source <= highest;
            break;
        case Shuffle::bfly:
            source = lane ^ by;
            a.result.in_range = source <= highest;
            break;
        case Shuffle::idx:
            source = lowest | (by & ~segment);
            a.result.in_range = source <= highest;
            break;
        }
        if (!a.result.in_range) source = lane;
        if (!arguments[source]) {
            fail(t, Fault::other,
                 "shuffle: lane " + std::to_string(lane) + " reads lane " + std::to_string(source) +
                     ", which the mask does not name",
                 site);
        }
        a.result.value = static_cast<ShuffleArgument*>(arguments[source])->value;
    }
}

struct LaneValue {
    std::uint64_t in = 0, out = 0;
    Reduction reduction = Reduction::add_;
    bool is_signed = false;
};

LaneValue& value_of(void* argument) { return *static_cast<LaneValue*>(argument); }

template <class Function>
void for_each_lane(void* const* arguments, Function function) {
    for (std::uint32_t lane = 0; lane < 32; ++lane)
        if (arguments[lane]) function(lane, value_of(arguments[lane]));
}

void do_ballot(void* const* arguments, std::uint32_t, ThreadState&, Site) {
    std::uint32_t votes = 0;
    for_each_lane(arguments, [&](std::uint32_t lane, LaneValue& v) { votes |= v.in ? 1u << lane : 0; });
    for_each_lane(arguments, [&](std::uint32_t, LaneValue& v) { v.out = votes; });
}

void do_match_any(void* const* arguments, std::uint32_t, ThreadState&, Site) {
    for_each_lane(arguments, [&](std::uint32_t, LaneValue& v) {
        std::uint32_t equal = 0;
        for_each_lane(arguments, [&](std::uint32_t other, LaneValue& w) { equal |= v.in == w.in ? 1u << other : 0; });
        v.out = equal;
    });
}

void do_match_all(void* const* arguments, std::uint32_t mask, ThreadState& t, Site) {
    bool all = true;
    std::uint64_t const mine = value_of(arguments[t.lane]).in;
    for_each_lane(arguments, [&](std::uint32_t, LaneValue& v) { all &= v.in == mine; });
    for_each_lane(arguments, [&](std::uint32_t, LaneValue& v) { v.out = all ? mask : 0; });
}

std::uint32_t combine(LaneValue const& how, std::uint32_t a, std::uint32_t b) {
    auto const less = [&](std::uint32_t x, std::uint32_t y) {
        return how.is_signed ? static_cast<std::int32_t>(x) < static_cast<std::int32_t>(y) : x < y;
    };
    switch (how.reduction) {
    case Reduction::add_: return a + b;
    case Reduction::min_: return less(b, a) ? b : a;
    case Reduction::max_: return less(a, b) ? b : a;
    case Reduction::and_: return a & b;
    case Reduction::or_: return a | b;
    case Reduction::xor_: return a ^ b;
    }
    return 0;
}

void do_reduce(void* const* arguments, std::uint32_t, ThreadState& t, Site) {
    LaneValue const& how = value_of(arguments[t.lane]);
    std::uint32_t total = 0;
    bool first = true;
    for_each_lane(arguments, [&](std::uint32_t, LaneValue& v) {
        auto const in = static_cast<std::uint32_t>(v.in);
        total = first ? in : combine(how, total, in);
        first = false;
    });
    for_each_lane(arguments, [&](std::uint32_t, LaneValue& v) { v.out = total; });
}

/// The order that __syncwarp makes between its lanes, for the checked build's shadow.
void do_sync(void* const*, std::uint32_t mask, ThreadState& t, Site) {
    std::uint64_t const now = tick();
    for (std::uint32_t lane = 0; lane < 32; ++lane)
        if (mask >> lane & 1) t.block->threads[t.warp * 32 + lane].warp_sync = now;
}

std::uint64_t collect(Thread& t, std::uint32_t mask, WarpOperation::Action action, std::uint64_t in, char const* what,
                      Site site) {
    LaneValue value{in};
    warp_collective(state_of(t), mask, action, &value, what, site);
    return value.out;
}

} // namespace

void sync_warp(Thread& t, std::uint32_t mask, Site site) {
    char* const order = state_of(t).block->warps[t.warp].order;
    sanitizer::release(order);
    warp_collective(state_of(t), mask, &do_sync, nullptr, "__syncwarp", site);
    sanitizer::acquire(order);
}

Shuffled shuffle(Thread& t, Shuffle mode, std::uint32_t value, std::uint32_t lane, std::uint32_t clamp,
                 std::uint32_t mask, Site site) {
    ShuffleArgument argument{mode, value, lane, clamp, {}};
    warp_collective(state_of(t), mask, &do_shuffle, &argument, "shuffle", site);
    return argument.result;
}

std::uint32_t ballot(Thread& t, std::uint32_t mask, bool predicate, Site site) {
    return static_cast<std::uint32_t>(collect(t, mask, &do_ballot, predicate, "vote", site));
}

bool vote_any(Thread& t, std::uint32_t mask, bool predicate, Site site) {
    return ballot(t, mask, predicate, site) != 0;
}

bool vote_all(Thread& t, std::uint32_t mask, bool predicate, Site site) {
    return ballot(t, mask, !predicate, site) == 0;
}

bool vote_uni(Thread& t, std::uint32_t mask, bool predicate, Site site) {
    std::uint32_t const votes = ballot(t, mask, predicate, site);
    return votes == 0 || votes == (mask & state_of(t).block->warps[t.warp].live);
}

std::uint32_t match_any(Thread& t, std::uint32_t mask, std::uint64_t value, Site site) {
    return static_cast<std::uint32_t>(collect(t, mask, &do_match_any, value, "match.any", site));
}

std::uint32_t match_all(Thread& t, std::uint32_t mask, std::uint64_t value, Site site) {
    return static_cast<std::uint32_t>(collect(t, mask, &do_match_all, value, "match.all", site));
}

std::uint32_t reduce(Thread& t, Reduction reduction, bool is_signed, std::uint32_t mask, std::uint32_t value,
                     Site site) {
    LaneValue argument{value, 0, reduction, is_signed};
    warp_collective(state_of(t), mask, &do_reduce, &argument, "redux", site);
    return static_cast<std::uint32_t>(argument.out);
}

std::uint32_t elect(Thread& t, std::uint32_t mask, Site site) {
    collect(t, mask, &do_ballot, 1, "elect", site);
    return static_cast<std::uint32_t>(__builtin_ctz(mask & state_of(t).block->warps[t.warp].exists));
}

} // namespace emu
