// The stand-in for libcudart: streams, events, pools, copies, errors, attributes, occupancy.
#include "check.cuh"

#include <cstring>

namespace {

__global__ void add(float* x, float value, int n) {
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += value;
}
__global__ void multiply(float* x, float value, int n) {
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= value;
}
__global__ void __launch_bounds__(128) bounded(float* x) { x[threadIdx.x] = 1; }
template <int Floats>
__global__ void with_shared(float* x) {
    __shared__ float fixed[Floats];
    extern __shared__ float dynamic[];
    fixed[threadIdx.x] = static_cast<float>(threadIdx.x);
    dynamic[threadIdx.x] = 1;
    __syncthreads();
    x[threadIdx.x] = fixed[blockDim.x - 1 - threadIdx.x] + dynamic[blockDim.x - 1 - threadIdx.x];
}

constexpr int n = 300;

void clear() { (void)cudaGetLastError(); }

void test_streams_and_events() {
    cudaStream_t a, b;
    cudaEvent_t ready, done;
    CHECK_CUDA(cudaStreamCreate(&a));
    CHECK_CUDA(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK_CUDA(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK_CUDA(cudaEventCreate(&done));
    float *x = nullptr, *host = nullptr;
    CHECK_CUDA(cudaMalloc(&x, n * sizeof(float)));
    CHECK_CUDA(cudaMallocHost(&host, n * sizeof(float)));
    for (int i = 0; i < n; ++i) host[i] = static_cast<float>(i);
    CHECK_CUDA(cudaMemcpyAsync(x, host, n * sizeof(float), cudaMemcpyHostToDevice, a));
    add<<<2, 256, 0, a>>>(x, 1, n);
    CHECK_CUDA(cudaEventRecord(ready, a));
    CHECK_CUDA(cudaStreamWaitEvent(b, ready, 0));
    multiply<<<2, 256, 0, b>>>(x, 3, n);
    CHECK_CUDA(cudaMemcpyAsync(host, x, n * sizeof(float), cudaMemcpyDeviceToHost, b));
    CHECK_CUDA(cudaEventRecord(done, b));
    CHECK_CUDA(cudaEventSynchronize(done));
    bool good = true;
    for (int i = 0; i < n; ++i) good &= host[i] == 3.f * static_cast<float>(i + 1);
    CHECK(good);
    CHECK(cudaEventQuery(done) == cudaSuccess && cudaStreamQuery(b) == cudaSuccess);
    float milliseconds = -1;
    CHECK(cudaEventElapsedTime(&milliseconds, ready, done) == cudaErrorInvalidResourceHandle);
    clear();
    int calls = 0;
    CHECK_CUDA(cudaLaunchHostFunc(
        a, [](void* p) { ++*static_cast<int*>(p); }, &calls));
    while (cudaStreamQuery(a) == cudaErrorNotReady) {
    }
    clear();
    CHECK(calls == 1);
    // The legacy stream comes after the blocking stream and before what it is asked next.
    add<<<2, 256, 0, a>>>(x, 1, n);
    multiply<<<2, 256>>>(x, 2, n);
    add<<<2, 256, 0, a>>>(x, 5, n);
    CHECK_CUDA(cudaMemcpy(host, x, n * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK_CUDA(cudaStreamSynchronize(a));
    CHECK_CUDA(cudaMemcpy(host, x, n * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(host[0] == 2 * 4 + 5);
    CHECK_CUDA(cudaStreamDestroy(a));
    CHECK(cudaStreamSynchronize(a) == cudaErrorInvalidResourceHandle);
    clear();
    CHECK_CUDA(cudaFreeHost(host));
    CHECK_CUDA(cudaFree(x));
}

void test_pools() {
    cudaStream_t stream;
    CHECK_CUDA(cudaStreamCreate(&stream));
    float* x = nullptr;
    CHECK_CUDA(cudaMallocAsync(&x, n * sizeof(float), stream));
    CHECK_CUDA(cudaMemsetAsync(x, 0, n * sizeof(float), stream));
    add<<<2, 256, 0, stream>>>(x, 4, n);
    float* pinned = nullptr;
    CHECK_CUDA(cudaHostAlloc(&pinned, n * sizeof(float), cudaHostAllocDefault));
    CHECK_CUDA(cudaMemcpyAsync(pinned, x, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK_CUDA(cudaFreeAsync(x, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK(pinned[n - 1] == 4);
    cudaMemPool_t pool;
    CHECK_CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
    std::uint64_t used = 1, high = 0, threshold = 1 << 20;
    CHECK_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    CHECK_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &high));
    CHECK_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(used == 0 && high >= n * sizeof(float));
    CHECK_CUDA(cudaMemPoolTrimTo(pool, 0));
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t own;
    CHECK_CUDA(cudaMemPoolCreate(&own, &properties));
    CHECK_CUDA(cudaMallocFromPoolAsync(&x, 64, own, stream));
    CHECK_CUDA(cudaFreeAsync(x, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    CHECK_CUDA(cudaMemPoolDestroy(own));
    CHECK(cudaFreeAsync(x, stream) == cudaErrorInvalidValue);
    clear();
}

void test_copies() {
    float host[6 * 5], back[6 * 5] = {};
    for (int i = 0; i < 30; ++i) host[i] = static_cast<float>(i);
    float* x = nullptr;
    std::size_t pitch = 0;
    CHECK_CUDA(cudaMallocPitch(&x, &pitch, 5 * sizeof(float), 6));
    CHECK_CUDA(cudaMemcpy2D(x, pitch, host, 5 * sizeof(float), 5 * sizeof(float), 6, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy2D(back, 5 * sizeof(float), x, pitch, 5 * sizeof(float), 6, cudaMemcpyDeviceToHost));
    CHECK(std::memcmp(host, back, sizeof host) == 0);
    CHECK_CUDA(cudaMemcpy(back, x, 5 * sizeof(float), cudaMemcpyDefault));
    CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);   // wrong direction
    CHECK(cudaMemcpy(x, host, pitch * 6 + 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue); // past the end
    CHECK(cudaMemset(host, 0, 4) == cudaErrorInvalidValue);                                     // host memory
    cudaPointerAttributes attributes;
    CHECK_CUDA(cudaPointerGetAttributes(&attributes, x + 1));
    CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
    CHECK_CUDA(cudaPointerGetAttributes(&attributes, host));
    CHECK(attributes.type == cudaMemoryTypeUnregistered);
    CHECK_CUDA(cudaHostRegister(host, sizeof host, 0));
    CHECK_CUDA(cudaPointerGetAttributes(&attributes, host));
    CHECK(attributes.type == cudaMemoryTypeHost);
    CHECK_CUDA(cudaHostUnregister(host));
    CHECK_CUDA(cudaFree(x));
    CHECK(cudaFree(x) == cudaErrorInvalidValue);
    CHECK_CUDA(cudaFree(nullptr));
    clear();
}

void test_launch_errors() {
    check::Device<float> x(std::size_t{1024});
    add<<<1, 1025>>>(x.data(), 1, n);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaSuccess);
    add<<<0, 32>>>(x.data(), 1, n);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    add<<<dim3(1, 65536), 32>>>(x.data(), 1, n);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
    bounded<<<1, 256>>>(x.data());
    CHECK(cudaGetLastError() == cudaErrorLaunchOutOfResources);
    bounded<<<1, 128>>>(x.data());
    CHECK_CUDA(cudaGetLastError());

    std::size_t const large = 60 << 10;
    with_shared<64><<<1, 64, large>>>(x.data());
    CHECK(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK_CUDA(
        cudaFuncSetAttribute(with_shared<64>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(large)));
    with_shared<64><<<1, 64, large>>>(x.data());
    CHECK_CUDA(cudaGetLastError());
    CHECK(x.host()[0] == 64);
    CHECK(cudaFuncSetAttribute(with_shared<64>, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) ==
          cudaErrorInvalidValue);
    clear();

    int* pointer = nullptr;
    CHECK(cudaMalloc(&pointer, std::size_t{1} << 45) == cudaErrorMemoryAllocation && pointer == nullptr);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    CHECK(std::strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation") == 0);
    CHECK(std::strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
    CHECK(cudaSetDevice(99) == cudaErrorInvalidDevice);
    clear();
}

void test_device() {
    int count = 0, device = -1, major = 0, multiprocessors = 0;
    CHECK_CUDA(cudaGetDeviceCount(&count));
    CHECK_CUDA(cudaGetDevice(&device));
    CHECK(count == 1 && device == 0);
    cudaDeviceProp properties;
    CHECK_CUDA(cudaGetDeviceProperties(&properties, 0));
    CHECK_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CHECK_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(properties.major == TEST_ARCH / 10 && properties.minor == TEST_ARCH % 10 && major == properties.major);
    CHECK(properties.multiProcessorCount == multiprocessors && properties.warpSize == 32);
    int driver = 0, runtime = 0;
    CHECK_CUDA(cudaDriverGetVersion(&driver));
    CHECK_CUDA(cudaRuntimeGetVersion(&runtime));
    CHECK(driver >= runtime && runtime == CUDART_VERSION);
    std::size_t before = 0, after = 0, total = 0;
    CHECK_CUDA(cudaMemGetInfo(&before, &total));
    {
        check::Device<char> const x(std::size_t{1 << 20});
        CHECK_CUDA(cudaMemGetInfo(&after, &total));
    }
    CHECK(before - after == 1 << 20 && before <= total);
    cudaFuncAttributes attributes;
    CHECK_CUDA(cudaFuncGetAttributes(&attributes, with_shared<64>));
    CHECK(attributes.sharedSizeBytes == 256 && attributes.maxThreadsPerBlock == 1024 &&
          attributes.ptxVersion == TEST_ARCH);
    CHECK_CUDA(cudaFuncGetAttributes(&attributes, bounded));
    CHECK(attributes.maxThreadsPerBlock == 128);
    int blocks = 0, size = 0, least = 0;
    CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, with_shared<1024>, 256, 0));
    CHECK(blocks >= 1 && blocks * 256 <= properties.maxThreadsPerMultiProcessor);
    CHECK_CUDA(cudaOccupancyMaxPotentialBlockSize(&least, &size, add, 0, 0));
    CHECK(size >= 512 && size % 32 == 0 && least >= multiprocessors); // 768 where 1536 threads fit
}

} // namespace

int main() {
    test_device();
    test_streams_and_events();
    test_pools();
    test_copies();
    test_launch_errors();
    return check::summary();
}
