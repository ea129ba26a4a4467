#include "base/printable.h"

#include "base/ascii.h"
#include "base/utf8.h"

namespace kinglet {
namespace {

bool controls_terminal(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

void append_hex(std::string& out, char32_t number, int n_digits) {
  for (int shift = 4 * (n_digits - 1); shift >= 0; shift -= 4) {
    out += kHexDigits[(number >> shift) & 0xf];
  }
}

}  // namespace

std::string printable(std::string_view text, Lines lines) {
  std::string out;
  while (!text.empty()) {
    const Utf8Char character = decode_utf8(text);
    const std::string_view bytes = text.substr(0, character.n_bytes);
    const char32_t code = character.code_point;
    text.remove_prefix(character.n_bytes);
    if (character.state != Utf8State::well_formed) {
      for (const char c : bytes) {
        out += "\\x";
        append_hex(out, static_cast<unsigned char>(c), 2);
      }
    } else if (!controls_terminal(code)) {
      out += bytes;
    } else if (lines == Lines::kept && (code == '\n' || code == '\t' || code == '\r')) {
      if (code != '\r') out += bytes;
    } else {
      out += code < 0x100 ? "\\x" : "\\u";
      append_hex(out, code, code < 0x100 ? 2 : 4);
    }
  }
  return out;
}

}  // namespace kinglet
