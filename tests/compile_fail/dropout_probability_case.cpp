// A probability above 1: someone meant per cent.
// expect: Layer<0>
// expect: Dropout
// expect: probability_is_outside_0_to_1
// expect: Arrives<13>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{13}, Dropout{.probability = 50.0f}, Linear{.out = 2}>;
#else
using Net = Network<Input{13}, Dropout{.probability = 0.5f}, Linear{.out = 2}>;
#endif

int main() { return Net::parameters == 0; }
