/// @file
/// The strokes of the ten digits, in the ways in which people write them: what digits.hpp draws from.
#pragma once

#include <cstdint>

namespace tenon::data {

/// A point of a glyph: x to the right in about [-20, 20], y downwards in about [-35, 35], the origin in the middle.
struct GlyphPoint {
    std::int8_t x = 0, y = 0;
};

/// A polyline, or a curve that its points pull at.
struct GlyphStroke {
    static constexpr int max_points = 13;

    bool curved = false;
    int points = 0;
    GlyphPoint point[max_points]{};
};

/// One way to write a digit.
struct Glyph {
    static constexpr int max_strokes = 3;

    int strokes = 0;
    GlyphStroke stroke[max_strokes]{};
};

// clang-format off
inline constexpr Glyph glyphs_0[] = {
    {1, {{true, 9, {{0, -32}, {-16, -28}, {-20, 0}, {-16, 28}, {0, 33}, {16, 28}, {20, 0}, {16, -28}, {0, -32}}}}},
    {1, {{true, 9, {{8, -30}, {-8, -33}, {-20, -6}, {-18, 26}, {0, 34}, {18, 24}, {20, -6}, {12, -30}, {-4, -30}}}}},
};
inline constexpr Glyph glyphs_1[] = {
    {1, {{false, 2, {{0, -32}, {0, 32}}}}},
    {1, {{false, 3, {{-12, -18}, {2, -32}, {2, 32}}}}},
    {2, {{false, 3, {{-10, -20}, {2, -32}, {2, 32}}}, {false, 2, {{-12, 32}, {14, 32}}}}},
};
inline constexpr Glyph glyphs_2[] = {
    {2, {{true, 7, {{-18, -16}, {-14, -32}, {2, -36}, {20, -28}, {16, -8}, {-2, 10}, {-18, 31}}},
         {false, 2, {{-18, 31}, {20, 31}}}}},
    {1, {{true, 11, {{-16, -20}, {-8, -35}, {12, -34}, {18, -14}, {4, 10}, {-12, 30}, {-22, 32}, {-14, 20},
                   {-2, 24}, {8, 34}, {20, 28}}}}},
};
inline constexpr Glyph glyphs_3[] = {
    {2, {{true, 5, {{-16, -28}, {0, -37}, {20, -28}, {18, -6}, {-4, -3}}},
         {true, 5, {{-4, -3}, {20, -3}, {23, 27}, {2, 37}, {-18, 27}}}}},
    {2, {{false, 3, {{-16, -31}, {16, -31}, {-2, -6}}}, {true, 5, {{-2, -6}, {20, -6}, {22, 26}, {2, 37}, {-18, 27}}}}},
};
inline constexpr Glyph glyphs_4[] = {
    {2, {{false, 3, {{2, -32}, {-20, 10}, {20, 10}}}, {false, 2, {{8, -8}, {8, 32}}}}},
    {2, {{false, 3, {{-14, -30}, {-18, 4}, {18, 4}}}, {false, 2, {{12, -32}, {10, 32}}}}},
    {2, {{false, 3, {{10, -32}, {-20, 12}, {20, 12}}}, {false, 2, {{10, -32}, {10, 32}}}}},
};
inline constexpr Glyph glyphs_5[] = {
    {2, {{false, 3, {{16, -32}, {-12, -32}, {-15, -4}}},
         {true, 6, {{-15, -4}, {0, -14}, {22, -6}, {22, 24}, {2, 37}, {-18, 27}}}}},
    {1, {{true, 9, {{16, -30}, {-4, -35}, {-18, -26}, {-15, -4}, {6, -8}, {20, 4}, {19, 27}, {0, 36}, {-18, 28}}}}},
};
inline constexpr Glyph glyphs_6[] = {
    {1, {{true, 10, {{12, -32}, {-8, -26}, {-20, 0}, {-20, 26}, {0, 37}, {20, 28}, {20, 4}, {2, -6}, {-14, 4},
                   {-18, 18}}}}},
    {1, {{true, 9, {{2, -33}, {-14, -14}, {-18, 18}, {-8, 35}, {12, 34}, {18, 14}, {8, 0}, {-10, 6}, {-17, 20}}}}},
};
inline constexpr Glyph glyphs_7[] = {
    {1, {{false, 3, {{-18, -31}, {18, -31}, {-4, 32}}}}},
    {2, {{false, 3, {{-18, -31}, {18, -31}, {-4, 32}}}, {false, 2, {{-10, 2}, {16, 0}}}}},
    {2, {{false, 3, {{-19, -24}, {-17, -31}, {18, -30}}}, {true, 4, {{18, -30}, {4, -6}, {-3, 12}, {-4, 32}}}}},
};
inline constexpr Glyph glyphs_8[] = {
    {1, {{true, 13, {{0, -3}, {-19, -12}, {-18, -34}, {0, -36}, {18, -34}, {19, -12}, {0, -2}, {-22, 10}, {-21, 34},
                   {0, 37}, {21, 34}, {22, 10}, {0, -3}}}}},
    {2, {{true, 9, {{0, -3}, {-12, -5}, {-16, -18}, {-12, -31}, {0, -34}, {12, -31}, {16, -18}, {12, -5}, {0, -3}}},
         {true, 9, {{0, -3}, {-15, 0}, {-20, 15}, {-15, 30}, {0, 34}, {15, 30}, {20, 15}, {15, 0}, {0, -3}}}}},
};
inline constexpr Glyph glyphs_9[] = {
    {2, {{true, 8, {{16, -20}, {10, -35}, {-10, -36}, {-21, -20}, {-14, 0}, {4, 2}, {15, -8}, {17, -22}}},
         {false, 2, {{17, -22}, {14, 32}}}}},
    {2, {{true, 8, {{16, -20}, {10, -35}, {-10, -36}, {-21, -20}, {-14, 0}, {4, 2}, {15, -8}, {17, -22}}},
         {true, 4, {{17, -22}, {20, 14}, {6, 36}, {-14, 30}}}}},
};
// clang-format on

/// The ways to write one digit.
struct GlyphVariants {
    Glyph const* glyph;
    int count;
};

[[nodiscard]] constexpr GlyphVariants glyph_variants(int digit) {
    switch (digit) {
    case 0: return {glyphs_0, 2};
    case 1: return {glyphs_1, 3};
    case 2: return {glyphs_2, 2};
    case 3: return {glyphs_3, 2};
    case 4: return {glyphs_4, 3};
    case 5: return {glyphs_5, 2};
    case 6: return {glyphs_6, 2};
    case 7: return {glyphs_7, 3};
    case 8: return {glyphs_8, 2};
    default: return {glyphs_9, 2};
    }
}

} // namespace tenon::data
