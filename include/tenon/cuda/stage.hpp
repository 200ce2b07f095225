/// @file
/// What CUDA kernels of stages are made of. A stage becomes a job: a type of integers alone, whose `run` does the work of one block.
/// A kernel runs the blocks of one job, or of several that do not depend on one another.
///
///     struct Job {
///         static constexpr int threads;                          // in a block
///         static constexpr int slots;                            // places that it is told, see graph::Slot
///         static constexpr index_t shared;                       // bytes of shared memory
///         static constexpr index_t blocks(index_t capacity);     // for a batch of so many samples
///         template <class C> __device__ static void run(C const& context, index_t block, std::byte* shared);
///         static constexpr index_t partial_floats, counters;     // of its workspace, see detail::Workspace; may be missing,
///         static constexpr int least_architecture;               // with this: the least compute capability, as 80 for 8.0
///     };
#pragma once

#include <tenon/cpu/stage.hpp>
#include <tenon/cuda/tile/epilogue.hpp>

#include <tuple>

namespace tenon::cuda {

using cpu::EpilogueOf;
using enum graph::Slot;

/// Where a job's buffers lie in the arena, in bytes, by slot: a kernel's argument.
template <int Count>
struct Places {
    static constexpr int count = Count;
    index_t offset[Count];
};

/// What a job knows while it runs. Slots are constants, so that a place is read straight from the kernel's arguments.
template <class P>
struct Context {
    std::byte* arena;
    int samples; ///< in this batch
    P const& places;
    float* partial = nullptr;     ///< Job::partial_floats for this launch alone
    unsigned* counters = nullptr; ///< Job::counters, zero before and after

    template <class T, int S>
    [[nodiscard]] __device__ T* at() const {
        return reinterpret_cast<T*>(arena + places.offset[S]);
    }
};

// --- operands of a program

/// An operand's way through an iteration space: axes that move alike are one, axes along which it stands still are left out.
struct Axes {
    int count = 0;
    index_t extent[Dims::max_rank + 1]{}, stride[Dims::max_rank + 1]{}, inner[Dims::max_rank + 1]{};
    bool outermost[Dims::max_rank + 1]{};
};

[[nodiscard]] constexpr Axes merge_axes(int rank, index_t const* extent, index_t const* stride) {
    Axes merged;
    index_t inner = 1;
    for (int axis = rank - 1; axis >= 0; --axis) { // innermost first
        if (extent[axis] == 1) continue;
        int const last = merged.count - 1;
        bool const continues = last >= 0 && merged.inner[last] * merged.extent[last] == inner && stride[axis] == merged.stride[last] * merged.extent[last] &&
                               (stride[axis] != 0) == (merged.stride[last] != 0);
        if (continues) {
            merged.extent[last] *= extent[axis];
        } else if (stride[axis] != 0) {
            merged.extent[merged.count] = extent[axis];
            merged.stride[merged.count] = stride[axis];
            merged.inner[merged.count] = inner;
            ++merged.count;
        }
        inner *= extent[axis];
    }
    for (int i = 0; i < merged.count; ++i) merged.outermost[i] = merged.inner[i] * merged.extent[i] == inner;
    return merged;
}

/// Elements from an operand's first one to that of element `at` of a sample; Extents and strides of the sample's axes.
template <class E, index_t... Stride>
struct Distance;
template <index_t... E, index_t... Stride>
struct Distance<Extents<E...>, Stride...> {
    static constexpr Axes axes = [] {
        constexpr index_t extent[] = {E..., 1}, stride[] = {Stride..., 0};
        return merge_axes(static_cast<int>(sizeof...(E)), extent, stride);
    }();
    static constexpr int count = axes.count;

    /// Are K neighbours, the first a multiple of K, one element?
    static constexpr bool same(index_t k) {
        for (int i = 0; i < count; ++i)
            if (axes.inner[i] % k != 0) return false;
        return true;
    }
    /// Do they lie next to each other, the first at a multiple of K?
    static constexpr bool line(index_t k) {
        bool found = false;
        for (int i = 0; i < count; ++i) {
            bool const innermost = axes.inner[i] == 1;
            if (innermost ? axes.stride[i] != 1 || axes.extent[i] % k != 0 : axes.inner[i] % k != 0 || axes.stride[i] % k != 0) return false;
            found = found || innermost;
        }
        return found;
    }

