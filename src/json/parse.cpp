#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/format.h"
#include "base/utf8.h"
#include "json/json.h"

namespace kinglet {
namespace {

// Keeps the last of equal names, at the place of the first. Sorts, because tables of hashes are
// slow for names that are chosen to be.
void join_equal_names(Json::Object& members) {
  std::vector<size_t> order;
  order.reserve(members.size());
  for (size_t i = 0; i < members.size(); ++i) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int names = members[a].first.compare(members[b].first);
    return names != 0 ? names < 0 : a < b;
  });
  std::vector<bool> is_repeated(members.size());
  for (size_t i = 0, first = 0; i < order.size(); ++i) {
    if (i == 0 || members[order[i]].first != members[order[first]].first) {
      first = i;
      continue;
    }
    is_repeated[order[i]] = true;
    members[order[first]].second = std::move(members[order[i]].second);
  }
  size_t n_kept = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    if (is_repeated[i]) continue;
    if (n_kept != i) members[n_kept] = std::move(members[i]);
    ++n_kept;
  }
  members.resize(n_kept);
}

// Returns how many bytes at the front of a string's rest are its text: up to its end, an escape, or
// what may not be in a string.
size_t count_plain(std::string_view rest) {
  size_t n = 0;
  while (n < rest.size()) {
    const auto byte = static_cast<unsigned char>(rest[n]);
    if (byte == '"' || byte == '\\' || byte < 0x20) break;
    if (byte < 0x80) {
      ++n;
      continue;
    }
    const Utf8Char character = decode_utf8(rest.substr(n));
    if (character.state != Utf8State::well_formed) break;
    n += character.n_bytes;
  }
  return n;
}

class Parser {
 public:
  Parser(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  Result<Json> run() {
    KINGLET_ASSIGN(Json value, parse_value(0));
    skip_spaces();
    if (at_ < text_.size()) return failure("unexpected text after the value");
    return value;
  }

 private:
  Error failure(std::string_view what) const {
    return {ErrorCode::invalid_argument, cat("this is not JSON: ", what, " at byte ", at_)};
  }

  Error too_large(std::string_view what) const {
    return {ErrorCode::invalid_argument, cat("this JSON has ", what, " at byte ", at_)};
  }

  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_spaces() {
    while (next() == ' ' || next() == '\t' || next() == '\r' || next() == '\n') ++at_;
  }

  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Result<Json> parse_value(size_t depth) {
    if (limits_.cancellation.requested()) return Error{ErrorCode::cancelled, "cancelled"};
    skip_spaces();
    switch (next()) {
      case '[':
      case '{':
        if (depth == limits_.depth) {
          return too_large(cat("more than ", limits_.depth, " levels of arrays and objects"));
        }
        return take("[") ? parse_array(depth) : parse_object(depth);
      case '"': {
        KINGLET_ASSIGN(std::string text, parse_string());
        return Json(std::move(text));
      }
      default:
        if (take("null")) return Json();
        if (take("true")) return Json(true);
        if (take("false")) return Json(false);
        return parse_number();
    }
  }

  Result<Json> parse_array(size_t depth) {
    Json::Array items;
    skip_spaces();
    if (take("]")) return Json(std::move(items));
    while (true) {
      KINGLET_ASSIGN(Json item, parse_value(depth + 1));
      items.push_back(std::move(item));
      skip_spaces();
      if (take("]")) return Json(std::move(items));
      if (!take(",")) return failure("expected \",\" or \"]\"");
    }
  }

  Result<Json> parse_object(size_t depth) {
    Json::Object members;
    ++at_;
    skip_spaces();
    if (take("}")) return Json::object();
    while (true) {
      skip_spaces();
      if (next() != '"') return failure("expected a name in double quotes");
      KINGLET_ASSIGN(std::string name, parse_string());
      skip_spaces();
      if (!take(":")) return failure("expected \":\"");
      KINGLET_ASSIGN(Json value, parse_value(depth + 1));
      members.emplace_back(std::move(name), std::move(value));
      // Too many are noticed here, too, not only at the end of all.
      if (members.size() / 2 > limits_.members) KINGLET_TRY(join_members(members));
      skip_spaces();
      if (take("}")) break;
      if (!take(",")) return failure("expected \",\" or \"}\"");
    }
    KINGLET_TRY(join_members(members));
    return Json::from_members(std::move(members));
  }

  Status join_members(Json::Object& members) const {
    join_equal_names(members);
    if (members.size() <= limits_.members) return {};
    return too_large(cat("an object of more than ", limits_.members, " members"));
  }

  Result<std::string> parse_string() {
    std::string out;
    ++at_;
    while (!limits_.cancellation.requested()) {
      const std::string_view rest = text_.substr(at_);
      const size_t n_plain = count_plain(rest);
      out += rest.substr(0, n_plain);
      at_ += n_plain;
      if (take("\"")) return out;
      if (n_plain == rest.size()) return failure("unterminated string");
      if (static_cast<unsigned char>(next()) < 0x20)
        return failure("control character in a string");
      if (!take("\\")) return failure("no UTF-8");
      KINGLET_TRY(append_escaped(out));
    }
    return Error{ErrorCode::cancelled, "cancelled"};
  }

  // Parses the rest of an escape, after its backslash.
  Status append_escaped(std::string& out) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (take("u")) return append_code_unit(out);
    const size_t known = at_ < text_.size() ? kNames.find(text_[at_]) : kNames.npos;
    if (known == kNames.npos) return failure("unknown escape");
    out += kMeanings[known];
    ++at_;
    return {};
  }

  Status append_code_unit(std::string& out) {
    KINGLET_ASSIGN(char32_t code, parse_code_unit());
    if (code >= 0xd800 && code < 0xdc00 && take("\\u")) {
      KINGLET_ASSIGN(const char32_t low, parse_code_unit());
      const bool is_pair = low >= 0xdc00 && low < 0xe000;
      if (is_pair) code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code >= 0xd800 && code < 0xe000) return failure("half a surrogate pair");
    append_utf8(out, code);
    return {};
  }

  // Parses four hexadecimal digits.
  Result<char32_t> parse_code_unit() {
    char32_t unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const auto digit = hex_digit(next());
      if (at_ == text_.size() || !digit) return failure("expected four hexadecimal digits");
      unit = unit * 16 + *digit;
    }
    return unit;
  }

  bool take_digits() {
    const size_t begin = at_;
    while (is_digit(next())) ++at_;
    return at_ > begin;
  }

  Result<Json> parse_number() {
    const size_t begin = at_;
    take("-");
    const bool is_whole = take("0") || take_digits();
    const bool has_fraction = is_whole && (!take(".") || take_digits());
    if (!has_fraction) {
      at_ = begin;
      return failure("expected a value");
    }
    if (take("e") || take("E")) {
      if (!take("+")) take("-");
      if (!take_digits()) return failure("expected an exponent");
    }
    return Json::number(text_.substr(begin, at_ - begin));
  }

  std::string_view text_;
  JsonLimits limits_;
  size_t at_ = 0;
};

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  return Parser(text, limits).run();
}

}  // namespace kinglet
