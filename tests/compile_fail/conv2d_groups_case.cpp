// Groups that do not divide the channels.
// expect: Layer<0>
// expect: Conv2d
// expect: groups_do_not_divide_the_channels
// expect: Arrives<6, 8, 8>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{6, 8, 8}, Conv2d{.out = 12, .kernel = 3, .groups = 4}>;
#else
using Net = Network<Input{6, 8, 8}, Conv2d{.out = 12, .kernel = 3, .groups = 3}>;
#endif

int main() { return Net::parameters == 0; }
