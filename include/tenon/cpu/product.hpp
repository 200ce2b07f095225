/// @file
/// The matrix product on the CPU, tile by tile, each followed by the program that makes a result of it. The sum over
/// the inner loop runs in order, so a result's bits depend on nothing but that loop's length.
#pragma once

#include <tenon/cpu/rows.hpp>

namespace tenon::cpu {

/// A (Rows, Inner) with strides (LeftRow, LeftInner) times B (Inner, Columns) with strides (RightInner, RightColumn);
/// operand number Tile of the program is the product.
template <class Compute, index_t RowCount, index_t ColumnCount, index_t Inner, int Left, int Right, int Tile,
          index_t LeftInner, index_t RightInner, class Program, class... A>
class ProductLoop {
    template <int O>
    using access = std::tuple_element_t<static_cast<std::size_t>(O), std::tuple<A...>>;
    template <int O>
    using traits = loop::AccessTraits<access<O>>;
    using LeftElement = typename traits<Left>::element;
    using RightElement = typename traits<Right>::element;
    using Operands = rows::Operands<A...>;

    static constexpr index_t left_row = traits<Left>::stride[0];
    static constexpr index_t right_column = traits<Right>::stride[1];

    static constexpr int width = native_lanes<Compute>;
    /// Registers: `register_rows` x `register_vectors` sums, a row of B, an element of A.
    static constexpr int register_rows = 6;
    static constexpr int register_vectors = vector_registers >= 32 ? 4 : 2;
    static constexpr index_t tile_rows = 240; ///< times an inner panel of A: 120 KB of floats, for the second-level cache
    static constexpr index_t tile_columns = 64;
    static constexpr index_t panel = 128; ///< elements of the inner loop at once: a panel of B is 32 KB of floats

