// A Linear on an image, without Flatten.
// expect: Layer<1>
// expect: Linear
// expect: layer_takes_another_rank
// expect: Arrives<1, 8, 8>
// expect: Expected<64>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 8, 8}, ReLU{}, Linear{.out = 10}>;
#else
using Net = Network<Input{1, 8, 8}, Flatten{}, Linear{.out = 10}>;
#endif

int main() { return Net::parameters == 0; }
