// A value that does not fit into the tensor that it is assigned to.
// expect: Shape<3, 4>
// expect: Shape<4, 3>
#include <tenon/expr/expr.hpp>

using namespace tenon;

#ifdef MISTAKE
using Target = Shape<4, 3>;
#else
using Target = Shape<3, 4>;
#endif

int main() {
    Tensor<float, Shape<3, 4>> x;
    Tensor<float, Target> y;
    y = 2 * x;
    return y(0, 0) > 0;
}