    /// Columns of a tile, as whole vectors of at least 16 bytes.
    template <index_t Columns>
    static constexpr int padded = Columns >= width
                                      ? static_cast<int>((Columns + width - 1) / width * width)
                                      : (std::max)(static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(Columns))),
                                                   16 / static_cast<int>(sizeof(Compute)));

    template <int N>
    using Numbers = std::make_integer_sequence<int, N>;
    template <class V, int... I>
    struct Registers : loop::Slot<I, V>... {};

    /// Adds to a tile: R... rows of A times C... vectors of W columns of a panel of B, with sums I in registers.
    template <int W, int Stride, int... R, int... C, int... I>
    TENON_ALWAYS_INLINE static void multiply_block(LeftElement const* left, Compute const* right, Compute* tile,
                                                   index_t inner, std::integer_sequence<int, R...>,
                                                   std::integer_sequence<int, C...> columns,
                                                   std::integer_sequence<int, I...>) {
        using V = Vec<Compute, W>;
        constexpr int vectors = static_cast<int>(sizeof...(C));
        Registers<V, I...> sum{loop::Slot<I, V>{load<W>(tile + (I / vectors) * Stride + (I % vectors) * W)}...};
        for (index_t k = 0; k < inner; ++k) {
            Registers<V, C...> const b{loop::Slot<C, V>{load<W>(right + k * Stride + C * W)}...};
            (multiply_row<R, V>(static_cast<Compute>(left[R * left_row + k * LeftInner]), b, sum, columns), ...);
        }
        (store<W>(tile + (I / vectors) * Stride + (I % vectors) * W, loop::slot<I, V>(sum)), ...);
    }
    template <int R, class V, class B, class S, int... C>
    TENON_ALWAYS_INLINE static void multiply_row(Compute a, B const& b, S& sum, std::integer_sequence<int, C...>) {
        constexpr int vectors = static_cast<int>(sizeof...(C));
        ((loop::slot<R * vectors + C, V>(sum) += a * static_cast<loop::Slot<C, V> const&>(b).value), ...);
    }

    /// All columns of a tile, for `Count` rows.
    template <int Count, int Stride>
    TENON_ALWAYS_INLINE static void multiply_rows(LeftElement const* left, Compute const* right, Compute* tile,
                                                  index_t inner) {
        constexpr int w = (std::min)(Stride, width);
        constexpr int vectors = Stride / w;
        constexpr int whole = vectors / register_vectors, rest = vectors % register_vectors;
        for (int c = 0; c < whole; ++c)
            multiply_block<w, Stride>(left, right + c * register_vectors * w, tile + c * register_vectors * w, inner,
                                      Numbers<Count>{}, Numbers<register_vectors>{},
                                      Numbers<Count * register_vectors>{});
        if constexpr (rest > 0)
            multiply_block<w, Stride>(left, right + whole * register_vectors * w, tile + whole * register_vectors * w,
                                      inner, Numbers<Count>{}, Numbers<rest>{}, Numbers<Count * rest>{});
    }

    /// A panel of B, row after row, zero beyond the last column.
    template <index_t Columns, int Stride>
    static void pack(RightElement const* right, Compute* packed, index_t inner) {
        for (index_t k = 0; k < inner; ++k)
            for (index_t c = 0; c < Stride; ++c)
                packed[k * Stride + c] =
                    c < Columns ? static_cast<Compute>(right[k * RightInner + c * right_column]) : Compute{0};
    }

    template <index_t Rows_, index_t Columns>
    static void run_tile(Operands operands) {
        constexpr int stride = padded<Columns>;
        alignas(64) Compute tile[static_cast<std::size_t>(Rows_ * stride)] = {};
        alignas(64) Compute packed[static_cast<std::size_t>(panel * stride)];
        LeftElement const* const left = static_cast<LeftElement const*>(operands.at[Left].data);
        RightElement const* const right = static_cast<RightElement const*>(operands.at[Right].data);
        for (index_t k = 0; k < Inner; k += panel) {
            index_t const inner = (std::min)(panel, Inner - k);
            pack<Columns, stride>(right + k * RightInner, packed, inner);
            LeftElement const* const from = left + k * LeftInner;
            index_t r = 0;
            for (; r + register_rows <= Rows_; r += register_rows)
                multiply_rows<register_rows, stride>(from + r * left_row, packed, tile + r * stride, inner);
            if constexpr (Rows_ % register_rows > 0)
                multiply_rows<static_cast<int>(Rows_ % register_rows), stride>(from + r * left_row, packed,
                                                                               tile + r * stride, inner);
        }
        operands.at[Tile].data = tile;
        finish<Rows_, Columns, stride>(operands, std::make_integer_sequence<int, static_cast<int>(sizeof...(A))>{});
    }
    template <index_t Rows_, index_t Columns, int Stride, int... O>
    TENON_ALWAYS_INLINE static void finish(Operands const& operands, std::integer_sequence<int, O...>) {
        run_loop_inline<Compute, Program, Extents<Rows_, Columns>,
                        std::conditional_t<O == Tile, ScratchAccess<Compute, Stride, 1>, A>...>(operands.at);
    }

    template <index_t Rows_>
    static void run_columns(Operands operands) {
        for (index_t c = 0; c < ColumnCount / tile_columns; ++c) {
            run_tile<Rows_, tile_columns>(operands);
            operands.advance(1, tile_columns);
        }
        if constexpr (ColumnCount % tile_columns > 0) run_tile<Rows_, ColumnCount % tile_columns>(operands);
    }

public:
    static void run(Operand const* operands) {
        Operands local;
        for (std::size_t o = 0; o < sizeof...(A); ++o) local.at[o] = operands[o];
        for (index_t r = 0; r < RowCount / tile_rows; ++r) {
            run_columns<tile_rows>(local);
            local.advance(0, tile_rows);
        }
        if constexpr (RowCount % tile_rows > 0) run_columns<RowCount % tile_rows>(local);
    }
};

} // namespace tenon::cpu
