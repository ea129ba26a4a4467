#include "base/in_quotes.h"

#include "base/ascii.h"

namespace kinglet {
namespace {

constexpr size_t kMaxQuotedBytes = 64;

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

}  // namespace

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kMaxQuotedBytes)) {
    if (is_printable(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += "\\x";
      out += kHexDigits[byte >> 4];
      out += kHexDigits[byte & 0x0f];
    }
  }
  out += text.size() > kMaxQuotedBytes ? "\"..." : "\"";
  return out;
}

}  // namespace kinglet
