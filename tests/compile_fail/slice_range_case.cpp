// A slice that ends behind the axis.
// expect: this view does not fit this shape
// expect: Slice<1, 0, 7
// expect: Shape<4, 6>
#include <tenon/expr/expr.hpp>

using namespace tenon;

#ifdef MISTAKE
constexpr int end = 7;
#else
constexpr int end = 6;
#endif

int main() {
    Tensor<float, Shape<4, 6>> x;
    return slice<1, 0, end>(x)(0, 0) > 0;
}
