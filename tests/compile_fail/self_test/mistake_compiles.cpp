// A mistake that nobody catches.
// expect: anything
// verdict: The mistake compiles
int main() { return 0; }
