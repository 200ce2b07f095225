// A network that does not fit together, whose user states the number of its parameters: one error is enough.
// expect: Layer<2>
// expect: Linear
// expect: in_differs_from_what_arrives
// expect: Arrives<144>
// expect: Expected<100>
#include "layers.hpp"

using namespace tenon;

#ifdef MISTAKE
constexpr int features = 100;
#else
constexpr int features = 4 * 6 * 6;
#endif

using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3}, Flatten{}, Linear{.in = features, .out = 3}>;

static_assert(Net::parameters == 4 * 9 + 4 + 3 * 144 + 3);

int main() {}
