// Escaping of text for JSON strings.
#pragma once

#include <string>
#include <string_view>

namespace kinglet {

// Returns the escape of a byte: \n, \", \u001b and so on. Empty for a byte that needs no escape,
// such as the bytes of UTF-8 beyond ASCII.
std::string json_escape(char c);

// Appends `text`, escaped for the inside of a JSON string.
void append_json_escaped(std::string& out, std::string_view text);

}  // namespace kinglet
