// A comment that the compiler checks, and finds untrue.
// expect: Layer<1>
// expect: Expect
// expect: shape_differs_from_what_arrives
// expect: Arrives<4, 6, 6>
// expect: Expected<4, 8, 8>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3}, Expect{4, 8, 8}>;
#else
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3}, Expect{4, 6, 6}>;
#endif

int main() { return Net::parameters == 0; }
