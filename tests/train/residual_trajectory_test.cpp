// A residual network's first 50 losses are PyTorch's, in batches of 7 over 60 images: the last of each epoch is short.
#include "support/trajectory.hpp"

#include <tenon/nn/network.hpp>
#include <tenon/ops/activation/activation.hpp>
#include <tenon/ops/flatten/flatten.hpp>

using namespace tenon;

namespace {
using Net = Network<Input{3, 8, 8}, Named<"stem", Conv2d{.out = 4, .kernel = 3, .padding = 1}>, ReLU{},
                    Residual<Conv2d{.out = 4, .kernel = 3, .padding = 1}, ReLU{}, Conv2d{.out = 4, .kernel = 3, .padding = 1}>, ReLU{}, AvgPool2d{.kernel = 2}, Flatten{},
                    Linear{.out = 10}>;
} // namespace

TEST_CASE("a residual network: momentum, and nesterov with weight decay") {
    test::Reference const r{"residual"};
    test::check_start<Net, 7>(r);
    test::check_trajectory<Net, 7>(r, "momentum");
    test::check_trajectory<Net, 7>(r, "nesterov");
}
