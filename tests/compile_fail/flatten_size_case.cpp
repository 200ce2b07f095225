// Flatten with the size that a 32 x 32 image would give.
// expect: Layer<6>
// expect: Flatten
// expect: flatten_size_differs_from_what_arrives
// expect: Arrives<50, 4, 4>
// expect: Expected<1250>
#include "layers.hpp"

using namespace tenon;

constexpr int features = 50 * 4 * 4;
#ifdef MISTAKE
constexpr int flat = 50 * 5 * 5;
#else
constexpr int flat = 50 * 4 * 4;
#endif

using LeNet = Network<
    Input{1, 28, 28},
    Conv2d{.in = 1, .out = 20, .kernel = 5}, ReLU{}, MaxPool2d{.kernel = 2},
    Conv2d{.in = 20, .out = 50, .kernel = 5}, ReLU{}, MaxPool2d{.kernel = 2},
    Flatten{flat},
    Linear{.in = features, .out = 500}, ReLU{},
    Linear{.in = 500, .out = 10}>;

int main() { return LeNet::parameters == 0; }
