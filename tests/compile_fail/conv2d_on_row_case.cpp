// A convolution after Flatten.
// expect: Layer<1>
// expect: Conv2d
// expect: layer_takes_another_rank
// expect: Arrives<64>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 8, 8}, Flatten{}, Conv2d{.out = 4, .kernel = 3}>;
#else
using Net = Network<Input{1, 8, 8}, ReLU{}, Conv2d{.out = 4, .kernel = 3}>;
#endif

int main() { return Net::parameters == 0; }
