// Reads and writes UTF-8. Source: the Unicode Standard, section 3.9, table 3-7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kinglet {

constexpr char32_t kReplacementCharacter = 0xfffd;

enum class Utf8State : uint8_t {
  well_formed,
  ill_formed,  // cannot become a character, whatever bytes follow
  unfinished,  // the text ends inside what may still become a character
};

struct Utf8Char {
  char32_t code_point;  // U+FFFD unless well-formed
  size_t n_bytes;       // size of the character, or of the part that one U+FFFD replaces
  Utf8State state;
};

// Returns the character at the front of `text`, which must not be empty. Ill-formed bytes are
// grouped into maximal subparts, like the replacement in the WHATWG Encoding Standard.
inline Utf8Char decode_utf8(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, Utf8State::well_formed};

  const size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0) return {kReplacementCharacter, 1, Utf8State::ill_formed};

  // The second byte's range excludes overlong forms, surrogates and code points above U+10FFFF.
  unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  char32_t code_point = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {kReplacementCharacter, i, Utf8State::unfinished};
    if (byte(i) < low || byte(i) > high) return {kReplacementCharacter, i, Utf8State::ill_formed};
    code_point = code_point << 6 | (byte(i) & 0x3fu);
    low = 0x80;
    high = 0xbf;
  }
  return {code_point, length, Utf8State::well_formed};
}

// Returns the offset of the first bytes of `text` that are not a character; npos if all of it is
// valid UTF-8.
inline size_t find_ill_formed(std::string_view text) {
  for (size_t offset = 0; offset < text.size();) {
    const Utf8Char character = decode_utf8(text.substr(offset));
    if (character.state != Utf8State::well_formed) return offset;
    offset += character.n_bytes;
  }
  return std::string_view::npos;
}

// Appends a Unicode scalar value.
inline void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&out](char32_t byte) { out += static_cast<char>(byte); };
  const auto put_rest = [&](int shift) { put(0x80 | (code_point >> shift & 0x3f)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xc0 | code_point >> 6);
    put_rest(0);
  } else if (code_point < 0x10000) {
    put(0xe0 | code_point >> 12);
    put_rest(6);
    put_rest(0);
  } else {
    put(0xf0 | code_point >> 18);
    put_rest(12);
    put_rest(6);
    put_rest(0);
  }
}

// Counts characters: in UTF-8 every byte begins one, except the continuation bytes.
inline size_t count_characters(std::string_view text) {
  size_t n = 0;
  for (const char c : text) n += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return n;
}

// Returns the text with U+FFFD for bytes that are not a character.
inline std::string replace_ill_formed(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Char character = decode_utf8(text);
    append_utf8(out, character.code_point);
    text.remove_prefix(character.n_bytes);
  }
  return out;
}

}  // namespace kinglet
