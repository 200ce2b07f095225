// A Linear that expects half of the features that arrive.
// expect: Layer<7>
// expect: Linear
// expect: in_differs_from_what_arrives
// expect: Arrives<800>
// expect: Expected<400>
#include "layers.hpp"

using namespace tenon;

constexpr int flat = 800;
#ifdef MISTAKE
constexpr int features = 400;
#else
constexpr int features = 800;
#endif

using LeNet = Network<
    Input{1, 28, 28},
    Conv2d{.in = 1, .out = 20, .kernel = 5}, ReLU{}, MaxPool2d{.kernel = 2},
    Conv2d{.in = 20, .out = 50, .kernel = 5}, ReLU{}, MaxPool2d{.kernel = 2},
    Flatten{flat},
    Linear{.in = features, .out = 500}, ReLU{},
    Linear{.in = 500, .out = 10}>;

int main() { return LeNet::parameters == 0; }