    template <int I, class Index>
    __device__ static Index term(Index at) {
        constexpr Axes a = axes;
        constexpr auto extent = static_cast<Index>(a.extent[I]), stride = static_cast<Index>(a.stride[I]), inner = static_cast<Index>(a.inner[I]);
        Index steps = at;
        if constexpr (inner != 1) steps = steps / inner;
        if constexpr (!a.outermost[I]) steps = steps % extent;
        return steps * stride;
    }
    template <class Index, int... I>
    __device__ static Index sum(Index at, std::integer_sequence<int, I...>) {
        return (Index{0} + ... + term<I>(at));
    }
    template <class Index>
    __device__ static Index of(Index at) {
        return sum(at, std::make_integer_sequence<int, count>{});
    }
};

/// Step I of a program P as constants: device code may read them, not call the functions that find them.
template <class P, int I>
struct Step {
    static constexpr Instruction instruction = P::step(I);
    static constexpr Fn fn = instruction.fn;
    static constexpr int operand = instruction.operand();
    static constexpr float value = instruction.value();
    static constexpr int arguments = arity(instruction.fn);
    static constexpr int argument[3] = {instruction.a, instruction.b, instruction.c};
    static constexpr bool mask[3] = {takes_mask(instruction.fn, 0), takes_mask(instruction.fn, 1), takes_mask(instruction.fn, 2)};
};

/// The value of step I for each of K elements, while it is in registers.
template <int I, class T, int K>
struct Register {
    T value[K];
};
template <class P, int K, class Steps>
struct RegistersOf;
template <class P, int K, int... I>
struct RegistersOf<P, K, std::integer_sequence<int, I...>> {
    struct type : Register<I, result_t<Step<P, I>::fn, float>, K>... {};
};

/// Does program P store an operand that lies in memory? InMemory: which of its operands do.
template <class P, bool... InMemory>
inline constexpr bool stores_in_memory = [] {
    constexpr bool in_memory[] = {InMemory..., false};
    for (int i = 0; i < P::size; ++i)
        if (P::step(i).fn == Fn::store && in_memory[P::step(i).operand()]) return true;
    return false;
}();

/// A phase's program over elements of its iteration space; `Of` is its cpu::Epilogue with one lane. Indices are 32 bits wide where that is enough.
template <class Of>
struct Epilogue;

template <int Lanes, bool Batched, int FirstSlot, index_t... E, class Program, class... Fields>
struct Epilogue<cpu::Epilogue<Lanes, Batched, FirstSlot, Extents<E...>, Program, Fields...>> {
    static_assert(Lanes == 1, "tenon: the CUDA backend lays samples out one after the other");
    static constexpr index_t count = (index_t{1} * ... * E); ///< elements, of one sample if batched
    static constexpr bool batched = Batched;
    static constexpr bool empty = Program::size == 0;
    static constexpr int slots = FirstSlot + static_cast<int>(sizeof...(Fields));
    /// Does it leave anything in memory?
    static constexpr bool stores = stores_in_memory<Program, !std::is_same_v<Fields, cpu::TileField>...>;
    using Index = std::conditional_t<(count < (index_t{1} << 31)), std::uint32_t, std::uint64_t>;

