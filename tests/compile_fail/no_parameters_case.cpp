// A trainer for a network that has nothing to learn.
// expect: network_has_no_parameters
#include <tenon/tenon.hpp>

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{3}, ReLU{}>;
#else
using Net = Network<Input{3}, ReLU{}, Linear{.out = 3}>;
#endif

int main() {
    Trainer trainer{Net{}, CrossEntropy{}, SGD{.lr = 0.1f}, batch<2>};
    float const rows[2 * 3]{};
    int const labels[2]{};
    return trainer.step(rows, labels, 2) < 0;
}
