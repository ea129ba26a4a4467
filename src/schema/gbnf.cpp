#include "schema/gbnf.h"

#include <span>
#include <unordered_set>

#include "base/ascii.h"
#include "base/format.h"

namespace kinglet::schema {
namespace {

// Spells a character inside square brackets.
std::string set_character(char32_t code_point) {
  const auto c = static_cast<char>(code_point);
  const bool is_plain = code_point < 0x80 && (is_letter(c) || is_digit(c) || c == '_' || c == ' ');
  if (is_plain) return {c};
  return code_point < 0x10000 ? cat("\\u", hexadecimal(code_point, 4))
                              : cat("\\U", hexadecimal(code_point, 8));
}

using Views = std::span<const std::string_view>;

std::string joined(Views parts, std::string_view separator) {
  if (parts.size() == 1) return std::string(parts[0]);
  std::string out = "(";
  for (const std::string_view part : parts) {
    if (out.size() > 1) out += separator;
    out += part;
  }
  return out + ')';
}

std::string sequence_of(Views parts) {
  std::vector<std::string_view> present;
  for (const std::string_view part : parts) {
    if (!part.empty()) present.push_back(part);
  }
  return present.empty() ? std::string(kEmptyText) : joined(present, " ");
}

std::string alternatives_of(Views parts) {
  std::unordered_set<std::string_view> seen;
  std::vector<std::string_view> distinct;
  for (const std::string_view part : parts) {
    if (!part.empty() && seen.insert(part).second) distinct.push_back(part);
  }
  return distinct.empty() ? std::string() : joined(distinct, " | ");
}

std::vector<std::string_view> views_of(const std::vector<std::string>& parts) {
  return {parts.begin(), parts.end()};
}

}  // namespace

std::string literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      out += cat("\\x", hexadecimal(byte, 2));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string one_of(const CharacterSet& characters) {
  std::string out = "[";
  for (const auto [first, last] : characters) {
    out += set_character(first);
    if (last != first) out += cat("-", set_character(last));
  }
  return out + ']';
}

std::string sequence(std::initializer_list<std::string_view> parts) { return sequence_of(parts); }
std::string sequence(const std::vector<std::string>& parts) { return sequence_of(views_of(parts)); }

std::string alternatives(std::initializer_list<std::string_view> parts) {
  return alternatives_of(parts);
}
std::string alternatives(const std::vector<std::string>& parts) {
  return alternatives_of(views_of(parts));
}

std::string repeat(std::string_view part, uint64_t least, uint64_t most) {
  if (least == 1 && most == 1) return std::string(part);
  if (most == 0) return std::string(kEmptyText);
  if (least == 0 && most == kUnlimited) return cat(part, "*");
  if (least == 0 && most == 1) return cat(part, "?");
  if (least == most) return cat(part, "{", least, "}");
  return most == kUnlimited ? cat(part, "{", least, ",}") : cat(part, "{", least, ",", most, "}");
}

}  // namespace kinglet::schema
