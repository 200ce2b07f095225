// Programs with one planted bug each, chosen by the first argument; suite.py says how each must be found. Every one
// has a good twin (BUG = false, argument "good"), which must run without a report in every mode and order.
#include "bug_kernels.cuh"
#include "check.cuh"

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>

namespace {

std::vector<float> input() { return check::random_floats(4 * block, 17); }

template <class Kernel, class... Arguments>
std::vector<float> run(Kernel kernel, int blocks, int threads, std::size_t shared, Arguments... arguments) {
    check::Device<float> x{input()}, y{std::size_t{4 * block}};
    kernel<<<blocks, threads, shared>>>(x.data(), y.data(), arguments...);
    CHECK_CUDA(cudaDeviceSynchronize());
    return y.host();
}

void is_reversed(std::vector<float> const& y, int count, int size) {
    auto const x = input();
    bool good = true;
    for (int i = 0; i < count; ++i) good &= y[i] == x[i / size * size + size - 1 - i % size];
    CHECK(good);
}

template <bool BUG>
void test_sums() {
    auto const x = input(), y = run(sums<BUG>, 1, block, 0, 4);
    double sum = 0;
    for (float v : x) sum += v;
    bool good = true;
    for (int i = 0; i < block; ++i) good &= check::near(y[i], sum, 1e-5);
    CHECK(good);
}

template <int BUG>
void test_warp_sum() {
    double sum = 0;
    for (int i = 0; i < 32; ++i) sum += input()[i];
    CHECK(check::near(run(warp_sum<BUG>, 1, 32, 0)[0], sum, 1e-5));
}

template <class Kernel, class Want, class... Arguments>
void test_each(Kernel kernel, int count, int threads, std::size_t shared, Want want, Arguments... arguments) {
    auto const x = input(), y = run(kernel, (count + threads - 1) / threads, threads, shared, arguments...);
    bool good = true;
    for (int i = 0; i < count; ++i) good &= y[i] == want(x, i);
    CHECK(good);
}

template <bool BUG>
void test_histogram() {
    std::vector<int> x(500), want(4);
    for (int i = 0; i < 500; ++i) ++want[x[i] = i * 7 % 4];
    check::Device<int> input(x), counts(std::size_t{4});
    histogram<BUG><<<1, block>>>(input.data(), counts.data(), 500);
    CHECK(counts.host() == want);
}

template <bool BUG>
void test_total() {
    check::Device<int> sum(std::vector<int>{0});
    total<BUG><<<6, 32>>>(sum.data());
    CHECK(sum.host()[0] == 15);
}

/// Exactly as large as what is used: one element more is outside.
template <bool BUG>
void test_global_index() {
    check::Device<float> x(check::random_floats(100, 1)), y(std::size_t{100});
    global_index<BUG><<<2, block>>>(x.data(), y.data(), 100);
    CHECK(y.host()[99] == 2 * x.host()[99]);
}

// ---- streams

/// The host reads what a copy has not yet brought.
template <bool BUG>
void test_read_before_copy() {
    check::Device<float> x{input()};
    float* pinned = nullptr;
    CHECK_CUDA(cudaMallocHost(&pinned, block * sizeof(float)));
    std::memset(pinned, 0, block * sizeof(float));
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreate(&stream));
    CHECK_CUDA(cudaMemcpyAsync(pinned, x.data(), block * sizeof(float), cudaMemcpyDeviceToHost, stream));
    if (!BUG) CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK(pinned[3] == input()[3]);
}

