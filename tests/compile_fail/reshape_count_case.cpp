// A reshape that would need more elements than there are.
// expect: reshape() must keep the number of elements
// expect: Shape<5, 5>
// expect: Shape<4, 6>
#include <tenon/expr/expr.hpp>

using namespace tenon;

#ifdef MISTAKE
using To = Shape<5, 5>;
#else
using To = Shape<3, 8>;
#endif

int main() {
    Tensor<float, Shape<4, 6>> x;
    return reshape<To>(x)(0, 0) > 0;
}
