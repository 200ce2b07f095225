// Error state and error texts.
#include "call.hpp"
#include "device.hpp"
#include "execution/settings.hpp"

namespace emu {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
cudaError_t broken = cudaSuccess;

struct ErrorText {
    cudaError_t code;
    char const* name;
    char const* text;
};

#define EMU_ERROR(name, text)                                                                                          \
    { name, #name, text }
constexpr ErrorText texts[] = {
    EMU_ERROR(cudaSuccess, "no error"),
    EMU_ERROR(cudaErrorInvalidValue, "invalid argument"),
    EMU_ERROR(cudaErrorMemoryAllocation, "out of memory"),
    EMU_ERROR(cudaErrorInitializationError, "initialization error"),
    EMU_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    EMU_ERROR(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    EMU_ERROR(cudaErrorInvalidSymbol, "invalid device symbol"),
    EMU_ERROR(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    EMU_ERROR(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    EMU_ERROR(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    EMU_ERROR(cudaErrorInvalidDeviceFunction, "invalid device function"),
    EMU_ERROR(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    EMU_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
    EMU_ERROR(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    EMU_ERROR(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    EMU_ERROR(cudaErrorNotReady, "device not ready"),
    EMU_ERROR(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    EMU_ERROR(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    EMU_ERROR(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    EMU_ERROR(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"),
    EMU_ERROR(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"),
    EMU_ERROR(cudaErrorAssert, "device-side assert triggered"),
    EMU_ERROR(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    EMU_ERROR(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    EMU_ERROR(cudaErrorMisalignedAddress, "misaligned address"),
    EMU_ERROR(cudaErrorLaunchFailure, "unspecified launch failure"),
    EMU_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    EMU_ERROR(cudaErrorNotPermitted, "operation not permitted"),
    EMU_ERROR(cudaErrorNotSupported, "operation not supported"),
    EMU_ERROR(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
    EMU_ERROR(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture"),
    EMU_ERROR(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences"),
    EMU_ERROR(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began"),
    EMU_ERROR(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    EMU_ERROR(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream"),
    EMU_ERROR(cudaErrorStreamCaptureImplicit,
              "operation would make the legacy stream depend on a capturing blocking stream"),
    EMU_ERROR(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream"),
    EMU_ERROR(cudaErrorStreamCaptureWrongThread,
              "attempt to terminate a thread-local capture sequence from another thread"),
    EMU_ERROR(cudaErrorGraphExecUpdateFailure,
              "the graph update was not performed because it included changes which violated constraints"),
    EMU_ERROR(cudaErrorUnknown, "unknown error"),
};
#undef EMU_ERROR

ErrorText const* find(cudaError_t error) {
    for (ErrorText const& entry : texts)
        if (entry.code == error) return &entry;
    return nullptr;
}

} // namespace

std::recursive_mutex& runtime_lock() {
    static std::recursive_mutex* const lock = new std::recursive_mutex;
    return *lock;
}

cudaError_t startup_error() {
    if (settings().driver_version / 1000 < CUDART_VERSION / 1000) return cudaErrorInsufficientDriver;
    return visible_devices() == 0 ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t sticky_error() { return broken; }
void set_sticky_error(cudaError_t error) {
    if (broken == cudaSuccess) broken = error;
}

cudaError_t record_error(cudaError_t error) {
    if (error != cudaSuccess) last_error = error;
    return error;
}

} // namespace emu

extern "C" {

cudaError_t cudaGetLastError() {
    cudaError_t const error = emu::last_error;
    emu::last_error = emu::broken;
    return error;
}

cudaError_t cudaPeekAtLastError() { return emu::last_error; }

char const* cudaGetErrorName(cudaError_t error) {
    auto const* const entry = emu::find(error);
    return entry ? entry->name : "unrecognized error code";
}

char const* cudaGetErrorString(cudaError_t error) {
    auto const* const entry = emu::find(error);
    return entry ? entry->text : "unrecognized error code";
}

cudaError_t cudaDriverGetVersion(int* version) {
    if (!version) return emu::record_error(cudaErrorInvalidValue);
    *version = emu::settings().driver_version;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    if (!version) return emu::record_error(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

} // extern "C"
