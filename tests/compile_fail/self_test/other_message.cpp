// One short error that says something else.
// expect: layer 7
// verdict: The message does not contain: layer 7
#ifdef MISTAKE
static_assert(false, "wrong");
#endif

int main() {}
