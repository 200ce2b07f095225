/// @file
/// From global to shared memory: which thread copies which elements of an operand's tile, and how.
#pragma once

#include <tenon/cuda/mma.hpp>
#include <tenon/cuda/tile/operand.hpp>

namespace tenon::cuda::tile {

/// Each thread copies x_slots x k_slots pieces of `vector` elements: the pieces at x(i), k(j). Neighbouring threads take
/// neighbours in memory; a thread's x do not change from one tile to the next.
/// @tparam Transpose neighbours in global memory (along the sum) do not stay neighbours in shared memory (across)
template <Order O, int Extent, int Depth, int Threads, int Vector, bool Transpose>
struct Assignment {
    static constexpr int vector = Vector;
    // In pieces: the direction in which neighbouring threads go, and the other.
    static constexpr int fast = (O == Order::across ? Extent : Depth) / Vector, slow = O == Order::across ? Depth : Extent;
    static constexpr int lanes = fast < Threads ? fast : Threads; ///< threads side by side
    static constexpr int lines = Threads / lanes;                 ///< rows of such threads
    static constexpr int fast_slots = static_cast<int>(divide_up(fast, lanes)), slow_slots = static_cast<int>(divide_up(slow, lines));
    static constexpr bool even = fast % lanes == 0 && slow % lines == 0 && lanes * lines == Threads;
    static constexpr int x_slots = O == Order::across ? fast_slots : slow_slots, k_slots = O == Order::across ? slow_slots : fast_slots;

    __device__ static int fast_at(int thread, int slot) { return thread % lanes + slot * lanes; }
    __device__ static int slow_at(int thread, int slot) { return thread / lanes + slot * lines; }
    __device__ static int x(int thread, int i) { return O == Order::across ? fast_at(thread, i) * Vector : slow_at(thread, i); }
    __device__ static int k(int thread, int j) { return O == Order::across ? slow_at(thread, j) : fast_at(thread, j) * Vector; }
};

/// 8 steps of the depth by 4 rows to a warp: 32-byte pieces of global memory, and two lanes to a bank of shared memory.
template <int Extent, int Depth, int Threads>
struct Assignment<Order::across, Extent, Depth, Threads, 1, true> {
    static constexpr int vector = 1;
    static constexpr int warps = Threads / 32, octets = Depth / 8;
    static constexpr int lanes = octets < warps ? octets : warps; ///< warps side by side along the depth
    static constexpr int lines = warps / lanes;
    static constexpr int x_slots = static_cast<int>(divide_up(Extent, 4 * lines)), k_slots = static_cast<int>(divide_up(octets, lanes));
    static constexpr bool even = Extent % (4 * lines) == 0 && octets % lanes == 0 && lanes * lines == warps;
    static_assert(Depth % 8 == 0);

    __device__ static int x(int thread, int i) { return thread / 8 % 4 + 4 * (thread / 32 / lanes + i * lines); }
    __device__ static int k(int thread, int j) { return thread % 8 + 8 * (thread / 32 % lanes + j * lanes); }
};

/// Tabulated K parts in shared memory.
using TableEntry = int2;

/// The copies of one operand.
/// @tparam Step what the first row (column) of every tile is a multiple of
template <class Operand, class Panel, int Threads, int Step>
class Copy {
    using Element = typename Operand::Element;
    using Args = typename Element::Args;
    static constexpr bool transpose = Panel::order == Order::across && Operand::along;
    /// Vectors go where memory is contiguous in the tile's own order.
    static constexpr bool contiguous = Panel::order == Order::across ? Operand::across : Operand::along;
    static constexpr int vector = contiguous ? common_power(Panel::order == Order::across ? common_divisor(Panel::extent, Step) : Panel::depth, Operand::vector) : 1;
    static_assert(!Operand::expands || (Panel::order == Order::along && vector == Operand::vector), "tenon: windows of the depth are copied whole");
    static_assert(Panel::stride % vector == 0);
    using Map = Assignment<Panel::order, Panel::extent, Panel::depth, Threads, vector, transpose>;

public:
    /// Without passing through registers?
    static constexpr bool direct = Element::direct && !Operand::expands && architecture >= 80;
    static constexpr int table = Operand::table;
    static constexpr int table_floats = table * static_cast<int>(sizeof(TableEntry) / sizeof(float));

