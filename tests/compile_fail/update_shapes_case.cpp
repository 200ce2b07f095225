// Two tensors of different shapes written in one loop.
// expect: update() writes tensors of one shape
// expect: Shape<4, 6>
// expect: Shape<24>
#include <tenon/expr/expr.hpp>

using namespace tenon;

#ifdef MISTAKE
using State = Shape<24>;
#else
using State = Shape<4, 6>;
#endif

int main() {
    Tensor<float, Shape<4, 6>> p, g;
    Tensor<float, State> v;
    update(p = p - 0.1f * g, v = 0.9f * v);
    return p(0, 0) > 0;
}
