#include "all_headers.hpp"

#include "shared.hpp"

double shared_use_of_second() { return shared_use(); }
