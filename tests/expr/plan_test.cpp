#include <tenon/expr/expr.hpp>

#include <doctest/doctest.h>

using namespace tenon;

namespace {

using S = Shape<64, 100>;
Tensor<float, S> x, y;
Tensor<float, Shape<100>> row;
Tensor<float, Shape<100, 32>> w;

/// How a statement that assigns a value of type E to a new tensor is computed.
template <class E>
using Lowered =
    expr::Lowered<expr::Leaves::distinct, expr::Statement<typename E::value_type, typename E::shape,
                                                          strides_of<contiguous_strides(E::shape::dims)>, E>>;
template <class E>
constexpr expr::Plan const& plan_of = Lowered<E>::plan;

template <class E>
constexpr expr::Stage const& last_stage = plan_of<E>.stage[plan_of<E>.stages - 1];

/// The programs of two plans, step by step.
template <class A, class B>
constexpr bool same_programs() {
    if (plan_of<A>.codes != plan_of<B>.codes) return false;
    for (int i = 0; i < plan_of<A>.codes; ++i)
        if (plan_of<A>.code[i] != plan_of<B>.code[i]) return false;
    return true;
}

using Kind = expr::Stage::Kind;

// Elementwise: one loop, whatever is written, and no temporary.
using Elementwise = decltype(relu(x * 2 + row) - exp(y) / (row + 1));
static_assert(plan_of<Elementwise>.stages == 1 && plan_of<Elementwise>.temporaries == 0);
static_assert(last_stage<Elementwise>.kind == Kind::loop && last_stage<Elementwise>.loops == 2);

// Reductions along rows: one stage; the second pass waits for the first one, a third one for what it gives.
using Softmax = decltype(softmax<1>(x));
static_assert(plan_of<Softmax>.stages == 1 && plan_of<Softmax>.temporaries == 0);
static_assert(last_stage<Softmax>.kind == Kind::rows && !last_stage<Softmax>.across &&
              last_stage<Softmax>.along_result);
static_assert(last_stage<Softmax>.members == 2 && last_stage<Softmax>.member[1].phase == 1);
static_assert(last_stage<decltype(sum<1>(exp(x - max<1>(x))))>.members == 2);

// Two reductions that do not wait for each other share a pass.
using Moments = decltype(mean<1>(x * x) - square(mean<1>(x)));
static_assert(plan_of<Moments>.stages == 1 && last_stage<Moments>.members == 2);
static_assert(last_stage<Moments>.member[0].phase == 0 && last_stage<Moments>.member[1].phase == 0);

// Along columns, neighbouring columns go together.
static_assert(last_stage<decltype(sum<0>(x))>.across && last_stage<decltype(softmax<0>(x))>.across);

// Reductions along different axes: one of them goes first, into a temporary of its own size.
using Mixed = decltype(x / sum<1>(x) - mean<0>(x));
static_assert(plan_of<Mixed>.stages == 2 && plan_of<Mixed>.temporaries == 1);
static_assert(plan_of<Mixed>.temporary[0] == 64 || plan_of<Mixed>.temporary[0] == 100);

// A product with an epilogue is one stage; the second of two products goes first, as does a factor that must be
// computed.
using Layer = decltype(relu(matmul(x, w) + 1.0f) * 2);
static_assert(plan_of<Layer>.stages == 1 && last_stage<Layer>.kind == Kind::product && plan_of<Layer>.temporaries == 0);
static_assert(plan_of<decltype(matmul(x, w) - matmul(y, w))>.temporaries == 1);
static_assert(plan_of<decltype(matmul(x + y, w))>.temporary[0] == S::count);
static_assert(plan_of<decltype(softmax<1>(matmul(x, w)))>.temporary[0] == 64 * 32);

// Kernels are keyed by what is computed, not by how it was written.
struct Half {
    constexpr auto operator()(auto a) const { return relu(a) * 0.5f; }
};
struct HalfAgain {
    constexpr auto operator()(auto a) const { return 0.5f * relu(a); }
};
struct AlsoHalf {
    constexpr auto operator()(auto a) const {
        auto const positive = relu(a);
        return positive * 0.5f;
    }
};
static_assert(same_programs<decltype(map(Half{}, x + row)), decltype(map(AlsoHalf{}, x + row))>());
static_assert(
    !same_programs<decltype(map(Half{}, x + row)), decltype(map(HalfAgain{}, x + row))>()); // operands' order counts
static_assert(same_programs<decltype(x - max<1>(x, keep)), decltype(x - max<1>(x))>());

} // namespace

TEST_CASE("a statement's plan says what it costs before it runs") {
    int loads = 0, stores = 0;
    for (int i = 0; i < plan_of<Elementwise>.codes; ++i) {
        Fn const fn = Instruction::decode(plan_of<Elementwise>.code[i]).fn;
        loads += fn == Fn::load;
        stores += fn == Fn::store;
    }
    CHECK(loads == 6); // x, 2, row, y, row again (another leaf), 1
    CHECK(stores == 1);
    CHECK(plan_of<Elementwise>.codes - loads - stores == 7); // *, +, relu, exp, +, /, -
}
