// A branch that does not give back the shape that it was given.
// expect: Layer<1>
// expect: Residual
// expect: branch_changes_the_shape
// expect: Arrives<4, 6, 6>
// expect: Expected<4, 8, 8>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 1}, Residual<Conv2d{.out = 4, .kernel = 3, .padding = 0}, ReLU{}>>;
#else
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 1}, Residual<Conv2d{.out = 4, .kernel = 3, .padding = 1}, ReLU{}>>;
#endif

int main() { return Net::parameters == 0; }
