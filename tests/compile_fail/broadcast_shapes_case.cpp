// A row that is shorter than the rows to which it is added.
// expect: these two shapes do not broadcast
// expect: Shape<64, 500>
// expect: Shape<400>
#include <tenon/expr/expr.hpp>

using namespace tenon;

#ifdef MISTAKE
using Row = Shape<400>;
#else
using Row = Shape<500>;
#endif

int main() {
    Tensor<float, Shape<64, 500>> x;
    Tensor<float, Row> c;
    Tensor<float, Shape<64, 500>> y = x + c;
    return y(0, 0) > 0;
}
