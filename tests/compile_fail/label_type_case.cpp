// Cross entropy takes class numbers, not measured values.
// expect g++: cannot convert
// expect clang++: cannot initialize a parameter
// expect nvcc: incompatible with parameter
#include <tenon/tenon.hpp>

using namespace tenon;

using Net = Network<Input{13}, Linear{.out = 3}>;

#ifdef MISTAKE
using Label = float;
#else
using Label = int;
#endif

int main() {
    Trainer trainer{Net{}, CrossEntropy{}, SGD{.lr = 0.1f}, batch<2>};
    float const rows[2 * 13]{};
    Label const labels[2]{};
    return trainer.step(rows, labels, 2) < 0;
}
