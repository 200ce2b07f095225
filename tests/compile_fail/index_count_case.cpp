// One index for an element of a matrix.
// expect: element access takes one index per axis
// expect: Shape<4, 6>
#include <tenon/expr/expr.hpp>

using namespace tenon;

#ifdef MISTAKE
constexpr int axes = 1;
#else
constexpr int axes = 2;
#endif

int main() {
    Tensor<float, Shape<4, 6>> x;
    if constexpr (axes == 1) return x(3) > 0;
    else return x(3, 5) > 0;
}
