// Steps of no samples.
// expect: batch<N> needs at least one sample
#include <tenon/tenon.hpp>

using namespace tenon;

using Net = Network<Input{13}, Linear{.out = 3}>;

#ifdef MISTAKE
constexpr index_t samples = 0;
#else
constexpr index_t samples = 2;
#endif

int main() {
    Trainer trainer{Net{}, CrossEntropy{}, SGD{.lr = 0.1f}, batch<samples>};
    float const rows[2 * 13]{};
    int const labels[2]{};
    return trainer.step(rows, labels, 2) < 0;
}
