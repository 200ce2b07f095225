/// @file
/// The GPU as a place where a trainer can run: `Trainer trainer{LeNet{}, CrossEntropy{}, SGD{}, batch<64>, Cuda{}}`.
#pragma once

#include <tenon/cuda/machine.hpp>
#include <tenon/cuda/operations.hpp>
#include <tenon/train/backend.hpp>
#include <tenon/train/device_epoch.hpp>

namespace tenon::training {

template <>
struct Backend<Cuda> {
    using Machine = cuda::Machine;
    using Device = cuda::Device;
    template <class Of, class Factors = float32>
    using Source = cuda::Source<Of, Factors>;

    static constexpr int lanes_for(index_t) { return 1; }

    template <class... Compiled>
    static Cuda setup(Cuda const& where, int) {
        return where;
    }
};

} // namespace tenon::training
