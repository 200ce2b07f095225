// A case as it should be: the judge accepts it.
// expect: a linear layer receives a different number of features
// expect g++: network_shape_check<1, 256, 400>
// expect clang++: network_shape_check<1, 256, 400>
// expect nvcc: layer=1, got=256, expected=400
// verdict: One error, as short and clear as expected
template <int layer, int got, int expected>
struct network_shape_check {
    static_assert(got == expected, "a linear layer receives a different number of features than it expects");
};

#ifdef MISTAKE
int main() { return static_cast<int>(sizeof(network_shape_check<1, 256, 400>)) - 1; }
#else
int main() { return static_cast<int>(sizeof(network_shape_check<1, 400, 400>)) - 1; }
#endif
