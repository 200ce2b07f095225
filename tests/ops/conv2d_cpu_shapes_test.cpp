// The convolution kernels against a plain sum in double, on problems with odd numbers everywhere.
#include "conv2d_testing.hpp"

using conv2d_testing::check_all_lanes, conv2d_testing::check_some_lanes;

// Numbers: channels, height, width, outputs, kernel, stride, padding, dilation (height, width), groups

TEST_CASE("conv2d on the CPU: 3x3 with padding") { check_all_lanes<5, 9, 11, 7, 3, 3, 1, 1, 1, 1>(); }
TEST_CASE("conv2d on the CPU: 3x3 with padding, a row of many tiles") {
    check_some_lanes<2, 5, 67, 6, 3, 3, 1, 1, 1, 1>();
}
TEST_CASE("conv2d on the CPU: 3x3 with stride 2 and padding") { check_some_lanes<3, 13, 10, 6, 3, 3, 2, 2, 1, 1>(); }
TEST_CASE("conv2d on the CPU: 7x7 with stride 2 and padding") { check_some_lanes<3, 17, 19, 5, 7, 7, 2, 2, 3, 3>(); }
TEST_CASE("conv2d on the CPU: 1x1") { check_all_lanes<7, 5, 6, 9, 1, 1>(); }
TEST_CASE("conv2d on the CPU: 1x1 with stride 2") { check_some_lanes<4, 7, 5, 3, 1, 1, 2, 2>(); }
TEST_CASE("conv2d on the CPU: everything at once") { check_all_lanes<6, 11, 13, 4, 3, 2, 2, 1, 1, 2, 2, 3, 2>(); }
TEST_CASE("conv2d on the CPU: stride and dilation with a common factor") {
    check_some_lanes<2, 14, 16, 3, 3, 4, 3, 4, 2, 3, 2, 6>();
}
TEST_CASE("conv2d on the CPU: depthwise") { check_all_lanes<5, 8, 9, 5, 3, 3, 1, 1, 1, 1, 1, 1, 5>(); }
TEST_CASE("conv2d on the CPU: depthwise with two outputs a channel") {
    check_some_lanes<3, 9, 8, 6, 3, 3, 2, 2, 1, 1, 1, 1, 3>();
}
TEST_CASE("conv2d on the CPU: a kernel as large as the image") { check_some_lanes<2, 6, 9, 3, 6, 9>(); }
TEST_CASE("conv2d on the CPU: a kernel wider than what is unrolled") {
    check_some_lanes<2, 12, 14, 2, 11, 11, 1, 1, 5, 5>();
}
TEST_CASE("conv2d on the CPU: a kernel larger than the image") { check_some_lanes<3, 1, 1, 2, 3, 3, 1, 1, 1, 1>(); }
TEST_CASE("conv2d on the CPU: one pixel, one channel") { check_all_lanes<1, 1, 1, 1, 1, 1>(); }
TEST_CASE("conv2d on the CPU: one output") { check_some_lanes<3, 7, 30, 1, 3, 5, 1, 1, 0, 2>(); }
TEST_CASE("conv2d on the CPU: pixels between the strides") { check_some_lanes<2, 11, 13, 3, 2, 2, 5, 4>(); }
TEST_CASE("conv2d on the CPU: more padding than image") { check_some_lanes<1, 4, 3, 2, 2, 1, 1, 1, 3, 4>(); }
TEST_CASE("conv2d on the CPU: only padding under some taps") { check_some_lanes<2, 2, 3, 2, 3, 3, 4, 5, 3, 4>(); }
TEST_CASE("conv2d on the CPU: many channels") { check_some_lanes<37, 4, 5, 67, 3, 3, 1, 1, 1, 1>(); }
