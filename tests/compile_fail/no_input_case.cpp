// A network that does not say what goes in.
// expect: network_must_begin_with_Input
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Conv2d{.out = 4, .kernel = 3}, ReLU{}>;
#else
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3}, ReLU{}>;
#endif

int main() { return Net::parameters == 0; }
