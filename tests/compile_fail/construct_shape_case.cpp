// A tensor made from a value of another shape.
// expect: Shape<3, 4>
// expect: Shape<2, 6>
#include <tenon/expr/expr.hpp>

using namespace tenon;

#ifdef MISTAKE
using Made = Shape<2, 6>;
#else
using Made = Shape<3, 4>;
#endif

int main() {
    Tensor<float, Shape<3, 4>> x;
    Tensor<float, Made> y = 2 * x;
    return y(0, 0) > 0;
}
