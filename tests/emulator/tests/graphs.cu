// The stand-in for libcudart: capture, replay and update of graphs.
#include "check.cuh"

namespace {

__global__ void add(float* x, float value, int n) {
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += value;
}
__global__ void multiply(float* x, float value, int n) {
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= value;
}

constexpr int n = 300;

void clear() { (void)cudaGetLastError(); }

/// A fork to a second stream and back, captured, replayed, and updated.
void test_graph() {
    cudaStream_t a, b;
    cudaEvent_t fork, join;
    CHECK_CUDA(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK_CUDA(cudaEventCreate(&fork));
    CHECK_CUDA(cudaEventCreate(&join));
    check::Device<float> x(std::vector<float>(n, 1)), y(std::vector<float>(n, 1));
    std::vector<float> result(n);
    CHECK_CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    cudaStreamCaptureStatus status;
    CHECK_CUDA(cudaStreamIsCapturing(a, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    add<<<2, 256, 0, a>>>(x.data(), 1, n);
    CHECK_CUDA(cudaEventRecord(fork, a));
    CHECK_CUDA(cudaStreamWaitEvent(b, fork, 0));
    CHECK_CUDA(cudaMemcpyAsync(y.data(), x.data(), n * sizeof(float), cudaMemcpyDeviceToDevice, b));
    multiply<<<2, 256, 0, b>>>(y.data(), 10, n);
    CHECK_CUDA(cudaEventRecord(join, b));
    CHECK_CUDA(cudaStreamWaitEvent(a, join, 0));
    multiply<<<2, 256, 0, a>>>(x.data(), 2, n);
    cudaGraph_t graph = nullptr;
    CHECK_CUDA(cudaStreamEndCapture(a, &graph));
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(x.host()[0] == 1); // nothing ran

    std::size_t count = 0;
    CHECK_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
    CHECK(count == 4);
    std::vector<cudaGraphNode_t> nodes(count);
    CHECK_CUDA(cudaGraphGetNodes(graph, nodes.data(), &count));
    cudaGraphNodeType type;
    CHECK_CUDA(cudaGraphNodeGetType(nodes[1], &type));
    CHECK(type == cudaGraphNodeTypeMemcpy);
    std::size_t edges = 0;
    CHECK_CUDA(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    CHECK(edges == 4);

    cudaGraphExec_t exec = nullptr;
    CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CHECK_CUDA(cudaGraphLaunch(exec, a));
    CHECK_CUDA(cudaGraphLaunch(exec, a));
    CHECK_CUDA(cudaStreamSynchronize(a));
    CHECK(x.host()[n - 1] == 10 && y.host()[n - 1] == 50); // (1 + 1) * 2 + 1 = 5: y = 50, x = 10

    // The first kernel now adds 7; a launch that is still waiting keeps what it was launched with.
    cudaKernelNodeParams parameters;
    CHECK_CUDA(cudaGraphKernelNodeGetParams(nodes[0], &parameters));
    CHECK(parameters.gridDim.x == 2 && parameters.blockDim.x == 256);
    float* pointer = x.data();
    float value = 7;
    int elements = n;
    void* arguments[] = {&pointer, &value, &elements};
    parameters.kernelParams = arguments;
    CHECK_CUDA(cudaGraphLaunch(exec, a)); // (10 + 1) * 2 = 22
    CHECK_CUDA(cudaGraphExecKernelNodeSetParams(exec, nodes[0], &parameters));
    CHECK_CUDA(cudaGraphLaunch(exec, a)); // (22 + 7) * 2 = 58
    CHECK_CUDA(cudaStreamSynchronize(a));
    CHECK(x.host()[3] == 58 && y.host()[3] == 290);

    // A whole graph of the same shape.
    CHECK_CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    add<<<2, 256, 0, a>>>(x.data(), 1, n);
    cudaGraph_t other = nullptr;
    CHECK_CUDA(cudaStreamEndCapture(a, &other));
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(exec, other, &info) == cudaErrorGraphExecUpdateFailure &&
          info.result == cudaGraphExecUpdateErrorTopologyChanged);
    clear();
    CHECK_CUDA(cudaGraphExecUpdate(exec, graph, &info));
    CHECK_CUDA(cudaGraphLaunch(exec, a)); // adds 1 again
    CHECK_CUDA(cudaStreamSynchronize(a));
    CHECK(x.host()[3] == 118);
    CHECK_CUDA(cudaGraphExecDestroy(exec));
    CHECK_CUDA(cudaGraphDestroy(other));
    CHECK_CUDA(cudaGraphDestroy(graph));
}

void test_built_graph() {
    cudaGraph_t graph;
    CHECK_CUDA(cudaGraphCreate(&graph, 0));
    check::Device<float> x(std::size_t{n});
    float* pointer = x.data();
    float value = 2.5f;
    int elements = n;
    void* arguments[] = {&pointer, &value, &elements};
    cudaMemsetParams fill{};
    fill.dst = pointer, fill.elementSize = 4, fill.width = n, fill.height = 1, fill.value = 0x40000000; // 2.0f
    cudaKernelNodeParams kernel{};
    kernel.func = reinterpret_cast<void*>(add), kernel.gridDim = dim3(2), kernel.blockDim = dim3(256),
    kernel.kernelParams = arguments;
    cudaGraphNode_t first, second;
    CHECK_CUDA(cudaGraphAddMemsetNode(&first, graph, nullptr, 0, &fill));
    CHECK_CUDA(cudaGraphAddKernelNode(&second, graph, &first, 1, &kernel));
    cudaGraphExec_t exec;
    CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CHECK_CUDA(cudaGraphLaunch(exec, nullptr));
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK(x.host()[n - 1] == 4.5f);
    CHECK_CUDA(cudaGraphAddDependencies(graph, &second, &first, nullptr, 1)); // a circle
    cudaGraphExec_t circle;
    CHECK(cudaGraphInstantiate(&circle, graph, 0) == cudaErrorInvalidValue);
    clear();
}

void test_capture_errors() {
    cudaStream_t a, b;
    cudaEvent_t event;
    CHECK_CUDA(cudaStreamCreate(&a));
    CHECK_CUDA(cudaStreamCreate(&b));
    CHECK_CUDA(cudaEventCreate(&event));
    check::Device<float> x{std::vector<float>(n)};
    cudaGraph_t graph;
    CHECK_CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamSynchronize(a) == cudaErrorStreamCaptureUnsupported);
    CHECK(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureInvalidated && graph == nullptr);
    CHECK_CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    void* memory = nullptr;
    CHECK(cudaMalloc(&memory, 16) == cudaErrorStreamCaptureUnsupported);
    CHECK(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK_CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    add<<<2, 256>>>(x.data(), 1, n); // legacy stream, while a blocking stream captures
    CHECK(cudaGetLastError() == cudaErrorStreamCaptureImplicit);
    CHECK(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK_CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    CHECK_CUDA(cudaEventRecord(event, a));
    CHECK_CUDA(cudaStreamWaitEvent(b, event, 0));
    add<<<2, 256, 0, b>>>(x.data(), 1, n);
    CHECK(cudaStreamEndCapture(a, &graph) == cudaErrorStreamCaptureUnjoined);
    clear();
}

} // namespace

int main() {
    test_graph();
    test_built_graph();
    test_capture_errors();
    return check::summary();
}