    /// Runs the program for K elements at once: all loads come before the first store.
    /// @param sample of each element; 0 unless batched  @param at number of each element within its sample
    /// @param tile what the anchor made for each; afterwards what the program leaves for the next phase
    template <int K, class C>
    __device__ static void run(C const& c, index_t const (&sample)[K], Index const (&at)[K], float (&tile)[K]) {
        if constexpr (!empty) {
            typename RegistersOf<Program, K, std::make_integer_sequence<int, Program::size>>::type values;
            steps<K, false>(c, sample, at, tile, values, std::make_integer_sequence<int, Program::size>{});
        }
    }
    /// For K neighbours of one sample; `first` is a multiple of K, a power of two. Reads and writes lines where memory has them.
    template <int K, class C>
    __device__ static void run_line(C const& c, index_t sample, Index first, float (&tile)[K]) {
        if constexpr (!empty) {
            index_t samples[K];
            Index at[K];
#pragma unroll
            for (int k = 0; k < K; ++k) samples[k] = sample, at[k] = first + static_cast<Index>(k);
            typename RegistersOf<Program, K, std::make_integer_sequence<int, Program::size>>::type values;
            steps<K, true>(c, samples, at, tile, values, std::make_integer_sequence<int, Program::size>{});
        }
    }
    /// For one element; returns what the program leaves in the tile.
    template <class C>
    __device__ static float run(C const& c, index_t sample, Index at, float tile) {
        index_t const samples[1] = {sample};
        Index const elements[1] = {at};
        float tiles[1] = {tile};
        run<1>(c, samples, elements, tiles);
        return tiles[0];
    }

private:
    template <int K, bool Line, class C, class Values, int... I>
    __device__ static void steps(C const& c, index_t const (&sample)[K], Index const (&at)[K], float (&tile)[K], Values& values, std::integer_sequence<int, I...>) {
        (step<I, K, Line>(c, sample, at, tile, values), ...);
    }

    template <int I, int K, bool Line, class C, class Values>
    __device__ static void step(C const& c, index_t const (&sample)[K], Index const (&at)[K], float (&tile)[K], Values& values) {
        using S = Step<Program, I>;
        constexpr Fn fn = S::fn;
        using Result = result_t<fn, float>;
        auto& result = static_cast<Register<I, Result, K>&>(values);
        if constexpr (Line && K > 1 && (fn == Fn::load || fn == Fn::store)) {
            line_step<I, K, fn == Fn::store>(c, sample, at, tile, values, result);
        } else {
#pragma unroll
            for (int k = 0; k < K; ++k) {
                if constexpr (fn == Fn::constant) result.value[k] = S::value;
                else if constexpr (fn == Fn::load || fn == Fn::random) result.value[k] = read<S::operand>(c, sample[k], at[k], tile[k]);
                else if constexpr (fn == Fn::store) write<S::operand>(c, sample[k], at[k], tile[k], argument<I, 0>(values, k));
                else result.value[k] = evaluate_scalar<fn, float>(argument<I, 0>(values, k), argument<I, 1>(values, k), argument<I, 2>(values, k));
            }
        }
    }

    /// A load or store of K neighbours: one access where they are one element or an aligned line.
    template <int I, int K, bool Stores, class C, class Values, class Result>
    __device__ static void line_step(C const& c, index_t const (&sample)[K], Index const (&at)[K], float (&tile)[K], Values& values, Register<I, Result, K>& result) {
        constexpr int operand = Step<Program, I>::operand;
        using M = Mover<field<operand>, FirstSlot + operand>;
        if constexpr (Stores) {
            float line[K];
#pragma unroll
            for (int k = 0; k < K; ++k) line[k] = argument<I, 0>(values, k);
            if constexpr (M::template line<K>) {
                tile::store_line<K>(M::place(c, sample[0], at[0]), line);
            } else {
#pragma unroll
                for (int k = 0; k < K; ++k) M::write(c, sample[k], at[k], tile[k], line[k]);
            }
        } else if constexpr (M::template line<K>) {
            tile::fetch_line<K>(result.value, M::place(c, sample[0], at[0]));
        } else if constexpr (M::template same<K>) {
            float const value = M::read(c, sample[0], at[0], tile[0]);
#pragma unroll
            for (int k = 0; k < K; ++k) result.value[k] = value;
        } else {
#pragma unroll
            for (int k = 0; k < K; ++k) result.value[k] = M::read(c, sample[k], at[k], tile[k]);
        }
    }

