// A negative padding.
// expect: Layer<0>
// expect: Conv2d
// expect: option_must_not_be_negative
// expect: Arrives<1, 8, 8>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3, .padding = -1}>;
#else
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3, .padding = 1}>;
#endif

int main() { return Net::parameters == 0; }
