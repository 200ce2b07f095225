// A pool with more padding than half of its kernel: some windows would hold nothing.
// expect: Layer<1>
// expect: MaxPool2d
// expect: padding_is_over_half_of_the_kernel
// expect: Arrives<4, 6, 6>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3}, MaxPool2d{.kernel = 3, .padding = 2}>;
#else
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3}, MaxPool2d{.kernel = 3, .padding = 1}>;
#endif

int main() { return Net::parameters == 0; }
