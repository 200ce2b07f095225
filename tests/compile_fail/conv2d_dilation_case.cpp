// A kernel that dilation makes larger than the image.
// expect: Layer<0>
// expect: Conv2d
// expect: kernel_is_larger_than_the_padded_input
// expect: Arrives<1, 8, 8>
// expect: Expected<1, 9, 9>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3, .dilation = 4}>;
#else
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3, .dilation = 3}>;
#endif

int main() { return Net::parameters == 0; }
