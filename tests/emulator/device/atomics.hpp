/// @file
/// Read-modify-write instructions. One thread runs at a time, so a load and a store are atomic together; they are
/// written with the compiler's atomic operations so that ThreadSanitizer sees them as what they are.
#pragma once

#include "floating.hpp"
#include "packed.hpp"

namespace emu {

enum class Order { relaxed, acquire_release };

namespace atomic {

template <class T, class Change>
inline T update(Thread& t, char* address, Order order, Change change) {
    maybe_yield(t);
    if (order == Order::acquire_release) {
        T const old = load_acquire<T>(address);
        store_release<T>(address, change(old));
        return old;
    }
    T const old = load_relaxed<T>(address);
    store_relaxed<T>(address, change(old));
    return old;
}

template <class T>
inline T add(Thread& t, char* address, Order order, T value) {
    return update<T>(t, address, order, [value](T old) {
        if constexpr (is_half_format<T>) return operation::add(old, value);
        else return static_cast<T>(old + value);
    });
}
template <class T>
inline T min(Thread& t, char* address, Order order, T value) {
    return update<T>(t, address, order, [value](T old) { return minimum(old, value); });
}
template <class T>
inline T max(Thread& t, char* address, Order order, T value) {
    return update<T>(t, address, order, [value](T old) { return maximum(old, value); });
}
template <class T>
inline T and_(Thread& t, char* address, Order order, T value) {
    return update<T>(t, address, order, [value](T old) { return static_cast<T>(old & value); });
}
template <class T>
inline T or_(Thread& t, char* address, Order order, T value) {
    return update<T>(t, address, order, [value](T old) { return static_cast<T>(old | value); });
}
template <class T>
inline T xor_(Thread& t, char* address, Order order, T value) {
    return update<T>(t, address, order, [value](T old) { return static_cast<T>(old ^ value); });
}
template <class T>
inline T exch(Thread& t, char* address, Order order, T value) {
    return update<T>(t, address, order, [value](T) { return value; });
}
template <class T>
inline T cas(Thread& t, char* address, Order order, T expected, T value) {
    return update<T>(t, address, order, [=](T old) { return old == expected ? value : old; });
}
/// Counts up to `limit`, then starts again at 0.
template <class T>
inline T inc(Thread& t, char* address, Order order, T limit) {
    return update<T>(t, address, order, [limit](T old) { return old >= limit ? T{0} : static_cast<T>(old + 1); });
}
template <class T>
inline T dec(Thread& t, char* address, Order order, T limit) {
    return update<T>(t, address, order,
                     [limit](T old) { return old == 0 || old > limit ? limit : static_cast<T>(old - 1); });
}

} // namespace atomic
} // namespace emu
