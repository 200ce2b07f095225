// A mistake in a layer that has a name.
// expect: Layer<0>
// expect: Conv2d
// expect: in_differs_from_what_arrives
// expect: Arrives<1, 8, 8>
// expect: Expected<2, 8, 8>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 8, 8}, Named<"stem", Conv2d{.in = 2, .out = 4, .kernel = 3}>>;
#else
using Net = Network<Input{1, 8, 8}, Named<"stem", Conv2d{.in = 1, .out = 4, .kernel = 3}>>;
#endif

int main() { return Net::parameters == 0; }
