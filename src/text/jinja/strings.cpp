#include "text/jinja/strings.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "text/jinja/search.h"
#include "text/jinja/work.h"

namespace kinglet::jinja {
namespace {

size_t size_at(std::string_view bytes, size_t at) { return decode_utf8(bytes.substr(at)).n_bytes; }

// Returns where the character begins that ends at `end`.
size_t begin_before(std::string_view bytes, size_t end) {
  size_t at = end - 1;
  while (at > 0 && end - at < 4 && (static_cast<unsigned char>(bytes[at]) & 0xc0) == 0x80) --at;
  return at + size_at(bytes, at) == end ? at : end - 1;
}

// The characters of a text.
class CharacterSet {
 public:
  explicit CharacterSet(std::string_view bytes) {
    for (size_t at = 0; at < bytes.size(); at += size_at(bytes, at)) {
      const std::string_view character = bytes.substr(at, size_at(bytes, at));
      if (character.size() == 1) {
        of_one_byte_[static_cast<unsigned char>(character.front())] = true;
        continue;
      }
      others_.resize(kCodePoints);
      others_[decode_utf8(character).code_point] = true;
    }
  }

  bool has(std::string_view character) const {
    if (character.size() == 1) return of_one_byte_[static_cast<unsigned char>(character.front())];
    return !others_.empty() && others_[decode_utf8(character).code_point];
  }

 private:
  static constexpr size_t kCodePoints = 0x110000;

