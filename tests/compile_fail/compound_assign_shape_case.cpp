// += cannot make its target larger.
// expect: Shape<4>
// expect: Shape<3, 4>
#include <tenon/expr/expr.hpp>

using namespace tenon;

#ifdef MISTAKE
using Target = Shape<4>;
#else
using Target = Shape<3, 4>;
#endif

int main() {
    Tensor<float, Shape<3, 4>> x;
    Tensor<float, Target> y;
    y += x;
    return y.data()[0] > 0;
}
