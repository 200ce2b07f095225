/// @file
/// The one way in which kernels are launched.
#pragma once

#include <tenon/cuda/runtime.hpp>

namespace tenon::cuda {

/// Where and how large: `grid` blocks of `block` threads, in the order of `stream`.
struct LaunchShape {
    index_t grid = 0;
    int block = 0;
    cudaStream_t stream = nullptr;
    int stage = -1; ///< its number, for an error's message
};

/// Fails unless `error` is success. `doing`: "launching"; `stage`: negative where `what` is none.
inline void check_stage(cudaError_t error, char const* doing, int stage, char const* what) {
    if (error == cudaSuccess) return;
    std::string const where = stage < 0 ? message({doing, " ", what}) : message({doing, " stage ", stage, " (", what, ")"});
    check(error, where.c_str());
}

/// Launches `kernel` with copies of `arguments`; zero blocks are no launch. `what` names it in an error.
template <class... Parameter, class... Argument>
void launch(char const* what, void (*kernel)(Parameter...), LaunchShape const& shape, Argument const&... arguments) {
    if (shape.grid == 0) return;
    cudaLaunchConfig_t configuration{};
    configuration.gridDim = dim3(static_cast<unsigned>(shape.grid));
    configuration.blockDim = dim3(static_cast<unsigned>(shape.block));
    configuration.stream = shape.stream;
    check_stage(cudaLaunchKernelEx(&configuration, kernel, static_cast<Parameter>(arguments)...), "launching", shape.stage, what);
}

} // namespace tenon::cuda
