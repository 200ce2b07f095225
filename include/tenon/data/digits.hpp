/// @file
/// Digits drawn by the program: what examples fall back to where no data set is installed. Nobody wrote them by hand:
/// they are strokes (glyphs.hpp) under random affine changes, with random width, ink and noise, and a program that uses
/// them says so.
///
/// Drawn with integers alone, so that a sample has the same bytes on every machine, with every compiler and flag.
#pragma once

#include <tenon/data/dataset.hpp>
#include <tenon/data/glyphs.hpp>
#include <tenon/data/mnist.hpp>

#include <algorithm>

namespace tenon::data {

/// The random numbers of one sample, one after the other.
class DigitDraws {
public:
    static constexpr std::uint64_t blocks_per_sample = 128;

    DigitDraws(std::uint64_t seed, index_t sample)
        : source_{seed, random_stream(RandomPurpose::user, 0xd161), 0},
          block_(static_cast<std::uint64_t>(sample) * blocks_per_sample) {}

    [[nodiscard]] std::uint32_t bits() {
        if (used_ == 4) {
            current_ = philox(source_, block_++);
            used_ = 0;
        }
        return current_.word[used_++];
    }

    /// Uniform in [low, high], both included.
    [[nodiscard]] int between(int low, int high) {
        return low + static_cast<int>(std::uint64_t{bits()} * static_cast<std::uint64_t>(high - low + 1) >> 32);
    }

    /// In [-most, most], the middle more often than the ends.
    [[nodiscard]] int around_zero(int most) { return (between(-most, most) + between(-most, most)) / 2; }

private:
    RandomSource source_;
    std::uint64_t block_;
    PhiloxBlock current_{};
    int used_ = 4;
};

/// Draws strokes into an image of 28 x 28 bytes. Positions are in 1/64 of a pixel.
class DigitCanvas {
public:
    static constexpr int side = 28, unit = 64, pixels = side * side;
    using Image = std::span<std::uint8_t, pixels>;

    struct Point {
        int x = 0, y = 0;
    };

    /// A pen of `radius` (1/64 pixel).
    explicit DigitCanvas(int radius) : radius_(radius) {
        for (int& d : distance2_) d = no_ink;
    }

    /// A straight line with round ends: lowers the pixels' squared distance to the ink.
    void line(Point a, Point b) {
        int const reach = radius_ + unit / 2; // beyond it a pixel gets no ink
        int const ux = b.x - a.x, uy = b.y - a.y;
        int const length2 = ux * ux + uy * uy;
        if (length2 == 0) return;
        std::int64_t const per_length = (std::int64_t{1} << 20) / square_root(length2);
        int const first_row = pixel((std::min)(a.y, b.y) - reach), last_row = pixel((std::max)(a.y, b.y) + reach);
        int const first_column = pixel((std::min)(a.x, b.x) - reach), last_column = pixel((std::max)(a.x, b.x) + reach);
        for (int row = first_row; row <= last_row; ++row) {
            for (int column = first_column; column <= last_column; ++column) {
                int const dx = column * unit + unit / 2 - a.x, dy = row * unit + unit / 2 - a.y;
                int const along = dx * ux + dy * uy;
                int d2 = dx * dx + dy * dy;
                if (along >= length2) {
                    d2 = (dx - ux) * (dx - ux) + (dy - uy) * (dy - uy);
                } else if (along > 0) {
                    int const across = static_cast<int>((dx * uy - dy * ux) * per_length / (1 << 20));
                    d2 = across * across;
                }
                int& nearest = distance2_[row * side + column];
                nearest = (std::min)(nearest, d2);
            }
        }
    }

    /// How much of each pixel the pen has covered, times `ink`: in [0, ink].
    void cover(int ink, Image image) const {
        // Full at radius - 1/2 pixel, none at radius + 1/2, linear in the squared distance between: that needs no root.
        int const outside = (radius_ + unit / 2) * (radius_ + unit / 2);
        int const band = 2 * unit * radius_;
        for (std::size_t i = 0; i < image.size(); ++i) {
            int const d2 = distance2_[i];
            int const covered = d2 >= outside ? 0 : (std::min)(outside - d2, band);
            image[i] = static_cast<std::uint8_t>(covered * ink / band);
        }
    }

private:
    static constexpr int no_ink = 1 << 30;

    [[nodiscard]] static int pixel(int position) { return std::clamp(position / unit, 0, side - 1); }

    [[nodiscard]] static int square_root(int value) {
        int root = 0;
        for (int bit = 1 << 14; bit != 0; bit >>= 1)
            if ((root + bit) * (root + bit) <= value) root += bit;
        return root;
    }

    int radius_;
    int distance2_[pixels];
};

/// A glyph's stroke on its way to the canvas.
struct DigitPath {
    static constexpr int max_points = 4 * GlyphStroke::max_points;

