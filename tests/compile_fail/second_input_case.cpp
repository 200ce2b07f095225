// An Input in the middle.
// expect: Layer<1>
// expect: Input
// expect: Input_must_come_first
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3}, Input{4, 6, 6}>;
#else
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3}, Expect{4, 6, 6}>;
#endif

int main() { return Net::parameters == 0; }
