#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "base/utf8.h"
#include "text/jinja/strings.h"

namespace kinglet::jinja {
namespace {

bool begins_name(char c) { return c == '_' || is_letter(c); }

std::string with_plain_newlines(std::string_view source) {
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

constexpr std::array<std::string_view, 27> kSigns = {
    "//", "**", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<", ">",
    "=",  "(",  ")",  "[",  "]",  "{",  "}", ",", ".", ":", "|", ";", "!"};

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) KINGLET_TRY(read_part());
    add(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(at_); }

  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  Error failure(std::string_view what) const {
    return {ErrorCode::unsupported_feature, cat("line ", line_, ": ", what)};
  }

  void advance(size_t n) {
    line_ +=
        static_cast<uint32_t>(std::count(source_.begin() + static_cast<ptrdiff_t>(at_),
                                         source_.begin() + static_cast<ptrdiff_t>(at_ + n), '\n'));
    at_ += n;
  }

  // Reads the template's text up to the next tag, and the tag.
  Status read_part() {
    const size_t begin = find_tag(at_);
    if (begin == std::string::npos) {
      add_data(rest());
      advance(source_.size() - at_);
      return {};
    }
    const char kind = source_[begin + 1];
    const char mark = begin + 2 < source_.size() ? source_[begin + 2] : '\0';
    const std::string_view before = std::string_view(source_).substr(at_, begin - at_);
    add_data(stripped(before, mark, kind != '{'));
    const bool is_marked = mark == '-' || mark == '+';
    advance(begin - at_ + 2 + (is_marked ? 1 : 0));
    if (kind == '#') return skip_comment();
    if (kind == '{') {
      add(TokenKind::variable_begin, "");
      return read_tokens("}}", TokenKind::variable_end);
    }
    if (word_at(at_) == "raw") return read_raw();
    add(TokenKind::block_begin, "");
    return read_tokens("%}", TokenKind::block_end);
  }

