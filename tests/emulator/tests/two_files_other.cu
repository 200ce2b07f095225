#include "check.cuh"
#include "shared_kernels.cuh"

namespace {
__device__ int variable = 77;
__global__ void same_name(int* x) { *x = variable; }
} // namespace

int from_the_other_file() {
    check::Device<int> x(std::vector<int>{4}), y(std::vector<int>{0});
    scale_by<5><<<1, 1>>>(x.data());
    same_name<<<1, 1>>>(y.data());
    return 100 * x.host()[0] + y.host()[0];
}
