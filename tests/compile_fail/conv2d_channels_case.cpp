// A colour convolution over a grey image.
// expect: Layer<0>
// expect: Conv2d
// expect: in_differs_from_what_arrives
// expect: Arrives<1, 28, 28>
// expect: Expected<3, 28, 28>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 28, 28}, Conv2d{.in = 3, .out = 4, .kernel = 3}, ReLU{}>;
#else
using Net = Network<Input{1, 28, 28}, Conv2d{.in = 1, .out = 4, .kernel = 3}, ReLU{}>;
#endif

int main() { return Net::parameters == 0; }