/// The second stream reads what the first writes; the event between them is missing.
template <bool BUG>
void test_missing_event() {
    check::Device<float> x(input()), y(std::size_t{block}), z(std::size_t{block});
    cudaStream_t a, b;
    cudaEvent_t event;
    CHECK_CUDA(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK_CUDA(cudaEventCreate(&event));
    reverse<false><<<1, block, 0, a>>>(x.data(), y.data());
    CHECK_CUDA(cudaEventRecord(event, a));
    if (!BUG) CHECK_CUDA(cudaStreamWaitEvent(b, event, 0));
    reverse<false><<<1, block, 0, b>>>(y.data(), z.data());
    CHECK_CUDA(cudaStreamSynchronize(b));
    CHECK(z.host()[5] == input()[5]);
}

template <bool BUG>
void test_use_after_free() {
    check::Device<float> x(input()), y(std::size_t{block});
    cudaStream_t stream;
    float* temporary = nullptr;
    CHECK_CUDA(cudaStreamCreate(&stream));
    CHECK_CUDA(cudaMallocAsync(&temporary, block * sizeof(float), stream));
    reverse<false><<<1, block, 0, stream>>>(x.data(), temporary);
    if (BUG) CHECK_CUDA(cudaFreeAsync(temporary, stream));
    reverse<false><<<1, block, 0, stream>>>(temporary, y.data());
    if (!BUG) CHECK_CUDA(cudaFreeAsync(temporary, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK(y.host()[5] == input()[5]);
}

void fail_with(int what) {
    check::Device<int> flag(std::vector<int>{0});
    fails<<<1, 32>>>(what, flag.data());
    cudaError_t const error = cudaDeviceSynchronize();
    std::printf("error %s, then %s\n", cudaGetErrorName(error), cudaGetErrorName(cudaFree(nullptr)));
    CHECK(error == cudaSuccess);
}

/// What a program sees of a machine: chosen by environment variables.
void report_machine() {
    int count = -1;
    cudaError_t const error = cudaGetDeviceCount(&count);
    std::printf("%d devices, %s: %s\n", count, cudaGetErrorName(error), cudaGetErrorString(error));
    void* memory = nullptr;
    std::printf("cudaMalloc of 1 MiB: %s\n", cudaGetErrorName(cudaMalloc(&memory, 1 << 20)));
    (void)cudaGetLastError();
    fails<<<1, 32>>>(0, nullptr);
    std::printf("launch: %s\n", cudaGetErrorName(cudaGetLastError()));
    int peer = -1;
    cudaError_t const peer_error = cudaDeviceCanAccessPeer(&peer, 0, 1);
    std::printf("peer: %s %d\n", cudaGetErrorName(peer_error), peer);
}

std::map<std::string, std::function<void()>> const good_twins = {
    {"no_barrier", [] { is_reversed(run(reverse<false>, 4, block, 0), 4 * block, block); }},
    {"no_second_barrier", test_sums<false>},
    {"no_syncwarp", [] { test_each(exchange_in_warp<false>, 32, 32, 0, [](auto& x, int i) { return x[i ^ 1]; }); }},
    {"barrier_in_branch",
     [] { test_each(barrier_in_branch<false>, block, block, 0, [](auto& x, int i) { return 2 * x[i]; }); }},
    {"early_return", [] { is_reversed(run(early_return<false>, 1, block, 0, 50), 50, 50); }},
    {"warp_sum", test_warp_sum<0>},
    {"global_index", test_global_index<false>},
    {"shared_index", [] { test_each(shared_index<0>, block, block, 0, [](auto& x, int i) { return x[i] + 1; }); }},
    {"dynamic_index",
     [] { test_each(dynamic_index<false>, block, block, block * 4, [](auto& x, int i) { return x[i]; }); }},
    {"plain_add_in_block", test_histogram<false>},
    {"plain_add_between_blocks", test_total<false>},
    {"unwritten_shared", [] { test_each(unwritten<false>, block, block, 0, [](auto& x, int i) { return x[i ^ 7]; }); }},
    {"copy_without_wait", [] { is_reversed(run(copy_without_wait<false>, 1, block, 0), block, block); }},
    {"read_before_copy", test_read_before_copy<false>},
    {"missing_event", test_missing_event<false>},
    {"use_after_free", test_use_after_free<false>},
};

std::map<std::string, std::function<void()>> const bugs = {
    {"no_barrier", [] { is_reversed(run(reverse<true>, 4, block, 0), 4 * block, block); }},
    {"no_second_barrier", test_sums<true>},
    {"no_syncwarp", [] { test_each(exchange_in_warp<true>, 32, 32, 0, [](auto& x, int i) { return x[i ^ 1]; }); }},
    {"barrier_in_branch",
     [] { test_each(barrier_in_branch<true>, block, block, 0, [](auto& x, int i) { return 2 * x[i]; }); }},
    {"early_return", [] { is_reversed(run(early_return<true>, 1, block, 0, 50), 50, 50); }},
    {"mask_of_absent_lanes", test_warp_sum<1>},
    {"mask_without_itself", test_warp_sum<2>},
    {"read_outside_mask", test_warp_sum<3>},
    {"global_index", test_global_index<true>},
    {"shared_read", [] { test_each(shared_index<1>, block, block, 0, [](auto& x, int i) { return x[i] + 1; }); }},
    {"shared_write", [] { run(shared_index<2>, 1, block, 0); }},
    {"dynamic_index", [] { run(dynamic_index<true>, 1, block, block * sizeof(float)); }},
    {"misaligned", [] { run(misaligned, 1, 1, 0); }},
    {"null_pointer",
     [] {
         store<<<1, 1>>>(nullptr);
         CHECK_CUDA(cudaDeviceSynchronize());
     }},
    {"host_pointer",
     [] {
         float y = 0;
         store<<<1, 1>>>(&y);
         CHECK_CUDA(cudaDeviceSynchronize());
     }},
    {"host_touches_device",
     [] {
         check::Device<float> x{input()};
         CHECK(x.data()[0] == input()[0]);
     }},
    {"plain_add_in_block", test_histogram<true>},
    {"plain_add_between_blocks", test_total<true>},
    {"unwritten_shared", [] { test_each(unwritten<true>, block, block, 0, [](auto& x, int i) { return x[i ^ 7]; }); }},
    {"unwritten_global",
     [] {
         check::Device<float> y{std::size_t{block}};
         CHECK(y.host()[0] == 0);
     }},
    {"copy_without_wait", [] { is_reversed(run(copy_without_wait<true>, 1, block, 0), block, block); }},
    {"read_before_copy", test_read_before_copy<true>},
    {"missing_event", test_missing_event<true>},
    {"use_after_free", test_use_after_free<true>},
    {"assert", [] { fail_with(1); }},
    {"trap", [] { fail_with(2); }},
    {"endless_wait", [] { fail_with(3); }},
};

} // namespace

int main(int count, char** arguments) {
    std::string const name = count > 1 ? arguments[1] : "good";
    if (name == "machine") {
        report_machine();
        return 0;
    }
    if (name == "good") {
        for (auto const& [twin, test] : good_twins) test();
    } else if (bugs.count(name)) {
        bugs.at(name)();
    } else {
        std::printf("no bug is called %s\n", name.c_str());
        return 2;
    }
    return check::summary();
}
