// A case that fails for another reason than its mistake.
// expect: undeclared_thing
// verdict: The corrected twin does not compile
int main() { return undeclared_thing; }
