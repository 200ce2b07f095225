// Prints, for LeNet's products: the work, the bytes, the roofline on an H200, the tile that is chosen, and the cycles that the choice
// was ranked by. Needs no GPU: nvcc -std=c++20 -Iinclude tests/cuda/tile_choices.cu -o choices && ./choices
#include "tile_lenet.cuh"

#include <cstdio>
#include <type_traits>

using namespace lenet;

namespace {

/// NVIDIA's data sheet of the H200 (SXM): 4.8 TB/s, 67 TFLOP/s in float, half of 989 TFLOP/s in dense tf32 and of 1979 in bfloat16.
constexpr double memory = 4.8e12, peak_float = 67e12, peak_tf32 = 494.5e12, peak_bf16 = 989.5e12;

template <class P, class Precision, index_t Samples>
void show(char const* name, char const* precision, double bytes) {
    constexpr Cut c = TileFor<P, Precision, Samples>::cut;
    double const products = static_cast<double>(P::Rows::extent(Samples)) * P::columns * static_cast<double>(P::Depth::extent(Samples)) * P::groups;
    double const peak = std::is_same_v<Precision, Float> ? peak_float : std::is_same_v<Precision, Bf16> ? peak_bf16 : peak_tf32;
    double const compute = 2e6 * products / peak, move = 1e6 * bytes / memory;
    using T = typename TileFor<P, Precision, Samples>::type;
    using K = Product<P, T, typename TileFor<P, Precision, Samples>::precision, Store>;
    std::printf("| %-14s | %-5s | %5d | %9.2f | %8.3f | %7.2f | %3dx%3dx%3d %dx%dx%d s%d k%-3d %-4s | %6ld | %8ld |\n", name, precision, static_cast<int>(Samples),
                2e-6 * products, 1e-6 * bytes, compute > move ? compute : move, c.rows, c.columns, c.depth, c.row_warps, c.column_warps, c.depth_warps, c.stages,
                c.splits, c.tensor ? "mma" : "ffma", static_cast<long>(K::blocks(Samples)), static_cast<long>(c.cost));
}

template <class Precision, index_t Samples>
void step(char const* name) {
    constexpr double s = Samples, w1 = 4.0 * 500, w2 = 4.0 * 25000, w3 = 4.0 * 400000, w4 = 4.0 * 5000; // weights
    constexpr double image = s * 784, pooled1 = s * 2880 * 4, pooled2 = s * 800 * 4, hidden = s * 500 * 4, logits = s * 10 * 4;
    constexpr double update = 4; // of a weight: p and v read and written
    show<Conv2dForward<Normalized, Conv1, Pool>, Precision, Samples>("conv1 forward", name, image + w1 + pooled1 * 1.0625);
    show<Conv2dForward<Plain, Conv2, Pool>, Precision, Samples>("conv2 forward", name, pooled1 + w2 + pooled2 * 1.0625);
    show<LinearForward<Plain, 800, 500>, Precision, Samples>("fc1 forward", name, pooled2 + w3 + hidden);
    show<LinearForward<Plain, 500, 10>, Precision, Samples>("fc2 forward", name, hidden + w4 + logits);
    show<LinearInputGradient<Plain, 500, 10>, Precision, Samples>("fc2 dx", name, logits + w4 + hidden);
    show<LinearWeightGradient<Plain, Plain, 500, 10>, Precision, Samples>("fc2 dw", name, logits + hidden + update * w4);
    show<LinearInputGradient<Plain, 800, 500>, Precision, Samples>("fc1 dx", name, hidden + w3 + pooled2);
    show<LinearWeightGradient<Plain, Plain, 800, 500>, Precision, Samples>("fc1 dw", name, hidden + pooled2 + update * w3);
    show<Conv2dInputGradient<PackedUnpooled, Conv2, Pool>, Precision, Samples>("conv2 dx", name, pooled2 * 1.0625 + w2 + pooled1);
    show<Conv2dFoldedInputGradient<PackedUnpooled, Conv2, Pool>, Precision, Samples>("conv2 dx, fold", name, pooled2 * 1.0625 + w2 + pooled1);
    show<Conv2dWeightGradient<PackedUnpooled, Plain, Conv2, Pool>, Precision, Samples>("conv2 dw", name, pooled2 * 1.0625 + pooled1 + update * w2);
    show<Conv2dWeightGradient<PackedUnpooled, Normalized, Conv1, Pool>, Precision, Samples>("conv1 dw", name, pooled1 * 1.0625 + image + update * w1);
}

} // namespace

int main() {
    std::printf("| product        | type  | batch |    MFLOP |       MB | us least | tile, warps, stages, splits       | blocks |   cycles |\n");
    std::printf("|----------------|-------|-------|----------|----------|---------|-----------------------------------|--------|----------|\n");
    step<Float, 4>("float");
    step<Float, 64>("float");
    step<Tf32, 64>("tf32");
    step<Float, 1024>("float");
    step<Tf32, 1024>("tf32");
    step<Float, 8192>("float");
    step<Bf16, 8192>("bf16");
}
