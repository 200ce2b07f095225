#include "random.hpp"
#include "settings.hpp"

namespace emu {

std::uint32_t random_number() {
    static std::uint64_t state = settings().seed;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::uint32_t>(state >> 16);
}

} // namespace emu
