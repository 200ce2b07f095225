// LeNet's first 100 losses are PyTorch's.
#include "support/lenet.hpp"
#include "support/trajectory.hpp"

using namespace tenon;

TEST_CASE("LeNet in batches of 4") {
    test::Reference const r{"lenet"};
    test::check_start<test::LeNet, 4>(r);
    test::check_trajectory<test::LeNet, 4>(r, "batch4");
    test::check_trajectory<test::LeNet, 4>(r, "batch4_slow");
}