    /// @param first the block's first row or column of `limit`
    __device__ Copy(Args const& args, index_t first, index_t limit, int group) : args_{args} {
#pragma unroll
        for (int i = 0; i < Map::x_slots; ++i) {
            int const local = Map::x(thread(), i);
            x_[i] = Operand::x_part(first, local, group);
            x_inside_[i] = first + local < limit && (Map::even || local < Panel::extent);
        }
    }

    /// Writes the table; a barrier must follow.
    __device__ static void tabulate(TableEntry* entries) {
        if constexpr (table > 0) {
            for (int k = thread(); k < table; k += Threads) {
                auto const place = Operand::k_part(0, k);
                entries[k] = {place.offset, place.row << 16 | place.column};
            }
        }
    }

    /// Starts copying steps [step, step + depth) of a depth that begins at `first` and has `limit` steps. What passes through
    /// registers waits there for finish().
    __device__ void start(index_t first, int step, int limit, float* panel, [[maybe_unused]] TableEntry const* entries) {
#pragma unroll
        for (int j = 0; j < Map::k_slots; ++j) {
            int const local = Map::k(thread(), j);
            bool const k_inside = step + local < limit && (Map::even || local < Panel::depth);
            typename Operand::K k{};
            if constexpr (table > 0) {
                if (k_inside) {
                    TableEntry const entry = entries[static_cast<int>(first) + step + local];
                    k = {entry.x, entry.y >> 16, entry.y & 0xffff};
                }
            } else {
                k = Operand::k_part(first, step + local);
            }
#pragma unroll
            for (int i = 0; i < Map::x_slots; ++i) {
                Location at = Operand::locate(x_[i], k);
                at.inside = at.inside && x_inside_[i] && k_inside;
                if constexpr (direct) {
                    if (in_panel(i, j)) copy_async<4 * vector>(panel + place(i, j), args_ + (at.inside ? at.offset : 0), at.inside);
                } else {
                    fetch(i, j, at);
                }
            }
        }
    }

    /// Writes what start() left in registers.
    __device__ void finish([[maybe_unused]] float* panel) {
        if constexpr (!direct) {
#pragma unroll
            for (int j = 0; j < Map::k_slots; ++j)
#pragma unroll
                for (int i = 0; i < Map::x_slots; ++i)
                    if (in_panel(i, j)) {
#pragma unroll
                        for (int v = 0; v < vector; ++v) panel[place(i, j) + v] = value(i, j, v);
                    }
        }
    }

private:
    static constexpr int raws = Operand::expands ? 1 : vector; ///< loads of a piece
    static constexpr int kept = direct ? 1 : Map::x_slots * Map::k_slots;
    static constexpr bool notes = requires { Element::note(index_t{}); };
    static_assert(!notes || raws == 1, "tenon: what is noted of an offset holds for one element");

    Args args_;
    typename Operand::X x_[Map::x_slots];
    bool x_inside_[Map::x_slots];
    typename Element::Raw raw_[kept][raws];
    int tap_[kept]; ///< with what is noted of the offset; -1: outside

    __device__ static int thread() { return static_cast<int>(threadIdx.x); }
    __device__ static int place(int i, int j) { return Panel::at(Map::x(thread(), i), Map::k(thread(), j)); }
    __device__ static bool in_panel(int i, int j) {
        return Map::even || (Map::x(thread(), i) < Panel::extent && Map::k(thread(), j) < Panel::depth);
    }
    __device__ void fetch(int i, int j, Location const& at) {
        int const slot = i * Map::k_slots + j;
        tap_[slot] = at.inside ? at.tap : -1;
        if constexpr (notes)
            if (at.inside) tap_[slot] += Element::note(at.offset);
        if (at.inside) {
#pragma unroll
            for (int r = 0; r < raws; ++r) raw_[slot][r] = Element::fetch(args_, at.offset + r);
        }
    }
    __device__ float value(int i, int j, int v) const {
        int const slot = i * Map::k_slots + j;
        if (tap_[slot] < 0) return 0.0f;
        return Operand::expands ? Element::value(args_, raw_[slot][0], tap_[slot] + v) : Element::value(args_, raw_[slot][v % raws], tap_[slot]);
    }
};

} // namespace tenon::cuda::tile
