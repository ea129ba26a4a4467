// Names from a file, made fit for a message.
#pragma once

#include <string>
#include <string_view>

namespace kinglet {

// The text in quotation marks: bytes outside printable ASCII as \xNN, and not more than its first
// 64 bytes, so that no file can write control characters or pages of text into a message.
std::string quoted(std::string_view text);

}  // namespace kinglet
