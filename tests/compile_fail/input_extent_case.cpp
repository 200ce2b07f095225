// An image of height 0.
// expect: Input
// expect: extents_must_be_positive
// expect: Arrives<1, 0, 28>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 0, 28}, Conv2d{.out = 4, .kernel = 3}>;
#else
using Net = Network<Input{1, 28, 28}, Conv2d{.out = 4, .kernel = 3}>;
#endif

int main() { return Net::parameters == 0; }