  std::array<bool, 256> of_one_byte_ = {};
  std::vector<bool> others_;  // by their code points; empty if there are none
};

constexpr char32_t kSharpS = 0xdf;       // in upper case it is two letters
constexpr char32_t kLargeSigma = 0x3a3;  // in lower case it is another letter at the end of a word

// What the case of a text's letters becomes:
// - lower, upper: the case of all letters.
// - title: the first letter of each word is upper case; a word is a run of letters with case.
// - words: likewise; a word is a run of anything but spaces, hyphens and opening brackets.
// - capitalized: the first letter of the text is upper case.
enum class Style : uint8_t { lower, upper, title, words, capitalized };

// Returns the text in this style; nullopt if the case of a character is not known.
std::optional<Text> map_letters(const Text& text, Style style) {
  Text out;
  bool is_first = true;
  for (size_t at = 0; at < text.size();) {
    const bool is_said = text.is_said(at);
    const Utf8Char character = decode_utf8(std::string_view(text.bytes()).substr(at));
    const std::string_view bytes(text.bytes().data() + at, character.n_bytes);
    const char32_t code = character.code_point;
    const Letter letter = letter_of(code);
    const bool is_large = style == Style::upper || (is_first && style != Style::lower);
    at += character.n_bytes;
    if (letter.own == Case::unknown || (code == kLargeSigma && !is_large)) return std::nullopt;
    if (code == kSharpS && is_large) {
      out.append(style == Style::title || style == Style::capitalized ? "Ss" : "SS", is_said);
    } else if (letter.own == (is_large ? Case::lower : Case::upper)) {
      std::string other;
      append_utf8(other, letter.other);
      out.append(other, is_said);
    } else {
      out.append(bytes, is_said);
    }
    constexpr std::string_view kBetweenWords = "-({[<";
    is_first = style == Style::title ? letter.own == Case::none && code != kSharpS
               : style == Style::words
                   ? is_blank(bytes) || kBetweenWords.find(bytes) != std::string_view::npos
                   : false;
  }
  return out;
}

// Whether the character that begins at `at` ends a line.
bool ends_line(const std::string& bytes, size_t at) {
  constexpr std::string_view kEnds = "\n\r\v\f\x1c\x1d\x1e";
  constexpr std::string_view kWideEnds[] = {"\u0085", "\u2028", "\u2029"};
  if (static_cast<unsigned char>(bytes[at]) < 0x80) return kEnds.find(bytes[at]) != kEnds.npos;
  return std::any_of(std::begin(kWideEnds), std::end(kWideEnds),
                     [&](std::string_view end) { return bytes.compare(at, end.size(), end) == 0; });
}

List split_at_blanks(const Text& text, int64_t n) {
  List parts;
  const std::string_view bytes = text.bytes();
  size_t at = 0;
  const auto skip = [&](bool blanks) {
    while (at < bytes.size() && is_blank(bytes.substr(at, size_at(bytes, at))) == blanks) {
      at += size_at(bytes, at);
    }
  };
  for (skip(true); at < bytes.size() && parts.size() <= kMostItems; skip(true)) {
    const size_t begin = at;
    if (n == 0) {
      parts.push_back(Value::text(text.cut(begin, bytes.size())));
      break;
    }
    --n;
    skip(false);
    parts.push_back(Value::text(text.cut(begin, at)));
  }
  return parts;
}

List split_at_blanks_from_right(const Text& text, int64_t n) {
  List parts;
  const std::string_view bytes = text.bytes();
  size_t end = bytes.size();
  const auto skip = [&](bool blanks) {
    while (end > 0) {
      const size_t begin = begin_before(bytes, end);
      if (is_blank(bytes.substr(begin, end - begin)) != blanks) return;
      end = begin;
    }
  };
  for (skip(true); end > 0 && parts.size() <= kMostItems; skip(true)) {
    const size_t last = end;
    if (n == 0) {
      parts.push_back(Value::text(text.cut(0, last)));
      break;
    }
    --n;
    skip(false);
    parts.push_back(Value::text(text.cut(end, last)));
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

bool is_blank(std::string_view character) {
  if (character.size() == 1) {
    const auto c = static_cast<unsigned char>(character.front());
    return c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f);
  }
  const char32_t code = decode_utf8(character).code_point;
  return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
         code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

size_t n_blank_ahead(std::string_view bytes) {
  size_t n = 0;
  while (n < bytes.size() && is_blank(bytes.substr(n, size_at(bytes, n)))) n += size_at(bytes, n);
  return n;
}

size_t n_blank_behind(std::string_view bytes) {
  size_t end = bytes.size();
  while (end > 0) {
    const size_t begin = begin_before(bytes, end);
    if (!is_blank(bytes.substr(begin, end - begin))) break;
    end = begin;
  }
  return bytes.size() - end;
}

Text characters_of(const Value& value) {
  Text text = value.to_text();
  Work::spend(text.size() * kOfCharacter);
  return text;
}

int64_t length(const Text& text) {
  int64_t n = 0;
  for (size_t at = 0; at < text.size(); at += size_at(text.bytes(), at)) ++n;
  return n;
}

size_t byte_of(const Text& text, int64_t character) {
  size_t at = 0;
  while (character-- > 0 && at < text.size()) at += size_at(text.bytes(), at);
  return at;
}

Text strip(const Text& text, std::string_view characters, Ends ends) {
  const std::string_view bytes = text.bytes();
  size_t begin = 0;
  size_t end = bytes.size();
  const CharacterSet wanted(characters);
  const auto goes = [&](std::string_view character) {
    return characters.empty() ? is_blank(character) : wanted.has(character);
  };
  while (ends != Ends::right && begin < end && goes(bytes.substr(begin, size_at(bytes, begin)))) {
    begin += size_at(bytes, begin);
  }
  while (ends != Ends::left && begin < end) {
    const size_t last = begin_before(bytes, end);
    if (!goes(bytes.substr(last, end - last))) break;
    end = last;
  }
  return text.cut(begin, end);
}

Text replace(const Text& text, std::string_view old, const Text& with, int64_t n) {
  Text out;
  size_t at = 0;
  if (old.empty()) {
    // Between all characters, and at both ends.
    for (; at <= text.size() && !out.is_full(); n -= n > 0 ? 1 : 0) {
      if (n != 0) out.append(with);
      if (at == text.size()) break;
      const size_t size = size_at(text.bytes(), at);
      out.append(text.cut(at, at + size));
      at += size;
    }
    return out;
  }
  for (size_t found = find_text(text.bytes(), old); found != std::string::npos && n != 0;
       found = find_text(text.bytes(), old, at), --n) {
    out.append(text.cut(at, found));
    out.append(with);
    at = found + old.size();
  }
  out.append(text.cut(at, text.size()));
  return out;
}

List split(const Text& text, const Text* separator, int64_t n) {
  if (separator == nullptr) return split_at_blanks(text, n);
  List parts;
  const std::string& between = separator->bytes();
  size_t at = 0;
  for (size_t found = find_text(text.bytes(), between);
       found != std::string::npos && n != 0 && parts.size() <= kMostItems;
       found = find_text(text.bytes(), between, at), --n) {
    parts.push_back(Value::text(text.cut(at, found)));
    at = found + between.size();
  }
  parts.push_back(Value::text(text.cut(at, text.size())));
  return parts;
}

List split_from_right(const Text& text, const Text* separator, int64_t n) {
  if (separator == nullptr) return split_at_blanks_from_right(text, n);
  List parts;
  const std::string& between = separator->bytes();
  size_t end = text.size();
  while (n != 0 && end >= between.size() && parts.size() <= kMostItems) {
    const size_t found = find_last_text(text.bytes(), between, end - between.size());
    if (found == std::string::npos) break;
    parts.push_back(Value::text(text.cut(found + between.size(), end)));
    end = found;
    --n;
  }
  parts.push_back(Value::text(text.cut(0, end)));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

List split_lines(const Text& text, bool keeps_ends) {
  List lines;
  const std::string& bytes = text.bytes();
  for (size_t at = 0; at < bytes.size() && lines.size() <= kMostItems;) {
    size_t end = at;
    while (end < bytes.size() && !ends_line(bytes, end)) ++end;
    size_t next = end < bytes.size() ? end + size_at(bytes, end) : end;
    if (end + 1 < bytes.size() && bytes[end] == '\r' && bytes[end + 1] == '\n') ++next;
    lines.push_back(Value::text(text.cut(at, keeps_ends ? next : end)));
    at = next;
  }
  return lines;
}

Value escaped(const Value& value) {
  if (value.is_markup()) return value;
  const Text text = value.to_text();
  Text out;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text.bytes()[at];
    const std::string_view name = c == '&'    ? "&amp;"
                                  : c == '<'  ? "&lt;"
                                  : c == '>'  ? "&gt;"
                                  : c == '"'  ? "&#34;"
                                  : c == '\'' ? "&#39;"
                                              : "";
    out.append(name.empty() ? std::string_view(&c, 1) : name, text.is_said(at));
  }
  if (text.has_address()) out.mark_address();
  return Value::markup(std::move(out));
}

Text join(const List& parts, const Text& separator) {
  Text out;
  for (size_t i = 0; i < parts.size() && !out.is_full(); ++i) {
    if (i > 0) out.append(separator);
    out.append(parts[i].to_text());
  }
  return out;
}

std::optional<Text> upper(const Text& text) { return map_letters(text, Style::upper); }
std::optional<Text> lower(const Text& text) { return map_letters(text, Style::lower); }
std::optional<Text> title(const Text& text) { return map_letters(text, Style::title); }
std::optional<Text> words_up(const Text& text) { return map_letters(text, Style::words); }
std::optional<Text> capitalize(const Text& text) { return map_letters(text, Style::capitalized); }

std::optional<bool> is_case(const Text& text, Case wanted) {
  bool found = false;
  bool all = true;
  for (size_t at = 0; at < text.size(); at += size_at(text.bytes(), at)) {
    const char32_t code = decode_utf8(std::string_view(text.bytes()).substr(at)).code_point;
    const Case own = code == kSharpS ? Case::lower : letter_of(code).own;
    if (own == Case::unknown) return std::nullopt;
    found = found || own == wanted;
    all = all && (own == wanted || own == Case::none);
  }
  return found && all;
}

}  // namespace kinglet::jinja
