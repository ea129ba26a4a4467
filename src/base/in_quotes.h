// Makes names from a file safe for messages.
#pragma once

#include <string>
#include <string_view>

namespace kinglet {

// Returns the text in quotation marks. Bytes outside printable ASCII become \xNN, and only the
// first 64 bytes are kept, so that no file can put control characters or pages of text into a
// message.
std::string in_quotes(std::string_view text);

}  // namespace kinglet