    /// Argument number `Which` of step I for element k, as number or truth value, whatever the step takes.
    template <int I, int Which, class Values>
    __device__ static auto argument(Values& values, [[maybe_unused]] int k) {
        using S = Step<Program, I>;
        if constexpr (Which >= S::arguments) {
            return 0;
        } else {
            auto const v = from_register<S::argument[Which]>(values, k);
            if constexpr (S::mask[Which]) return static_cast<bool>(v != 0);
            else return static_cast<float>(v);
        }
    }
    template <int From, class T, int K>
    __device__ static T from_register(Register<From, T, K>& values, int k) { // finds the one base of that number
        return values.value[k];
    }

    template <int O>
    using field = typename std::tuple_element<static_cast<std::size_t>(O), std::tuple<Fields...>>::type;

    template <int O, class C>
    __device__ static float read(C const& c, index_t sample, Index at, float tile) {
        return Mover<field<O>, FirstSlot + O>::read(c, sample, at, tile);
    }
    template <int O, class C>
    __device__ static void write(C const& c, index_t sample, Index at, float& tile, float value) {
        Mover<field<O>, FirstSlot + O>::write(c, sample, at, tile, value);
    }

    /// No two neighbours share anything.
    struct Single {
        template <int K>
        static constexpr bool same = false;
        template <int K>
        static constexpr bool line = false;
    };
    /// How a field's element is reached. same: K neighbours, the first a multiple of K, are one element; line: they lie in an aligned line.
    template <class Field, int S>
    struct Mover;
    template <int S>
    struct Mover<cpu::TileField, S> : Single {
        template <class C>
        __device__ static float read(C const&, index_t, Index, float tile) {
            return tile;
        }
        template <class C>
        __device__ static void write(C const&, index_t, Index, float& tile, float value) {
            tile = value;
        }
    };
    template <int S>
    struct Mover<cpu::NumberField, S> {
        template <int K>
        static constexpr bool same = true;
        template <int K>
        static constexpr bool line = false;
        template <class C>
        __device__ static float read(C const& c, index_t, Index, float) {
            return *c.template at<float const, S>();
        }
        template <class C>
        __device__ static void write(C const& c, index_t, Index, float&, float value) {
            *c.template at<float, S>() = value;
        }
    };
    template <class T, bool B, index_t N, index_t... Stride, int S>
    struct Mover<cpu::Field<T, B, N, Stride...>, S> {
        template <int K>
        static constexpr bool same = Distance<Extents<E...>, Stride...>::same(K);
        template <int K>
        static constexpr bool line = std::is_same_v<T, float> && N % K == 0 && Distance<Extents<E...>, Stride...>::line(K);
        template <class C>
        __device__ static T* place(C const& c, index_t sample, Index at) {
            T* const first = c.template at<T, S>() + Distance<Extents<E...>, Stride...>::of(at);
            if constexpr (B) return first + sample * N;
            else return first;
        }
        template <class C>
        __device__ static float read(C const& c, index_t sample, Index at, float) {
            return static_cast<float>(*place(c, sample, at));
        }
        template <class C>
        __device__ static void write(C const& c, index_t sample, Index at, float&, float value) {
            *place(c, sample, at) = static_cast<T>(value);
        }
    };
    template <index_t N, index_t... Stride, int S>
    struct Mover<cpu::RandomField<N, Stride...>, S> : Single {
        template <class C>
        __device__ static float read(C const& c, index_t sample, Index at, float) {
            auto const element = static_cast<std::uint64_t>(sample) * static_cast<std::uint64_t>(N) + static_cast<std::uint64_t>(Distance<Extents<E...>, Stride...>::of(at));
            return uniform(*c.template at<RandomSource const, S>(), element);
        }
    };
};

/// The pointwise program of stage S, phase Ph of a compiled graph C.
template <class C, int S, int Ph>
using DeviceEpilogue = Epilogue<EpilogueOf<C, S, Ph>>;

/// How CUDA computes a stage with this anchor: each operation's cuda_stage header specialises it with
///     template <class C, int S> static constexpr auto job();   // a value of the job's type
template <graph::Op const* Anchor>
struct CudaStage;

} // namespace tenon::cuda
