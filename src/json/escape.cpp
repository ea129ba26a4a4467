#include "json/escape.h"

#include "base/ascii.h"

namespace kinglet {

std::string json_escape(char c) {
  constexpr std::string_view kCharacters = "\"\\\b\f\n\r\t";
  constexpr std::string_view kNames = "\"\\bfnrt";
  if (const size_t known = kCharacters.find(c); known != kCharacters.npos) {
    return {'\\', kNames[known]};
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20) return {};
  return {'\\', 'u', '0', '0', kHexDigits[byte >> 4], kHexDigits[byte & 0xf]};
}

void append_json_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    const std::string escape = json_escape(c);
    if (escape.empty()) {
      out += c;
    } else {
      out += escape;
    }
  }
}

}  // namespace kinglet
