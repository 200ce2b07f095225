/// @file
/// A file that is read once, from its beginning, with every failure named. POSIX and C only: <filesystem> and <fstream>
/// would double the compile time of everything that includes this.
#pragma once

#include <tenon/core/config.hpp>

#include <tenon/data/message.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace tenon::data {

/// What stands at a path.
enum class PathKind : std::uint8_t { missing, file, folder };

[[nodiscard]] TENON_COLD inline PathKind path_kind(std::string const& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return PathKind::missing;
    return (status.st_mode & S_IFMT) == S_IFDIR ? PathKind::folder : PathKind::file;
}

/// `folder/name`, without a second slash.
[[nodiscard]] TENON_COLD inline std::string join_path(std::string const& folder, std::string const& name) {
    return folder.empty() || folder.back() == '/' ? folder + name : folder + '/' + name;
}

/// A file opened for reading. Errors: tenon::Error that names the file and says why it cannot be opened or read.
class File {
public:
    TENON_COLD explicit File(std::string path) : path_(std::move(path)), buffer_(std::size_t{1} << 16) {
        struct stat status {};
        if (::stat(path_.c_str(), &status) != 0) refuse_as_errno("cannot be opened");
        // fopen accepts a folder, and only the first read from it fails.
        if ((status.st_mode & S_IFMT) == S_IFDIR) refuse({"'", path_, "' is a folder, a file is expected"});
        if ((status.st_mode & S_IFMT) == S_IFREG) size_ = static_cast<std::int64_t>(status.st_size);
        file_ = std::fopen(path_.c_str(), "rb");
        if (file_ == nullptr) refuse_as_errno("cannot be opened");
    }
    File(File const&) = delete;
    File& operator=(File const&) = delete;
    ~File() {
        if (file_ != nullptr) std::fclose(file_);
    }

    [[nodiscard]] std::string const& path() const { return path_; }

    /// Bytes in the file, or -1 where that is not known before they have been read (a pipe).
    [[nodiscard]] std::int64_t size() const { return size_; }

    /// Bytes handed out so far.
    [[nodiscard]] std::uint64_t position() const { return position_; }

    /// Makes the next `count` bytes (at most 64 KiB) visible at data(), fewer where the file ends before; returns how
    /// many are.
    std::size_t peek(std::size_t count) {
        if (end_ - begin_ < count) {
            std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
            end_ -= begin_;
            begin_ = 0;
            while (end_ < count) {
                std::size_t const got = read_file(buffer_.data() + end_, buffer_.size() - end_);
                if (got == 0) break;
                end_ += got;
            }
        }
        return end_ - begin_;
    }
    [[nodiscard]] std::uint8_t* data() { return buffer_.data() + begin_; }

    /// Leaves `count` bytes of those that peek() showed behind.
    void skip(std::size_t count) {
        begin_ += count;
        position_ += count;
    }

    /// Reads `count` bytes, fewer only where the file ends; returns how many arrived.
    std::size_t read(std::uint8_t* to, std::size_t count) {
        std::size_t got = end_ - begin_ < count ? end_ - begin_ : count;
        if (got > 0) std::memcpy(to, data(), got);
        begin_ += got;
        while (got < count) {
            std::size_t const more = read_file(to + got, count - got);
            if (more == 0) break;
            got += more;
        }
        position_ += got;
        return got;
    }

private:
    std::size_t read_file(std::uint8_t* to, std::size_t count) {
        std::size_t const got = std::fread(to, 1, count, file_);
        if (got == 0 && std::ferror(file_) != 0) refuse_as_errno("cannot be read");
        return got;
    }

    [[noreturn]] TENON_COLD void refuse_as_errno(char const* what) const {
        refuse({"'", path_, "' ", what, ": ", std::strerror(errno)});
    }

    std::string path_;
    std::FILE* file_ = nullptr;
    std::int64_t size_ = -1;
    std::uint64_t position_ = 0;
    std::vector<std::uint8_t> buffer_;
    std::size_t begin_ = 0, end_ = 0; // what peek() has read ahead: buffer_[begin_, end_)
};

} // namespace tenon::data
