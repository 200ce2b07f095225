// Cross entropy of an output that is no row of scores.
// expect: CrossEntropy
// expect: output_is_not_one_row_of_scores
// expect: Arrives<3, 6, 6>
// expect: Expected<108>
#include <tenon/tenon.hpp>

using namespace tenon;

#ifdef MISTAKE
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 3, .kernel = 3}>;
#else
using Net = Network<Input{1, 8, 8}, Conv2d{.out = 3, .kernel = 3}, Flatten{}>;
#endif

int main() {
    Trainer trainer{Net{}, CrossEntropy{}, SGD{.lr = 0.1f}, batch<2>};
    float const images[2 * 64]{};
    int const labels[2]{};
    return trainer.step(images, labels, 2) < 0;
}
