// A network of nothing.
// expect: network_must_begin_with_Input
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<>;
#else
using Net = Network<Input{13}, Linear{.out = 2}>;
#endif

int main() { return Net::parameters == 0; }