    int count = 0;
    DigitCanvas::Point point[max_points];

    /// Cuts every corner at a quarter of its sides: repeated, a quadratic B-spline (Chaikin 1974). The ends stay.
    [[nodiscard]] DigitPath smoothed() const {
        DigitPath result;
        result.point[result.count++] = point[0];
        for (int i = 0; i + 1 < count; ++i) {
            DigitCanvas::Point const a = point[i], b = point[i + 1];
            if (i > 0) result.point[result.count++] = {(3 * a.x + b.x) / 4, (3 * a.y + b.y) / 4};
            if (i + 2 < count) result.point[result.count++] = {(a.x + 3 * b.x) / 4, (a.y + 3 * b.y) / 4};
        }
        result.point[result.count++] = point[count - 1];
        return result;
    }
};

/// Where a glyph's points go: an affine change, and a tremor of the hand.
class DigitHand {
public:
    explicit DigitHand(DigitDraws& draws) {
        // A unit of the glyph is about 0.26 pixels; the matrix holds 1/64 pixel, times 256.
        int const scale = 64 * 256 * 26 / 100;
        width_ = scale * (100 + draws.around_zero(40)) / 100;
        height_ = scale * (100 + draws.around_zero(22)) / 100;
        slant_ = scale * draws.around_zero(55) / 100;
        tilt_ = scale * draws.around_zero(38) / 100;
        int const middle = DigitCanvas::side * DigitCanvas::unit / 2;
        right_ = middle + draws.around_zero(230);
        down_ = middle + draws.around_zero(180);
    }

    [[nodiscard]] DigitCanvas::Point place(GlyphPoint const& point, DigitDraws& draws) const {
        int const x = 4 * point.x + draws.around_zero(20);
        int const y = 4 * point.y + draws.around_zero(20);
        return {right_ + (width_ * x - slant_ * y) / 1024, down_ + (tilt_ * x + height_ * y) / 1024};
    }

private:
    int width_, height_, slant_, tilt_, right_, down_;
};

/// Adds noise of a random strength to every pixel.
inline void add_noise(DigitDraws& draws, DigitCanvas::Image image) {
    int const strength = draws.between(0, 40);
    for (std::size_t i = 0; i < image.size(); i += 4) {
        std::uint32_t const bits = draws.bits();
        for (std::size_t k = 0; k < 4; ++k) {
            int const change = (static_cast<int>(bits >> 8 * k & 0xff) - 128) * strength / 128;
            image[i + k] = static_cast<std::uint8_t>(std::clamp(image[i + k] + change, 0, 255));
        }
    }
}

/// Draws sample `sample` of the set with this seed, white on black, and returns the digit.
inline std::uint8_t draw_digit(std::uint64_t seed, index_t sample, DigitCanvas::Image image) {
    DigitDraws draws(seed, sample);
    int const digit = draws.between(0, 9);
    GlyphVariants const variants = glyph_variants(digit);
    Glyph const& glyph = variants.glyph[draws.between(0, variants.count - 1)];

    DigitHand const hand(draws);
    DigitCanvas canvas(draws.between(42, 112));
    for (int s = 0; s < glyph.strokes; ++s) {
        GlyphStroke const& stroke = glyph.stroke[s];
        DigitPath path;
        for (; path.count < stroke.points; ++path.count)
            path.point[path.count] = hand.place(stroke.point[path.count], draws);
        if (stroke.curved) path = path.smoothed().smoothed();
        for (int i = 0; i + 1 < path.count; ++i) canvas.line(path.point[i], path.point[i + 1]);
    }
    canvas.cover(draws.between(150, 255), image);
    add_noise(draws, image);
    return static_cast<std::uint8_t>(digit);
}

/// `count` digits drawn by `seed`: samples of shape {1, 28, 28}, ten classes, normalised to [-1, 1]. Sample i is the
/// same whatever `count` is. Sets for training and for testing differ in their seed.
[[nodiscard]] inline Dataset<std::uint8_t> digits(index_t count, std::uint64_t seed) {
    if (count < 0) refuse({count, " digits were asked for"});
    std::vector<std::uint8_t> samples(static_cast<std::size_t>(count) * DigitCanvas::pixels);
    std::vector<std::uint8_t> labels(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < labels.size(); ++i) {
        DigitCanvas::Image const image{samples.data() + i * DigitCanvas::pixels, DigitCanvas::pixels};
        labels[i] = draw_digit(seed, static_cast<index_t>(i), image);
    }
    return {Dims{1, DigitCanvas::side, DigitCanvas::side}, std::move(samples), std::move(labels), 10,
            to_plus_minus_one};
}

/// The embedded set: 60,000 digits for training and 10,000 for testing.
[[nodiscard]] TENON_COLD inline TrainTest digits() { return {digits(60'000, 1), digits(10'000, 2)}; }

} // namespace tenon::data
