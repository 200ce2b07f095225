// What two source files share: a template that both instantiate.
#pragma once

template <int Factor>
__global__ void scale_by(int* x) {
    x[threadIdx.x] *= Factor;
}

int from_the_other_file();
