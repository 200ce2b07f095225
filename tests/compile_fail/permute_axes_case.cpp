// A permutation that names an axis twice.
// expect: this view does not fit this shape
// expect: Permutation<2, 0, 0>
// expect: Shape<2, 3, 4>
#include <tenon/expr/expr.hpp>

using namespace tenon;

#ifdef MISTAKE
constexpr int last = 0;
#else
constexpr int last = 1;
#endif

int main() {
    Tensor<float, Shape<2, 3, 4>> x;
    return permute<2, 0, last>(x)(0, 0, 0) > 0;
}