  size_t find_tag(size_t from) const {
    for (size_t at = source_.find('{', from); at != std::string::npos;
         at = source_.find('{', at + 1)) {
      const char next = at + 1 < source_.size() ? source_[at + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') return at;
    }
    return std::string::npos;
  }

  void add_data(std::string_view text) {
    if (!text.empty()) add(TokenKind::data, std::string(text));
  }

  // Returns what the tag's mark and lstrip_blocks leave of the text in front of the tag.
  std::string_view stripped(std::string_view text, char mark, bool strips_line) const {
    if (mark == '-') {
      return text.substr(0, text.size() - n_blank_behind(text));
    }
    if (mark == '+' || !strips_line) return text;
    const size_t newline = text.rfind('\n');
    const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    if (line == 0 && !line_begins_) return text;
    const std::string_view indent = text.substr(line);
    return n_blank_ahead(indent) == indent.size() ? text.substr(0, line) : text;
  }

  // Returns the word after white space; empty if there is no word.
  std::string_view word_at(size_t at) const {
    at += n_blank_ahead(std::string_view(source_).substr(at));
    size_t end = at;
    while (end < source_.size() && (begins_name(source_[end]) || is_digit(source_[end]))) ++end;
    return std::string_view(source_).substr(at, end - at);
  }

  // Takes `close` with its mark, and the white space after it that the mark or trim_blocks removes.
  // Returns false if `close` is not here.
  bool take_close(std::string_view close, bool trims_newline) {
    std::string_view here = rest();
    char mark = '\0';
    if (!here.empty() && (here.front() == '-' || here.front() == '+') &&
        here.substr(1).starts_with(close)) {
      mark = here.front();
      here.remove_prefix(1);
    }
    if (!here.starts_with(close)) return false;
    size_t n = close.size() + (mark == '\0' ? 0 : 1);
    if (mark == '-') {
      n += n_blank_ahead(rest().substr(n));
    } else if (mark == '\0' && trims_newline && at_ + n < source_.size() &&
               source_[at_ + n] == '\n') {
      ++n;
    }
    advance(n);
    line_begins_ = source_[at_ - 1] == '\n';
    return true;
  }

  Status skip_comment() {
    while (at_ < source_.size()) {
      if (take_close("#}", true)) return {};
      advance(1);
    }
    return failure("a comment is not closed");
  }

  Status read_raw() {
    advance(rest().find("raw") + 3);
    skip_spaces();
    if (!take_close("%}", false)) return failure("expected %} after raw");
    const size_t begin = at_;
    for (size_t at = source_.find("{%", at_); at != std::string::npos;
         at = source_.find("{%", at + 2)) {
      const char mark = at + 2 < source_.size() ? source_[at + 2] : '\0';
      const size_t word = at + 2 + (mark == '-' || mark == '+' ? 1 : 0);
      if (word_at(word) != "endraw") continue;
      add_data(stripped(std::string_view(source_).substr(begin, at - begin), mark, true));
      advance(word - at_);
      advance(rest().find("endraw") + 6);
      skip_spaces();
      return take_close("%}", true) ? Status() : failure("expected %} after endraw");
    }
    return failure("a raw block is not closed");
  }

  void skip_spaces() { advance(n_blank_ahead(rest())); }

  Status read_tokens(std::string_view close, TokenKind end) {
    size_t depth = 0;  // of brackets: inside brackets, "}}" may end two dicts
    while (true) {
      skip_spaces();
      if (at_ == source_.size()) return failure(cat("expected ", close));
      if (depth == 0 && take_close(close, end == TokenKind::block_end)) {
        add(end, "");
        return {};
      }
      KINGLET_TRY(read_token());
      const Token& token = tokens_.back();
      if (token.kind != TokenKind::sign) continue;
      if (token.text == "(" || token.text == "[" || token.text == "{") ++depth;
      if (token.text == ")" || token.text == "]" || token.text == "}") {
        if (depth == 0) return failure(cat("found ", token.text, " without its counterpart"));
        --depth;
      }
    }
  }

  Status read_token() {
    const char c = source_[at_];
    if (c == '\'' || c == '"') return read_string(c);
    if (is_digit(c)) return read_number();
    if (static_cast<unsigned char>(c) >= 0x80) {
      return failure("a non-ASCII character is outside of a string");
    }
    if (begins_name(c)) {
      size_t n = 1;
      while (at_ + n < source_.size() &&
             (begins_name(source_[at_ + n]) || is_digit(source_[at_ + n]))) {
        ++n;
      }
      add(TokenKind::name, std::string(rest().substr(0, n)));
      advance(n);
      return {};
    }
    for (const std::string_view sign : kSigns) {
      if (!rest().starts_with(sign)) continue;
      add(TokenKind::sign, std::string(sign));
      advance(sign.size());
      return {};
    }
    return failure(cat("unexpected ", in_quotes(rest().substr(0, 1))));
  }

  Status read_number() {
    size_t n = 0;
    bool is_real = false;
    const auto take_digits = [&] {
      while (at_ + n < source_.size() && (is_digit(source_[at_ + n]) || source_[at_ + n] == '_')) {
        ++n;
      }
    };
    take_digits();
    // In a.0.1, 0 and 1 are two whole numbers.
    const bool is_attribute = at_ > 0 && source_[at_ - 1] == '.';
    if (!is_attribute && at_ + n + 1 < source_.size() && source_[at_ + n] == '.' &&
        is_digit(source_[at_ + n + 1])) {
      is_real = true;
      ++n;
      take_digits();
    }
    if (at_ + n < source_.size() && (source_[at_ + n] == 'e' || source_[at_ + n] == 'E')) {
      const size_t sign = at_ + n + 1 < source_.size() &&
                                  (source_[at_ + n + 1] == '+' || source_[at_ + n + 1] == '-')
                              ? 1
                              : 0;
      if (at_ + n + 1 + sign < source_.size() && is_digit(source_[at_ + n + 1 + sign])) {
        is_real = true;
        n += 1 + sign;
        take_digits();
      }
    }
    std::string digits(rest().substr(0, n));
    std::erase(digits, '_');
    const bool has_zeros = digits.starts_with('0') && digits.find_first_not_of('0') != digits.npos;
    if (!is_real && has_zeros) return failure("a whole number must not begin with 0");
    add(is_real ? TokenKind::real : TokenKind::integer, std::move(digits));
    advance(n);
    return {};
  }

  Status read_string(char quote) {
    std::string text;
    size_t at = at_ + 1;
    for (; at < source_.size() && source_[at] != quote; ++at) {
      if (source_[at] != '\\' || at + 1 == source_.size()) {
        text += source_[at];
        continue;
      }
      ++at;
      const auto n = append_escape(at, text);
      if (!n) return failure("an invalid escape in a string");
      at += *n;
    }
    if (at == source_.size()) return failure("a string is not closed");
    add(TokenKind::text, std::move(text));
    advance(at + 1 - at_);
    return {};
  }

  // Appends what an escape stands for; `at` is the byte after its backslash. Returns the number of
  // further bytes of the escape; nullopt if the escape is wrong, or names a character (\N). As in
  // Python, unknown escapes stay as they are.
  std::optional<size_t> append_escape(size_t at, std::string& text) const {
    constexpr std::string_view kNames = "\\'\"abfnrtv";
    constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
    const char c = source_[at];
    if (c == '\n') return 0;
    if (c == 'N' || static_cast<unsigned char>(c) >= 0x80) return std::nullopt;
    if (const size_t known = kNames.find(c); known != std::string_view::npos) {
      text += kMeanings[known];
      return 0;
    }
    const size_t n_digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (n_digits > 0) {
      char32_t code = 0;
      for (size_t i = 1; i <= n_digits; ++i) {
        const auto digit = hex_digit(at + i < source_.size() ? source_[at + i] : '\0');
        if (!digit) return std::nullopt;
        code = code * 16 + *digit;
      }
      if (code >= 0x110000 || (code >= 0xd800 && code < 0xe000)) return std::nullopt;
      append_utf8(text, code);
      return n_digits;
    }
    if (c >= '0' && c <= '7') {
      char32_t code = 0;
      size_t n = 0;
      while (n < 3 && at + n < source_.size() && source_[at + n] >= '0' && source_[at + n] <= '7') {
        code = code * 8 + static_cast<char32_t>(source_[at + n] - '0');
        ++n;
      }
      append_utf8(text, code);
      return n - 1;
    }
    text += '\\';
    text += c;
    return 0;
  }

  std::string source_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  bool line_begins_ = true;  // whether a line begins after the last tag
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) {
  return Lexer(with_plain_newlines(source)).run();
}

}  // namespace kinglet::jinja
