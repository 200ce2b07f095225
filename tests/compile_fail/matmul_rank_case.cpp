// A matrix times a row.
// expect: matmul takes two matrices
// expect: Shape<3, 4>
// expect: Shape<4>
#include <tenon/expr/expr.hpp>

using namespace tenon;

#ifdef MISTAKE
using Right = Shape<4>;
#else
using Right = Shape<4, 1>;
#endif

int main() {
    Tensor<float, Shape<3, 4>> x;
    Tensor<float, Right> w;
    Tensor y = matmul(x, w);
    return y.data()[0] > 0;
}
