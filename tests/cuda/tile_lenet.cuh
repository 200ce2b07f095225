/// @file
/// The products of LeNet's training step with everything that rides on them: what the shape tests run.
#pragma once

#include <tenon/cuda/tile/choose.hpp>

namespace lenet {

using namespace tenon::cuda::tile;
using tenon::index_t;

using Conv1 = Convolution<1, 28, 28, 20, 5, 5>;
using Conv2 = Convolution<20, 12, 12, 50, 5, 5>;
using Pool = Windowed<2, 2>;

/// max over the window, + bias, relu; the index of the winner, the first of equals.
struct BiasPoolRelu {
    struct Args {
        float const* bias;
        float* y;
        std::uint8_t* index;
    };
    template <int Count>
    __device__ static void apply_window(Args const& a, Position const& position, float const (&value)[Count]) {
        float best = value[0];
        int winner = 0;
#pragma unroll
        for (int i = 1; i < Count; ++i)
            if (value[i] > best) best = value[i], winner = i;
        best += a.bias[position.channel];
        a.y[position.offset()] = best < 0 ? 0 : best;
        a.index[position.offset()] = static_cast<std::uint8_t>(winner);
    }
};

/// sum + bias; relu if wanted.
template <bool Relu>
struct Bias {
    struct Args {
        float const* bias;
        float* y;
    };
    template <int Count>
    __device__ static void apply(Args const& a, Position const& position, float const (&value)[Count]) {
        float result[Count];
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            result[i] = value[i] + a.bias[position.channel + i];
            if (Relu && result[i] < 0) result[i] = 0;
        }
        store_line<Count>(a.y + position.offset(), result);
    }
};

/// v = mu v + g, p = p - lr v
struct Momentum {
    struct Args {
        float* p;
        float* v;
        float mu, lr;
    };
    template <int Count>
    __device__ static void apply(Args const& a, Position const& position, float const (&value)[Count]) {
        index_t const at = position.offset();
        float p[Count], v[Count];
        fetch_line<Count>(p, a.p + at);
        fetch_line<Count>(v, a.v + at);
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            v[i] = a.mu * v[i] + value[i];
            p[i] -= a.lr * v[i];
        }
        store_line<Count>(a.v + at, v);
        store_line<Count>(a.p + at, p);
    }
};

template <class Precision, index_t Samples>
struct Step {
    template <class P, class Epilogue>
    using On = ProductFor<P, Precision, Epilogue, Samples>;

    using conv1_forward = On<Conv2dForward<Normalized, Conv1, Pool>, BiasPoolRelu>;
    using conv2_forward = On<Conv2dForward<Plain, Conv2, Pool>, BiasPoolRelu>;
    using fc1_forward = On<LinearForward<Plain, 800, 500>, Bias<true>>;
    using fc2_forward = On<LinearForward<Plain, 500, 10>, Bias<false>>;
    using fc2_input_gradient = On<LinearInputGradient<Plain, 500, 10>, Store>;
    using fc2_weight_gradient = On<LinearWeightGradient<Plain, Plain, 500, 10>, Momentum>;
    using fc1_input_gradient = On<LinearInputGradient<ReluMasked, 800, 500>, Store>;
    using fc1_weight_gradient = On<LinearWeightGradient<ReluMasked, Plain, 800, 500>, Momentum>;
    using conv2_input_gradient = On<Conv2dInputGradientFor<ReluUnpooled, Conv2, Pool, Precision, Samples>, Store>;
    using conv2_weight_gradient = On<Conv2dWeightGradient<ReluUnpooled, Plain, Conv2, Pool>, Momentum>;
    using conv1_weight_gradient = On<Conv2dWeightGradient<ReluUnpooled, Normalized, Conv1, Pool>, Momentum>;
};

} // namespace lenet
