// A Linear without outputs.
// expect: Layer<0>
// expect: Linear
// expect: option_must_be_positive
// expect: Arrives<13>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{13}, Linear{.in = 13}>;
#else
using Net = Network<Input{13}, Linear{.in = 13, .out = 2}>;
#endif

int main() { return Net::parameters == 0; }
