/// @file
/// The bytes of a file, unpacked on the way where the file is gzip (RFC 1952). The contents decide, not the name.
#pragma once

#include <tenon/core/config.hpp>

#include <tenon/data/file.hpp>
#include <tenon/data/zlib.hpp>

#include <optional>

namespace tenon::data {

/// Unpacks all members of a gzip file, one after the other, as `gunzip` does; more strictly, in that bytes after the
/// last member are an error. Errors: tenon::Error naming the file where it is cut off, damaged (checksums are
/// compared), or where zlib is not at hand.
class GzipReader {
public:
    /// Reads from where `file` stands; `zlib...` goes to Zlib.
    template <class... Name>
    TENON_COLD explicit GzipReader(File& file, Name... zlib) : file_(&file), zlib_(zlib...) {
        if (!zlib_.missing().empty())
            refuse({"'", file.path(), "' is packed with gzip, and zlib is not at hand to unpack it: ", zlib_.missing(),
                    ", or unpack the file: gunzip --keep '", file.path(), "'"});
        // By the version's first digit and the stream's size zlib checks that it is called by its own interface.
        int const result = zlib_.inflate_init(&stream_, Zlib::gzip_window, "1", static_cast<int>(sizeof stream_));
        if (result != Zlib::ok) refuse({"'", file.path(), "': zlib does not start (its error ", result, ")"});
    }
    GzipReader(GzipReader const&) = delete;
    GzipReader& operator=(GzipReader const&) = delete;
    ~GzipReader() { zlib_.inflate_end(&stream_); }

    /// Unpacks `count` bytes, fewer only where the last member ends; returns how many arrived.
    std::size_t read(std::uint8_t* to, std::size_t count) {
        std::size_t got = 0;
        while (got < count && (inside_member_ || next_member())) got += inflate(to + got, count - got);
        unpacked_ += got;
        return got;
    }

private:
    /// Stands at the end of a member, or at the beginning: is there another one?
    bool next_member() {
        std::size_t const left = file_->peek(2);
        if (left == 0) return false;
        if (left < 2 || file_->data()[0] != 0x1f || file_->data()[1] != 0x8b)
            refuse({"'", file_->path(), "' has bytes after the end of its gzip data, from byte ", file_->position(),
                    " on. Fetch or pack the file again"});
        zlib_.inflate_reset(&stream_);
        inside_member_ = true;
        return true;
    }

    std::size_t inflate(std::uint8_t* to, std::size_t count) {
        constexpr std::size_t most = std::size_t{1} << 30; // zlib counts in unsigned
        std::size_t const available = file_->peek(1);
        if (available == 0)
            refuse({"'", file_->path(), "' is cut off: its gzip data stops in the middle, after ", file_->position(),
                    " packed and ", unpacked_, " unpacked bytes. Fetch the file again"});
        stream_.next_in = file_->data();
        stream_.avail_in = static_cast<unsigned>(available);
        stream_.next_out = to;
        stream_.avail_out = static_cast<unsigned>(count < most ? count : most);
        int const result = zlib_.inflate(&stream_, 0);
        file_->skip(available - stream_.avail_in);
        if (result == Zlib::stream_end) inside_member_ = false;
        else if (result != Zlib::ok && result != Zlib::buffer_error)
            refuse({"'", file_->path(), "' is damaged: its gzip data is wrong near packed byte ", file_->position(),
                    " (zlib: ", stream_.msg != nullptr ? stream_.msg : "no reason given", "). Fetch the file again"});
        return static_cast<std::size_t>(stream_.next_out - to);
    }

    File* file_;
    Zlib zlib_;
    ZlibStream stream_{};
    bool inside_member_ = false;
    std::uint64_t unpacked_ = 0;
};

/// A file's bytes, plain or unpacked.
class ByteReader {
public:
    TENON_COLD explicit ByteReader(std::string path) : file_(std::move(path)) {
        if (file_.peek(2) >= 2 && file_.data()[0] == 0x1f && file_.data()[1] == 0x8b) gzip_.emplace(file_);
    }

    [[nodiscard]] std::string const& path() const { return file_.path(); }

    /// Whether the file is gzip.
    [[nodiscard]] bool packed() const { return gzip_.has_value(); }

    /// Bytes that read() will give in all, or -1 where that is known only at the end.
    [[nodiscard]] std::int64_t size() const { return packed() ? -1 : file_.size(); }

    /// Bytes of the file itself, or -1.
    [[nodiscard]] std::int64_t file_size() const { return file_.size(); }

    /// Reads `count` bytes, fewer only where they end; returns how many arrived.
    std::size_t read(std::uint8_t* to, std::size_t count) {
        return gzip_ ? gzip_->read(to, count) : file_.read(to, count);
    }

private:
    File file_;
    std::optional<GzipReader> gzip_;
};

} // namespace tenon::data
