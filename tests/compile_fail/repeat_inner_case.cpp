// A block that can be repeated once, but not twice.
// expect: Layer<0, 1, 0>
// expect: Repeat
// expect: in_differs_from_what_arrives
// expect: Arrives<8, 8, 8>
// expect: Expected<4, 8, 8>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{4, 8, 8}, Repeat<2, Conv2d{.in = 4, .out = 8, .kernel = 1}, ReLU{}>>;
#else
using Net = Network<Input{4, 8, 8}, Repeat<2, Conv2d{.in = 4, .out = 4, .kernel = 1}, ReLU{}>>;
#endif

int main() { return Net::parameters == 0; }
