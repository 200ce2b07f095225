// Every header at once. With WITH_MIN_MAX_MACROS, after the macros that <windows.h> defines: the standard library is read
// before them, as it must be there too.
#ifdef WITH_MIN_MAX_MACROS
#include "standard_headers.hpp"
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#endif

#include "all_headers.hpp"
