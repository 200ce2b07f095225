// A sum along an axis that a matrix does not have.
// expect: a reduction along an axis that this shape does not have
// expect: Shape<4, 6>
// expect: 2
#include <tenon/expr/expr.hpp>

using namespace tenon;

#ifdef MISTAKE
constexpr int axis = 2;
#else
constexpr int axis = 1;
#endif

int main() {
    Tensor<float, Shape<4, 6>> x;
    Tensor<float, Shape<4>> y = sum<axis>(exp(x));
    return y(0) > 0;
}
