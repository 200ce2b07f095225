// A chain of pointwise layers that is longer than a program may be: it must be cut, and stay right.
#include "support/test_layer.hpp"

#include <tenon/ops/activation/activation.hpp>

using namespace tenon;

TEST_CASE("a long chain of pointwise layers") {
    test::check_layer_plan<graph::BatchLayout{5, 4}, Input{5}, Linear{.out = 5}, Repeat<20, GELU{}>, Linear{.out = 2}>({3, 5}, {.tolerance = 1e-5});
    test::check_layer_plan<graph::BatchLayout{5, 1}, Input{3}, Repeat<24, SiLU{}>>({3, 5}, {.tolerance = 1e-5});
}
