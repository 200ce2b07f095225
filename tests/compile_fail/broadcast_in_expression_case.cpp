// The same deep inside an expression: the shapes at that place are named.
// expect: these two shapes do not broadcast
// expect: Shape<8, 5>
// expect: Shape<8, 4>
#include <tenon/expr/expr.hpp>

using namespace tenon;

#ifdef MISTAKE
using Bias = Shape<8, 4>;
#else
using Bias = Shape<8, 1>;
#endif

int main() {
    Tensor<float, Shape<8, 3>> x;
    Tensor<float, Shape<3, 5>> w;
    Tensor<float, Bias> b;
    Tensor<float, Shape<8, 5>> y = sqrt(relu(matmul(x, w) + b) * 2 + 1);
    return y(0, 0) > 0;
}
