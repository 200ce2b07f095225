// Checks for the emulator's own tests: each prints where it failed, and the program's last line counts them.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace check {

inline int passed = 0, failed = 0;

inline void that(bool good, char const* text, char const* file, int line) {
    if (good) {
        ++passed;
        return;
    }
    ++failed;
    if (failed <= 20) std::printf("%s:%d: %s\n", file, line, text);
}

inline int summary() {
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

/// Device memory that holds a vector.
template <class T>
class Device {
public:
    explicit Device(std::vector<T> const& values) : count_(values.size()) {
        cudaMalloc(reinterpret_cast<void**>(&data_), count_ * sizeof(T));
        cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice);
    }
    /// Not written: NaN.
    explicit Device(std::size_t count) : count_(count) {
        cudaMalloc(reinterpret_cast<void**>(&data_), count_ * sizeof(T));
    }
    ~Device() { cudaFree(data_); }
    Device(Device const&) = delete;
    Device& operator=(Device const&) = delete;

    T* data() const { return data_; }
    std::vector<T> host() const {
        std::vector<T> values(count_);
        cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost);
        return values;
    }

private:
    T* data_ = nullptr;
    std::size_t count_;
};

inline std::vector<float> random_floats(std::size_t count, unsigned seed, float low = -1, float high = 1) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> distribution(low, high);
    std::vector<float> values(count);
    for (float& v : values) v = distribution(generator);
    return values;
}

inline bool near(double a, double b, double tolerance) { return std::fabs(a - b) <= tolerance * (1 + std::fabs(b)); }

} // namespace check

#define CHECK(condition) check::that((condition), #condition, __FILE__, __LINE__)
#define CHECK_CUDA(call) check::that((call) == cudaSuccess, #call, __FILE__, __LINE__)
