// A twin that compiles, but not without a word: the judge compiles it with warnings as errors.
// expect: wrong
// verdict: The corrected twin does not compile
#ifdef MISTAKE
static_assert(false, "wrong");
#endif

int main() {
    int unused;
    return 0;
}
