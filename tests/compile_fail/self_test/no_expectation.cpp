// A case that expects nothing in particular.
// verdict: The case does not say what the message must contain
#ifdef MISTAKE
static_assert(false, "wrong");
#endif

int main() {}
