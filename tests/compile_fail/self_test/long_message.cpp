// One error, followed by every overload that does not fit.
// expect: f
// verdict: The message has [0-9]+ lines, not 15 at most
struct A {};
struct B {};
struct C {};
struct D {};
struct E {};
struct F {};

int f(A, A);
int f(A, B);
int f(A, C);
int f(A, D);
int f(A, E);
int f(A, F);
int f(B, A);
int f(B, B);

#ifdef MISTAKE
int main() { return f(C{}, C{}); }
#else
int main() { return sizeof(f(B{}, B{})) == 0; }
#endif
