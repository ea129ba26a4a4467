// Makes names from a file safe for messages.
#pragma once

#include <string>
#include <string_view>

namespace kinglet {

// Returns the text in quotation marks. Bytes outside printable ASCII become \xNN, and only the
// first 64 bytes are kept, so that no file can put control characters or pages of text into a
// message.
std::string in_quotes(std::string_view text);

// For a std::string, std::quoted() would be the better match where <iomanip> is included.
inline std::string quoted(const std::string& text) { return quoted(std::string_view(text)); }

}  // namespace kinglet
