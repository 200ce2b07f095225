/// @file
/// Prints one JSON object a line: `JsonLine{}.add("job", "train").add("batch", 4).print()`.
#pragma once

#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>

namespace bench {

class JsonLine {
public:
    JsonLine& add(std::string_view key, std::string_view value) { return append(key, quoted(value)); }
    JsonLine& add(std::string_view key, std::integral auto value) { return append(key, std::to_string(value)); }
    /// @param decimals digits behind the point
    JsonLine& add(std::string_view key, double value, int decimals) { return append(key, number(value, decimals)); }
    JsonLine& add(std::string_view key, auto const& values, int decimals) {
        std::string list;
        for (double value : values) list += (list.empty() ? "" : ", ") + number(value, decimals);
        return append(key, "[" + list + "]");
    }

    void print() const {
        std::printf("{%s}\n", text_.c_str());
        std::fflush(stdout);
    }

private:
    std::string text_;

    JsonLine& append(std::string_view key, std::string const& value) {
        text_ += (text_.empty() ? "" : ", ") + quoted(key) + ": " + value;
        return *this;
    }
    static std::string number(double value, int decimals) {
        char text[64];
        std::snprintf(text, sizeof text, "%.*f", decimals, value);
        return text;
    }
    static std::string quoted(std::string_view value) {
        std::string text = "\"";
        for (char const c : value) {
            if (c == '"' || c == '\\') text += '\\';
            text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
        return text + '"';
    }
};

} // namespace bench
