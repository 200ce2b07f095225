// LeNet's training step for batches of SAMPLES, products of FACTORS: compiled for the table of its kernels' registers and memory (resources.sh).
#include "support/lenet.hpp"

#include <tenon/tenon.hpp>

using namespace tenon;

float step(float const* images, std::int32_t const* labels) {
    Trainer trainer{test::LeNet{}, CrossEntropy{}, SGD{.lr = 0.01f, .momentum = 0.9f}, batch<SAMPLES>, precision<FACTORS>, Cuda{}};
    return static_cast<float>(trainer.step(images, labels, SAMPLES));
}
