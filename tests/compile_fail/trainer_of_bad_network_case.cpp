// A trainer for a network that does not fit together: the network's error, and no other.
// expect: Layer<2>
// expect: Linear
// expect: in_differs_from_what_arrives
// expect: Arrives<144>
// expect: Expected<100>
#include <tenon/tenon.hpp>

using namespace tenon;

#ifdef MISTAKE
constexpr int features = 100;
#else
constexpr int features = 4 * 6 * 6;
#endif

using Net = Network<Input{1, 8, 8}, Conv2d{.out = 4, .kernel = 3}, Flatten{}, Linear{.in = features, .out = 3}>;

int main() {
    Trainer trainer{Net{}, CrossEntropy{}, SGD{.lr = 0.1f}, batch<2>};
    static_assert(decltype(trainer)::memory.total <= 1 << 20);
    float const images[2 * 64]{};
    int const labels[2]{};
    return trainer.step(images, labels, 2) < 0;
}
