// A pool that is larger than the image.
// expect: Layer<0>
// expect: AvgPool2d
// expect: kernel_is_larger_than_the_padded_input
// expect: Arrives<1, 8, 8>
// expect: Expected<1, 9, 9>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 8, 8}, AvgPool2d{.kernel = 9}, Conv2d{.out = 2, .kernel = 1}>;
#else
using Net = Network<Input{1, 8, 8}, AvgPool2d{.kernel = 8}, Conv2d{.out = 2, .kernel = 1}>;
#endif

int main() { return Net::parameters == 0; }
