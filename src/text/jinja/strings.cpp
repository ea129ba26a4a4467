#include "text/jinja/strings.h"

#include <algorithm>
#include <vector>

#include "base/ascii.h"
#include "text/jinja/search.h"
#include "text/utf8.h"

namespace kinglet::jinja {
namespace {

size_t size_at(std::string_view bytes, size_t at) { return decode_utf8(bytes.substr(at)).n_bytes; }

// Where the character begins that ends in front of `end`.
size_t begin_before(std::string_view bytes, size_t end) {
  size_t at = end - 1;
  while (at > 0 && end - at < 4 && (static_cast<unsigned char>(bytes[at]) & 0xc0) == 0x80) --at;
  return at + size_at(bytes, at) == end ? at : end - 1;
}

// The characters of a text, in an order.
std::vector<std::string_view> sorted_characters(std::string_view bytes) {
  std::vector<std::string_view> characters;
  for (size_t at = 0; at < bytes.size(); at += size_at(bytes, at)) {
    characters.push_back(bytes.substr(at, size_at(bytes, at)));
  }
  std::make_heap(characters.begin(), characters.end());
  std::sort_heap(characters.begin(), characters.end());
  return characters;
}

// Maps each ASCII character by f(character, whether a letter stands in front of it).
template <class F>
std::optional<Text> map_letters(const Text& text, const F& f) {
  Text out;
  bool behind_letter = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text.bytes()[at];
    if (static_cast<unsigned char>(c) >= 0x80) {
      // Letters with two cases are in the blocks below U+0600, and in a few others.
      const Utf8Char character = decode_utf8(std::string_view(text.bytes()).substr(at));
      const char32_t code = character.code_point;
      const bool may_change =
          (code >= 0xb5 && code < 0x0600) || (code >= 0x10a0 && code < 0x1400) ||
          (code >= 0x1c80 && code < 0x2200) || (code >= 0x2c00 && code < 0x2e00) ||
          (code >= 0xa640 && code < 0xac00) || (code >= 0xfb00 && code < 0xfb20) ||
          (code >= 0xff21 && code < 0xff5b) || code >= 0x10400;
      if (may_change) return std::nullopt;
      out.append(text.cut(at, at + character.n_bytes));
      at += character.n_bytes - 1;
      behind_letter = false;
      continue;
    }
    const char mapped = f(c, behind_letter);
    out.append(std::string_view(&mapped, 1), text.is_said(at));
    behind_letter = is_letter(c);
  }
  return out;
}

char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

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
      parts.push_back(Value::text(strip(text.cut(begin, bytes.size()), {}, Ends::right)));
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
      parts.push_back(Value::text(strip(text.cut(0, last), {}, Ends::left)));
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
  const std::vector<std::string_view> wanted = sorted_characters(characters);
  const auto goes = [&](std::string_view character) {
    return wanted.empty() ? is_blank(character)
                          : std::binary_search(wanted.begin(), wanted.end(), character);
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
    for (; at <= text.size() && !out.is_full(); --n) {
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
    const size_t end = std::min(bytes.find_first_of("\n\r\v\f\x1c\x1d\x1e", at), bytes.size());
    size_t next = std::min(end + 1, bytes.size());
    if (end + 1 < bytes.size() && bytes[end] == '\r' && bytes[end + 1] == '\n') ++next;
    lines.push_back(Value::text(text.cut(at, keeps_ends ? next : end)));
    at = next;
  }
  return lines;
}

Text join(const List& parts, const Text& separator) {
  Text out;
  for (size_t i = 0; i < parts.size() && !out.is_full(); ++i) {
    if (i > 0) out.append(separator);
    out.append(parts[i].to_text());
  }
  return out;
}

std::optional<Text> upper(const Text& text) {
  return map_letters(text, [](char c, bool) { return to_upper(c); });
}

std::optional<Text> lower(const Text& text) {
  return map_letters(text, [](char c, bool) { return to_lower(c); });
}

std::optional<Text> title(const Text& text) {
  return map_letters(text,
                     [](char c, bool is_later) { return is_later ? to_lower(c) : to_upper(c); });
}

std::optional<Text> capitalize(const Text& text) {
  bool is_first = true;
  return map_letters(text, [&](char c, bool) {
    return std::exchange(is_first, false) ? to_upper(c) : to_lower(c);
  });
}

}  // namespace kinglet::jinja
