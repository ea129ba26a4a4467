// What stands inside a JSON string for what cannot stand there as it is.
#pragma once

#include <string>
#include <string_view>

namespace kinglet {

// How a byte is written instead: \n, \", \u001b and so on; empty for one that stands for itself, as
// those of UTF-8 do beyond ASCII.
std::string json_escape(char c);

// Appends `text` as the inside of a JSON string.
void append_json_escaped(std::string& out, std::string_view text);

}  // namespace kinglet
