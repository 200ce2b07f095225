// A mistake that is reported twice.
// expect: wrong
// verdict: The mistake gives 2 errors, not 1
#ifdef MISTAKE
static_assert(false, "wrong");
static_assert(false, "wrong again");
#endif

int main() {}
