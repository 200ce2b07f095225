/// @file
/// The four functions of zlib that unpack a stream, reached in one of three ways:
///   TENON_HAS_ZLIB=1   declared by <zlib.h> and linked (-lz): where a build knows zlib, and for static programs;
///   not defined        looked up in the shared library when a .gz is opened, so that `g++ -Iinclude program.cpp`
///                      links with nothing else and still reads .gz wherever zlib is installed, without its headers;
///   TENON_HAS_ZLIB=0   not at all.
/// A program defines it alike in all of its translation units.
#pragma once

#include <tenon/core/config.hpp>

#include <string>

#if defined(TENON_HAS_ZLIB) || defined(_WIN32)
#define TENON_LOADS_ZLIB 0
#else
#define TENON_LOADS_ZLIB 1
#endif
#if !defined(TENON_HAS_ZLIB)
#define TENON_HAS_ZLIB 0
#endif

#if TENON_LOADS_ZLIB
#include <dlfcn.h>
#if defined(__linux__)
// Weak: where there is no dlopen (glibc before 2.34 without -ldl, some static programs), it is null, and all links.
#pragma weak dlopen
#pragma weak dlsym
#pragma weak dlclose
#endif
#elif TENON_HAS_ZLIB
#include <zlib.h>
#endif

namespace tenon::data {

#if TENON_HAS_ZLIB
using ZlibStream = ::z_stream;
#else
/// zlib's z_stream: its layout is part of the library's binary interface, unchanged since version 1.0
/// (https://zlib.net/manual.html).
struct ZlibStream {
    unsigned char* next_in = nullptr;
    unsigned avail_in = 0;
    unsigned long total_in = 0;
    unsigned char* next_out = nullptr;
    unsigned avail_out = 0;
    unsigned long total_out = 0;
    char const* msg = nullptr;
    void* state = nullptr;
    void* (*zalloc)(void*, unsigned, unsigned) = nullptr;
    void (*zfree)(void*, void*) = nullptr;
    void* opaque = nullptr;
    int data_type = 0;
    unsigned long adler = 0;
    unsigned long reserved = 0;
};
#endif

/// zlib, or why it is not at hand.
class Zlib {
public:
    // Return values and arguments of the functions below, by zlib's manual.
    static constexpr int ok = 0, stream_end = 1, buffer_error = -5;
    static constexpr int gzip_window = 15 + 16; ///< the largest window, and a gzip header and trailer around the stream

    int (*inflate_init)(ZlibStream*, int window, char const* version, int stream_size) = nullptr;
    int (*inflate)(ZlibStream*, int flush) = nullptr;
    int (*inflate_reset)(ZlibStream*) = nullptr;
    int (*inflate_end)(ZlibStream*) = nullptr;

#if TENON_LOADS_ZLIB
#if defined(__APPLE__)
    static constexpr char const* default_name = "libz.1.dylib";
#else
    static constexpr char const* default_name = "libz.so.1";
#endif
    TENON_COLD explicit Zlib(char const* name = default_name) {
#if defined(__linux__)
        if (&::dlopen == nullptr || &::dlsym == nullptr || &::dlclose == nullptr) {
            missing_ = "this program cannot load libraries while it runs. Compile it with -DTENON_HAS_ZLIB=1 and -lz";
            return;
        }
#endif
        library_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library_ == nullptr) {
            missing_ = std::string(name) + " cannot be loaded. Install it (Debian, Ubuntu: sudo apt install zlib1g)";
            return;
        }
        if (!find(inflate_init, "inflateInit2_") || !find(inflate, "inflate") || !find(inflate_reset, "inflateReset") ||
            !find(inflate_end, "inflateEnd"))
            missing_ = std::string(name) + " is not zlib";
    }
    ~Zlib() {
        if (library_ != nullptr) ::dlclose(library_);
    }
#elif TENON_HAS_ZLIB
    Zlib()
        : inflate_init(&::inflateInit2_), inflate(&::inflate), inflate_reset(&::inflateReset),
          inflate_end(&::inflateEnd) {}
    ~Zlib() = default;
#else
    Zlib() : missing_("this program was compiled without it (TENON_HAS_ZLIB)") {}
    ~Zlib() = default;
#endif
    Zlib(Zlib const&) = delete;
    Zlib& operator=(Zlib const&) = delete;

    /// Empty where zlib is at hand, else why it is not.
    [[nodiscard]] std::string const& missing() const { return missing_; }

private:
#if TENON_LOADS_ZLIB
    template <class Function>
    bool find(Function& function, char const* name) {
        function = reinterpret_cast<Function>(::dlsym(library_, name));
        return function != nullptr;
    }
    void* library_ = nullptr;
#endif
    std::string missing_;
};

} // namespace tenon::data
