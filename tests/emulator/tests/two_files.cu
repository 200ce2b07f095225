// Two source files with kernels: a template that both instantiate, and kernels and variables of the same name in each.
#include "check.cuh"
#include "shared_kernels.cuh"

namespace {
__device__ int variable = 10;
__global__ void same_name(int* x) { *x = variable; }
} // namespace

int main() {
    check::Device<int> x(std::vector<int>{3, 4});
    scale_by<5><<<1, 2>>>(x.data());
    CHECK(x.host()[1] == 20);
    same_name<<<1, 1>>>(x.data());
    CHECK(x.host()[0] == 10);
    CHECK(from_the_other_file() == 2077);
    return check::summary();
}
