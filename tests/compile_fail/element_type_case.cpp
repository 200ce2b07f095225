// A tensor of something that is no number.
// expect: a tensor's elements are float, double, bool, std::uint8_t, std::int32_t or std::int64_t
// expect g++: char*
// expect clang++: char *
#include <tenon/expr/expr.hpp>

using namespace tenon;

#ifdef MISTAKE
using Element = char*;
#else
using Element = std::uint8_t;
#endif

int main() {
    Tensor<Element, Shape<4, 6>> x;
    return x(0, 0) != 0;
}
