// A mistake inside a branch: the second number is the layer's there.
// expect: Layer<1, 2>
// expect: Residual
// expect: in_differs_from_what_arrives
// expect: Arrives<8, 8, 8>
// expect: Expected<4, 8, 8>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 1},
                    Residual<Conv2d{.out = 8, .kernel = 1}, ReLU{}, Conv2d{.in = 4, .out = 4, .kernel = 1}>>;
#else
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 1},
                    Residual<Conv2d{.out = 8, .kernel = 1}, ReLU{}, Conv2d{.in = 8, .out = 4, .kernel = 1}>>;
#endif

int main() { return Net::parameters == 0; }
