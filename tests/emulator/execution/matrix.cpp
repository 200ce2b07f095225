// mma.sync, ldmatrix, stmatrix, movmatrix. Fragments as the PTX ISA draws them: group = lane / 4, member = lane % 4.
#include "device/half.hpp"
#include "report.hpp"
#include "sanitizer.hpp"
#include "warp.hpp"

namespace emu {
namespace {

constexpr std::uint32_t all_lanes = ~0u;

void need_all_lanes(std::uint32_t mask, ThreadState& t, char const* what, Site site) {
    if (mask != all_lanes) fail(t, Fault::other, std::string(what) + " needs all 32 lanes of the warp", site);
}

float element(Format format, std::uint32_t pattern, int half) {
    auto const bits16 = half ? pattern >> 16 : pattern & 0xffff;
    switch (format) {
    case Format::tf32: return bits<float>(pattern & 0xffffe000u); // the low 13 bits are ignored
    case Format::bf16: return bits<float>(bits16 << 16);
    case Format::f16: return Half::of_bits(bits16).value();
    }
    return 0;
}

struct Tile {
    float a[16][16], b[16][8], c[16][8];
};

/// 4-byte elements: column = member + 4 * register. 2-byte ones: two neighbouring columns to a register.
void gather(Tile& tile, MatrixProduct const& m, int lane) {
    int const group = lane >> 2, member = lane & 3;
    int const per_register = m.format == Format::tf32 ? 1 : 2, columns = 4 * per_register;
    int const steps = m.depth / columns; // registers along k
    for (int step = 0; step < steps; ++step)
        for (int half = 0; half < per_register; ++half) {
            int const k = step * columns + member * per_register + half;
            for (int rows = 0; rows < 2; ++rows)
                tile.a[group + 8 * rows][k] = element(m.format, m.a[2 * step + rows], half);
            tile.b[k][group] = element(m.format, m.b[step], half);
        }
    for (int i = 0; i < 4; ++i)
        tile.c[group + 8 * (i >> 1)][2 * member + (i & 1)] =
            m.half_accumulators ? Half::of_bits(m.c[i >> 1] >> 16 * (i & 1)).value() : bits<float>(m.c[i]);
}

void scatter(Tile const& tile, MatrixProduct const& m, int lane) {
    int const group = lane >> 2, member = lane & 3;
    for (int i = 0; i < 4; ++i) {
        float const value = tile.c[group + 8 * (i >> 1)][2 * member + (i & 1)];
        if (!m.half_accumulators) {
            m.d[i] = bits<std::uint32_t>(value);
        } else {
            std::uint32_t const pattern = Half{value}.pattern;
            m.d[i >> 1] = i & 1 ? m.d[i >> 1] | pattern << 16 : pattern;
        }
    }
}

void do_product(void* const* arguments, std::uint32_t mask, ThreadState& t, Site site) {
    need_all_lanes(mask, t, "mma.sync", site);
    auto const product = [&](int lane) -> MatrixProduct const& {
        return *static_cast<MatrixProduct const*>(arguments[lane]);
    };
    Tile tile;
    for (int lane = 0; lane < 32; ++lane) gather(tile, product(lane), lane);
    int const depth = product(0).depth;
    for (int i = 0; i < 16; ++i)
        for (int k = 0; k < depth; ++k)
            for (int j = 0; j < 8; ++j) tile.c[i][j] += tile.a[i][k] * tile.b[k][j];
    for (int lane = 0; lane < 32; ++lane) scatter(tile, product(lane), lane);
}

/// Lane 8 i + r gives the address of row r of the i-th 8x8 matrix; lane l holds elements 2 (l % 4) and the next of
/// row l / 4.
struct MatrixRows {
    int count;
    bool transposed;
    std::uint32_t* registers;
    std::uint16_t row[8];
};

std::uint16_t& register_half(void* const* arguments, int matrix, int row, int column) {
    auto& lane = *static_cast<MatrixRows*>(arguments[row * 4 + column / 2]);
    return reinterpret_cast<std::uint16_t*>(lane.registers + matrix)[column & 1];
}

template <bool Load>
void move_rows(void* const* arguments, std::uint32_t mask, ThreadState& t, Site site) {
    need_all_lanes(mask, t, Load ? "ldmatrix" : "stmatrix", site);
    auto const& first = *static_cast<MatrixRows*>(arguments[0]);
    for (int matrix = 0; matrix < first.count; ++matrix)
        for (int row = 0; row < 8; ++row)
            for (int column = 0; column < 8; ++column) {
                auto& in_memory = static_cast<MatrixRows*>(arguments[8 * matrix + row])->row[column];
                auto& in_register =
                    register_half(arguments, matrix, first.transposed ? column : row, first.transposed ? row : column);
                if constexpr (Load) in_register = in_memory;
                else in_memory = in_register;
            }
}

/// A row of 16 bytes, checked and shown to the sanitizers as an access of the lane that named it.
char* row_address(ThreadState& t, std::uint32_t offset, Access access, Site site) {
    if (std::uint64_t{offset} + 16 > t.shared_bytes) bad_shared_address(t, offset, 16, site);
    if (offset % 16) bad_alignment(t, offset, 16, site);
#if defined(EMU_CHECKED)
    check_shared(t, offset, 16, access, site);
#endif
    if (access == Access::read) sanitizer::reads(t.shared + offset, 16);
    else sanitizer::writes(t.shared + offset, 16);
    return t.shared + offset;
}

} // namespace

void multiply_matrices(Thread& t, MatrixProduct const& product, Site site) {
    warp_collective(state_of(t), all_lanes, &do_product, const_cast<MatrixProduct*>(&product), "mma.sync", site);
}

void load_matrices(Thread& thread, int count, bool transposed, std::uint32_t offset, std::uint32_t* registers,
                   Site site) {
    ThreadState& t = state_of(thread);
    MatrixRows rows{count, transposed, registers, {}};
    if (t.lane < static_cast<std::uint32_t>(8 * count))
        std::memcpy(rows.row, row_address(t, offset, Access::read, site), 16);
    warp_collective(t, all_lanes, &move_rows<true>, &rows, "ldmatrix", site);
}

void store_matrices(Thread& thread, int count, bool transposed, std::uint32_t offset, std::uint32_t const* registers,
                    Site site) {
    ThreadState& t = state_of(thread);
    MatrixRows rows{count, transposed, const_cast<std::uint32_t*>(registers), {}};
    warp_collective(t, all_lanes, &move_rows<false>, &rows, "stmatrix", site);
    if (t.lane < static_cast<std::uint32_t>(8 * count))
        std::memcpy(row_address(t, offset, Access::write, site), rows.row, 16);
}

namespace {

struct Fragment {
    std::uint32_t in, out;
};

void do_transpose(void* const* arguments, std::uint32_t mask, ThreadState& t, Site site) {
    need_all_lanes(mask, t, "movmatrix", site);
    auto const half = [&](int row, int column, bool of_result) -> std::uint16_t& {
        auto& lane = *static_cast<Fragment*>(arguments[row * 4 + column / 2]);
        return reinterpret_cast<std::uint16_t*>(of_result ? &lane.out : &lane.in)[column & 1];
    };
    for (int row = 0; row < 8; ++row)
        for (int column = 0; column < 8; ++column) half(row, column, true) = half(column, row, false);
}

} // namespace

std::uint32_t transpose_matrix(Thread& t, std::uint32_t registers, Site site) {
    Fragment fragment{registers, 0};
    warp_collective(state_of(t), all_lanes, &do_transpose, &fragment, "movmatrix", site);
    return fragment.out;
}

} // namespace emu
