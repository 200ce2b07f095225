// LeNet in other batches: of 6, with a short last one in each epoch, and of 64.
#include "support/lenet.hpp"
#include "support/trajectory.hpp"

using namespace tenon;

TEST_CASE("LeNet in batches of 6 over 200 images, and of 64") {
    test::Reference const r{"lenet"};
    test::check_trajectory<test::LeNet, 6>(r, "batch6_short_last");
    test::check_trajectory<test::LeNet, 64>(r, "batch64");
}
