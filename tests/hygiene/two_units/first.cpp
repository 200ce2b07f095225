// The first of two translation units that use the whole library; second.cpp is the other.
#include "all_headers.hpp"

#include "shared.hpp"

int main() { return shared_use() == shared_use_of_second() ? 0 : 1; }
