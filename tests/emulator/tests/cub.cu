// Algorithms of CUB and Thrust: the device-wide ones that metrics and shuffles use, and the cooperative ones of a
// block.
#include "check.cuh"

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/warp/warp_reduce.cuh>

#include <algorithm>
#include <numeric>

namespace {

/// CUB's two calls: how much workspace, then the work.
template <class Algorithm>
void with_workspace(Algorithm algorithm) {
    std::size_t bytes = 0;
    CHECK_CUDA(algorithm(nullptr, bytes));
    check::Device<char> workspace(bytes);
    CHECK_CUDA(algorithm(workspace.data(), bytes));
    CHECK_CUDA(cudaDeviceSynchronize());
}

void test_device(int n) {
    auto const count = static_cast<std::size_t>(n);
    std::mt19937 generator(static_cast<unsigned>(n));
    std::vector<int> values(n);
    for (int& v : values) v = static_cast<int>(generator() % 100) - 20;
    check::Device<int> input(values), sum(std::size_t{1}), most(std::size_t{1}), scanned(count),
        counts(std::size_t{10});

    with_workspace([&](void* w, std::size_t& b) { return cub::DeviceReduce::Sum(w, b, input.data(), sum.data(), n); });
    with_workspace([&](void* w, std::size_t& b) { return cub::DeviceReduce::Max(w, b, input.data(), most.data(), n); });
    CHECK(sum.host()[0] == std::accumulate(values.begin(), values.end(), 0));
    CHECK(most.host()[0] == *std::max_element(values.begin(), values.end()));

    with_workspace(
        [&](void* w, std::size_t& b) { return cub::DeviceScan::ExclusiveSum(w, b, input.data(), scanned.data(), n); });
    std::vector<int> want(n);
    std::exclusive_scan(values.begin(), values.end(), want.begin(), 0);
    CHECK(scanned.host() == want);

    with_workspace([&](void* w, std::size_t& b) {
        return cub::DeviceHistogram::HistogramEven(w, b, input.data(), counts.data(), 11, -20, 80, n);
    });
    std::vector<int> bins(10);
    for (int v : values) ++bins[(v + 20) / 10];
    CHECK(counts.host() == bins);

    std::vector<unsigned> keys(n);
    std::vector<int> indices(n);
    for (unsigned& k : keys) k = static_cast<unsigned>(generator());
    std::iota(indices.begin(), indices.end(), 0);
    check::Device<unsigned> keys_in(keys), keys_out(count);
    check::Device<int> values_in(indices), values_out(count);
    with_workspace([&](void* w, std::size_t& b) {
        return cub::DeviceRadixSort::SortPairs(w, b, keys_in.data(), keys_out.data(), values_in.data(),
                                               values_out.data(), n);
    });
    std::vector<int> order = indices;
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
    CHECK(values_out.host() == order);
}

__global__ void block_algorithms(float const* x, float* y, int* sorted) {
    using Reduce = cub::BlockReduce<float, 128>;
    using Scan = cub::BlockScan<int, 128>;
    using Sort = cub::BlockRadixSort<int, 128, 2>;
    __shared__ union {
        typename Reduce::TempStorage reduce;
        typename Scan::TempStorage scan;
        typename Sort::TempStorage sort;
    } storage;
    __shared__ typename cub::WarpReduce<float>::TempStorage warps[4];
    int const t = threadIdx.x;
    float const total = Reduce(storage.reduce).Sum(x[t]);
    if (t == 0) y[0] = total;
    float const most = cub::WarpReduce<float>(warps[t / 32]).Reduce(x[t], cuda::maximum<>{});
    if (t % 32 == 0) y[1 + t / 32] = most;
    __syncthreads();
    int before = 0;
    Scan(storage.scan).ExclusiveSum(t % 5, before);
    __syncthreads();
    int items[2] = {(t * 37) % 256, (t * 91 + 3) % 256};
    Sort(storage.sort).Sort(items);
    sorted[2 * t] = items[0], sorted[2 * t + 1] = items[1];
    y[5 + t] = static_cast<float>(before);
}

void test_block() {
    auto const x = check::random_floats(128, 2);
    check::Device<float> input(x), output(std::size_t{5 + 128});
    check::Device<int> sorted(std::size_t{256});
    block_algorithms<<<1, 128>>>(input.data(), output.data(), sorted.data());
    auto const y = output.host();
    auto const s = sorted.host();
    CHECK(check::near(y[0], std::accumulate(x.begin(), x.end(), 0.0), 1e-5));
    bool good = true;
    for (int w = 0; w < 4; ++w) good &= y[1 + w] == *std::max_element(x.begin() + 32 * w, x.begin() + 32 * (w + 1));
    for (int t = 0, sum = 0; t < 128; sum += t % 5, ++t) good &= y[5 + t] == sum;
    CHECK(good);
    std::vector<int> want;
    for (int t = 0; t < 128; ++t) want.push_back((t * 37) % 256), want.push_back((t * 91 + 3) % 256);
    std::sort(want.begin(), want.end());
    CHECK(s == want);
}

} // namespace

int main() {
    test_block();
    test_device(1);
    test_device(1000);
    test_device(20011); // several tiles: blocks wait for the blocks before them
    return check::summary();
}
