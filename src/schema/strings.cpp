#include "schema/strings.h"

#include <vector>

#include "grammar/expression.h"
#include "json/escape.h"

namespace kinglet::schema {
namespace {

std::string escape(char c, char quote) {
  return c == quote ? std::string{'\\', c} : json_escape(c);
}

}  // namespace

Expression Characters::spell(const CharacterSet& characters) const {
  if (quote == '\0') {
    const CharacterSet plain =
        intersection(characters, complement({{0, 8}, {0xb, 0x1f}, {0xd800, 0xdfff}}));
    return one_of(plain);
  }
  constexpr char32_t kFirstPlain = 0x20;
  const auto quote_code = static_cast<char32_t>(quote);
  const CharacterSet escaped = {
      {0, kFirstPlain - 1}, {quote_code, quote_code}, {'\\', '\\'}, {0xd800, 0xdfff}};
  const CharacterSet plain = intersection(characters, complement(escaped));
  std::vector<Expression> spellings;
  spellings.push_back(one_of(plain));
  const CharacterSet in_order = normalized(characters);
  const auto add_escaped = [&](char32_t code) {
    if (!contains(in_order, code)) return;
    spellings.push_back(literal(escape(static_cast<char>(code), quote)));
  };
  for (char32_t code = 0; code < kFirstPlain; ++code) add_escaped(code);
  add_escaped(quote_code);
  add_escaped('\\');
  return alternatives(spellings);
}

std::string quoted(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    const std::string escaped = c == '"' && quote != '"' ? "" : escape(c, quote);
    if (escaped.empty()) {
      out += c;
    } else {
      out += escaped;
    }
  }
  return out + quote;
}

}  // namespace kinglet::schema
