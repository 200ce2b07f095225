// A stride of 0.
// expect: Layer<0>
// expect: Conv2d
// expect: option_must_be_positive
// expect: Arrives<1, 8, 8>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3, .stride = 0}>;
#else
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3, .stride = 2}>;
#endif

int main() { return Net::parameters == 0; }
