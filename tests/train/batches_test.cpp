// The whole training step against the oracle, for batches that fill vectors and batches that do not, and short last batches.
#include "support/trainer_oracle.hpp"

#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/flatten/flatten.hpp>

using namespace tenon;

namespace {

using Net = Network<Input{2, 9, 8}, Conv2d{.out = 3, .kernel = 3, .padding = 1}, ReLU{}, MaxPool2d{.kernel = 2},
                    Conv2d{.out = 5, .kernel = {2, 3}, .bias = false}, Tanh{}, Flatten{}, Linear{.out = 7}, ReLU{}, Linear{.out = 3}>;

template <index_t N>
void check(std::initializer_list<index_t> batches) {
    test::check_trainer<Net, N>(CrossEntropy{}, SGD{.lr = 0.1f, .momentum = 0.9f}, batches);
}

} // namespace

TEST_CASE("a step in batches of one size, the last one short") {
    check<1>({1, 1, 1});
    check<3>({3, 3, 1, 2});
    check<4>({4, 4, 3, 4, 1});
    check<5>({5, 2, 5});
    check<7>({7, 7, 4});
    check<16>({16, 16, 5, 16, 1});
    check<17>({17, 16, 3});
    check<33>({33, 17, 1, 33});
}
