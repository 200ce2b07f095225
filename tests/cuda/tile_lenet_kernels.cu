// Every product of LeNet's step as a kernel, for one precision (PRECISION) and batch (SAMPLES): compiled to look at its instructions (tile_instructions.sh).
#include "tile_lenet.cuh"

using Step = lenet::Step<tenon::cuda::tile::PRECISION, SAMPLES>;
#define KERNEL(name) template __global__ void tenon::cuda::tile::product_kernel<Step::name>(Step::name::Args)
KERNEL(conv1_forward);
KERNEL(conv2_forward);
KERNEL(fc1_forward);
KERNEL(fc2_forward);
KERNEL(fc2_input_gradient);
KERNEL(fc2_weight_gradient);
KERNEL(fc1_input_gradient);
KERNEL(fc1_weight_gradient);
KERNEL(conv2_input_gradient);
KERNEL(conv2_weight_gradient);
KERNEL(conv1_weight_gradient);
