// 3 x 4 times 3 x 4.
// expect: matmul of matrices that do not fit
// expect: Shape<3, 4>
#include <tenon/expr/expr.hpp>

using namespace tenon;

#ifdef MISTAKE
using Right = Shape<3, 4>;
#else
using Right = Shape<4, 3>;
#endif

int main() {
    Tensor<float, Shape<3, 4>> x;
    Tensor<float, Right> w;
    Tensor y = matmul(x, w);
    return y(0, 0) > 0;
}
