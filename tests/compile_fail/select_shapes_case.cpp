// select() with a condition of another shape.
// expect: these two shapes do not broadcast
// expect: Shape<3, 4>
// expect: Shape<4, 3>
#include <tenon/expr/expr.hpp>

using namespace tenon;

#ifdef MISTAKE
using Mask = Shape<4, 3>;
#else
using Mask = Shape<3, 4>;
#endif

int main() {
    Tensor<float, Shape<3, 4>> x;
    Tensor<float, Mask> mask;
    Tensor<float, Shape<3, 4>> y = select(mask > 0, x, 0.0f);
    return y(0, 0) > 0;
}
