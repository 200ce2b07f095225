/// @file
/// What a statement runs as: stages one after the other, each of them loops, programs and operands. All constexpr
/// values.
#pragma once

#include <tenon/expr/sketch.hpp>

namespace tenon::expr {

inline constexpr int max_stages = 8;
inline constexpr int max_programs = 8;
inline constexpr int max_members = 8;
inline constexpr int max_codes = 640;

/// Where a stage's operand is.
enum class Source : std::uint8_t {
    leaf,      ///< elements, an index or a random source of the statement: leaf `number`
    temporary, ///< temporary `number`
    result,    ///< what a row's reduction gave
    buffer,    ///< a reduction's argument along the row
    tile,      ///< a tile of the matrix product
};

struct StageOperand {
    Source source = Source::leaf;
    Route::Role role = Route::Role::memory;
    DType type = DType::float32;
    int number = 0;
    index_t offset = 0;
    index_t stride[max_axes]{}; ///< along the stage's loops

    constexpr bool operator==(StageOperand const&) const = default;
};

/// A reduction of a rows stage: its argument goes to operand `buffer`, its result to operand `result`.
struct Member {
    ReduceOp op = ReduceOp::sum;
    int phase = 0;
    int buffer = 0;
    int result = 0;
};

struct Stage {
    enum class Kind : std::uint8_t { loop, rows, product };

    Kind kind = Kind::loop;
    int loops = 0;
    index_t extent[max_axes]{};
    int axis[max_axes]{};      ///< of the sketch
    int outer = 0;             ///< rows: the first loops, one row per trip; the others run along the row
    bool across = false; ///< rows: vector lanes hold neighbouring rows (the last outer loop), not neighbours in the row
    bool along_result = false; ///< rows: the last program runs along the row
    int operands = 0;
    StageOperand operand[max_routes + max_members]{};
    int programs = 0;
    int begin[max_programs]{}, size[max_programs]{}; ///< in Plan::code; rows: one per phase, then the last one
    int members = 0;
    Member member[max_members]{};
    int left = 0, right = 0, tile = 0; ///< product: operands
    index_t inner = 0;                 ///< product: elements summed
    index_t left_stride = 0, right_stride = 0; ///< product: of the operands along the inner loop
};

struct Plan {
    int stages = 0;
    Stage stage[max_stages]{};
    int codes = 0;
    std::uint64_t code[max_codes]{};
    int temporaries = 0;
    index_t temporary[max_stages]{}; ///< elements
    bool too_large = false;
};

} // namespace tenon::expr
