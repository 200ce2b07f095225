// Arithmetic in the other rounding directions. Compiled with -frounding-math: the compiler must not move an operation
// across the change of mode.
#include "device/rounding.hpp"

#include <cfenv>

namespace emu::directed {
namespace {

class Mode {
public:
    explicit Mode(Rounding mode) : before_(std::fegetround()) {
        std::fesetround(mode == Rounding::zero   ? FE_TOWARDZERO
                        : mode == Rounding::down ? FE_DOWNWARD
                        : mode == Rounding::up   ? FE_UPWARD
                                                 : FE_TONEAREST);
    }
    ~Mode() { std::fesetround(before_); }
    Mode(Mode const&) = delete;
    Mode& operator=(Mode const&) = delete;

private:
    int before_;
};

/// Computes with values that the compiler cannot know.
template <class T, class Operation, class... Operands>
T rounded(Rounding rounding, Operation operation, Operands... operands) {
    Mode mode(rounding);
    T volatile result = operation(*const_cast<Operands volatile*>(&operands)...);
    return result;
}

} // namespace

#define EMU_DIRECTED(T)                                                                                                \
    T add(Rounding r, T a, T b) {                                                                                      \
        return rounded<T>(                                                                                             \
            r, [](T x, T y) { return x + y; }, a, b);                                                                  \
    }                                                                                                                  \
    T sub(Rounding r, T a, T b) {                                                                                      \
        return rounded<T>(                                                                                             \
            r, [](T x, T y) { return x - y; }, a, b);                                                                  \
    }                                                                                                                  \
    T mul(Rounding r, T a, T b) {                                                                                      \
        return rounded<T>(                                                                                             \
            r, [](T x, T y) { return x * y; }, a, b);                                                                  \
    }                                                                                                                  \
    T div(Rounding r, T a, T b) {                                                                                      \
        return rounded<T>(                                                                                             \
            r, [](T x, T y) { return x / y; }, a, b);                                                                  \
    }                                                                                                                  \
    T fma(Rounding r, T a, T b, T c) {                                                                                 \
        return rounded<T>(                                                                                             \
            r, [](T x, T y, T z) { return std::fma(x, y, z); }, a, b, c);                                              \
    }                                                                                                                  \
    T sqrt(Rounding r, T a) {                                                                                          \
        return rounded<T>(                                                                                             \
            r, [](T x) { return std::sqrt(x); }, a);                                                                   \
    }                                                                                                                  \
    T rcp(Rounding r, T a) {                                                                                           \
        return rounded<T>(                                                                                             \
            r, [](T x) { return T{1} / x; }, a);                                                                       \
    }
EMU_DIRECTED(float)
EMU_DIRECTED(double)
#undef EMU_DIRECTED

float to_float(Rounding r, double a) {
    return rounded<float>(
        r, [](double x) { return static_cast<float>(x); }, a);
}
float to_float(Rounding r, std::int64_t a) {
    return rounded<float>(
        r, [](std::int64_t x) { return static_cast<float>(x); }, a);
}
float to_float(Rounding r, std::uint64_t a) {
    return rounded<float>(
        r, [](std::uint64_t x) { return static_cast<float>(x); }, a);
}
double to_double(Rounding r, std::int64_t a) {
    return rounded<double>(
        r, [](std::int64_t x) { return static_cast<double>(x); }, a);
}
double to_double(Rounding r, std::uint64_t a) {
    return rounded<double>(
        r, [](std::uint64_t x) { return static_cast<double>(x); }, a);
}

} // namespace emu::directed
