// A kernel that is larger than the image.
// expect: Layer<2>
// expect: Conv2d
// expect: kernel_is_larger_than_the_padded_input
// expect: Arrives<4, 6, 6>
// expect: Expected<4, 7, 7>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3}, ReLU{}, Conv2d{.out = 4, .kernel = 7}>;
#else
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3}, ReLU{}, Conv2d{.out = 4, .kernel = 6}>;
#endif

int main() { return Net::parameters == 0; }
