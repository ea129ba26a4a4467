#include "schema/pattern.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/utf8.h"
#include "grammar/expression.h"
#include "schema/unicode_property.h"
#include "text/unicode_table.h"

namespace kinglet::schema {
namespace {

constexpr char32_t kNoCharacter = UINT32_MAX;

// The limit for groups inside groups, the same as in grammars.
constexpr int kMaxGroupDepth = 100;

constexpr std::string_view kSyntaxCharacters = "^$\\.*+?()[]{}|/";

constexpr bool is_in(std::string_view characters, char32_t code_point) {
  return code_point < 0x80 && characters.find(static_cast<char>(code_point)) != characters.npos;
}

constexpr bool is_ascii_letter(char32_t c) { return c < 0x80 && is_letter(static_cast<char>(c)); }
constexpr bool is_ascii_digit(char32_t c) { return c >= '0' && c <= '9'; }

bool is_letter_or_number(char32_t c) {
  return (UnicodeTable::get().traits(c) & (trait::kLetter | trait::kNumber)) != 0;
}

// Decodes the pattern, and leaves out backslashes that are not needed.
std::u32string without_unneeded_escapes(std::string_view text) {
  std::u32string plain;
  bool is_in_set = false;
  bool is_escaped = false;
  while (!text.empty()) {
    const auto [c, n_bytes, state] = decode_utf8(text);
    text.remove_prefix(n_bytes);
    if (is_escaped) {
      const bool is_needed =
          is_in(kSyntaxCharacters, c) || (is_in_set && c == '-') || is_letter_or_number(c);
      if (!is_needed) plain.pop_back();
      is_escaped = false;
    } else {
      if (c == '[' || c == ']') is_in_set = c == '[';
      is_escaped = c == '\\';
    }
    plain += c;
  }
  return plain;
}

CharacterSet single(char32_t code_point) { return {{code_point, code_point}}; }

// Returns what \d, \D, \w, \W, \s and \S stand for; nullopt for other letters.
std::optional<CharacterSet> class_of(char32_t letter) {
  switch (letter) {
    case 'd':
      return CharacterSet{{'0', '9'}};
    case 'w':
      return CharacterSet{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    case 's':
      return CharacterSet{{0x09, 0x0d},     {' ', ' '},       {0xa0, 0xa0},     {0x1680, 0x1680},
                          {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
                          {0x3000, 0x3000}, {0xfeff, 0xfeff}};
    case 'D':
    case 'W':
    case 'S':
      return complement(*class_of(letter - 'A' + 'a'));
    default:
      return std::nullopt;
  }
}

// All functions stop at the first mistake: then there seem to be no more characters.
class PatternParser {
 public:
  explicit PatternParser(std::string_view pattern) : text_(without_unneeded_escapes(pattern)) {}

  Result<Pattern> run() {
    Pattern whole = parse_choice();
    const bool has_all_groups =
        max_back_reference_ <= n_groups_ &&
        std::all_of(referred_names_.begin(), referred_names_.end(),
                    [this](const std::u32string& name) { return has_name(name); });
    if (peek() != kNoCharacter || (!has_all_groups && !is_cut_off_)) break_off();
    if (is_broken_) return error("it is not a valid regular expression");
    if (!refusal_.empty()) return error(refusal_);
    return whole;
  }

 private:
  static Error error(std::string reason) {
    return {ErrorCode::invalid_argument, std::move(reason)};
  }

  // Notes that the pattern is not a regular expression.
  void break_off() {
    is_broken_ = true;
    at_ = text_.size();
  }

  // Notes that the pattern is not supported. It may turn out later that it is not a
  // regular expression.
  void refuse(std::string reason) {
    if (refusal_.empty()) refusal_ = std::move(reason);
  }

  char32_t peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : kNoCharacter;
  }

  char32_t next() {
    if (at_ < text_.size()) return text_[at_++];
    break_off();
    return kNoCharacter;
  }

  bool take(char32_t wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  void expect(char32_t wanted) {
    if (!take(wanted)) break_off();
  }

  Pattern parse_choice() {
    Pattern choice{Pattern::Kind::choice};
    do choice.parts.push_back(parse_sequence());
    while (take('|'));
    return choice.parts.size() == 1 ? std::move(choice.parts[0]) : choice;
  }

  Pattern parse_sequence() {
    Pattern sequence{Pattern::Kind::sequence};
    while (peek() != kNoCharacter && peek() != '|' && peek() != ')') {
      sequence.parts.push_back(parse_term());
    }
    return sequence;
  }

  // Parses an assertion, or an atom with its quantifier.
  Pattern parse_term() {
    const char32_t c = next();
    if (c == '^') return {Pattern::Kind::start};
    if (c == '$') return {Pattern::Kind::end};
    if (c == '\\' && (peek() == 'b' || peek() == 'B')) {
      ++at_;
      refuse(R"(it uses a word boundary (\b or \B))");
      return {Pattern::Kind::start};
    }
    if (c == '(') return parse_group();
    Pattern atom{Pattern::Kind::set};
    if (c == '.') {
      atom.characters = complement({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}});
    } else if (c == '[') {
      atom.characters = parse_set();
    } else if (c == '\\') {
      atom.characters = parse_escape(false).characters;
    } else {
      if (is_in("*+?{}]", c)) break_off();
      atom.characters = single(c);
    }
    return parse_quantifier(std::move(atom));
  }

  // Parses a group after its first bracket.
  Pattern parse_group() {
    bool looks_ahead = false;
    bool looks_behind = false;
    bool is_negated = false;
    if (!take('?')) {
      ++n_groups_;
    } else if (take('<')) {
      looks_behind = peek() == '=' || peek() == '!';
      if (looks_behind) {
        ++at_;
        refuse("it uses lookbehind");
      } else {
        ++n_groups_;
        const std::u32string name = parse_name();
        if (has_name(name)) break_off();
        names_.push_back(name);
      }
    } else if (peek() == '=' || peek() == '!') {
      looks_ahead = true;
      is_negated = next() == '!';
    } else if (!take(':')) {
      parse_flags();
    }
    Pattern inside = parse_inside();
    if (looks_behind) return inside;
    if (!looks_ahead) return parse_quantifier(std::move(inside));
    Pattern look{Pattern::Kind::look_ahead};
    look.is_negated = is_negated;
    look.parts.push_back(std::move(inside));
    return look;
  }

  Pattern parse_inside() {
    if (depth_ == kMaxGroupDepth) {
      refuse(cat("its groups are nested more than ", kMaxGroupDepth, " deep"));
      at_ = text_.size();
      is_cut_off_ = true;
      return {Pattern::Kind::sequence};
    }
    ++depth_;
    Pattern inside = parse_choice();
    --depth_;
    if (!is_cut_off_) expect(')');
    return inside;
  }

  // Parses the flags of a group: (?i:…), (?i-m:…).
  void parse_flags() {
    std::u32string seen;
    bool has_minus = false;
    while (!take(':')) {
      const char32_t c = next();
      const bool is_known = is_in("ims", c) || (c == '-' && !has_minus);
      if (!is_known || seen.find(c) != seen.npos) return break_off();
      has_minus = has_minus || c == '-';
      seen += c;
    }
    if (seen == U"-") break_off();
    refuse("it sets flags, as (?i:…) does");
  }

  bool has_name(const std::u32string& name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }

  // Parses the name of a group, after "<".
  std::u32string parse_name() {
    std::u32string name;
    while (!take('>')) {
      char32_t c = next();
      if (c == '\\') {
        expect('u');
        c = parse_unicode_escape();
      }
      if (!is_broken_ && !may_name_group(c, !name.empty())) break_off();
      if (is_broken_) return {};
      name += c;
    }
    if (name.empty()) break_off();
    return name;
  }

  static bool may_name_group(char32_t c, bool is_inside) {
    constexpr unsigned kInside = trait::kLetter | trait::kNumber | trait::kMark;
    const unsigned wanted = is_inside ? kInside : trait::kLetter;
    const bool joins = c == 0x200c || c == 0x200d;
    return c == '$' || c == '_' || (is_inside && joins) ||
           (UnicodeTable::get().traits(c) & wanted) != 0;
  }

  Pattern parse_quantifier(Pattern part) {
    Pattern repeated{Pattern::Kind::repeat};
    if (take('*')) {
      repeated.most = kUnlimited;
    } else if (take('+')) {
      repeated.least = 1;
      repeated.most = kUnlimited;
    } else if (take('?')) {
      repeated.most = 1;
    } else if (take('{')) {
      parse_bounds(repeated.least, repeated.most);
    } else {
      return part;
    }
    take('?');  // a lazy quantifier matches the same texts
    repeated.parts.push_back(std::move(part));
    return repeated;
  }

  void parse_bounds(uint64_t& least, uint64_t& most) {
    least = parse_number();
    most = least;
    if (take(',')) most = peek() == '}' ? kUnlimited : parse_number();
    expect('}');
    if (least > most) break_off();
  }

  // Numbers that are too large become kUnlimited.
  uint64_t parse_number() {
    if (!is_ascii_digit(peek())) break_off();
    uint64_t number = 0;
    while (is_ascii_digit(peek())) {
      const char32_t digit = next() - '0';
      number = number > kUnlimited / 10 - 1 ? kUnlimited : number * 10 + digit;
    }
    return number;
  }

  // The characters of an escape or of a part of a set.
  struct Member {
    CharacterSet characters;
    bool is_class;  // it cannot be the end of a range
  };

  // Parses a set of characters after its first bracket.
  CharacterSet parse_set() {
    const bool is_negated = take('^');
    CharacterSet set;
    while (!is_broken_ && !take(']')) {
      Member first = parse_member();
      if (peek() == '-' && peek(1) != ']') {
        ++at_;
        const Member last = parse_member();
        if (first.is_class || last.is_class) break_off();
        if (is_broken_) break;
        set.push_back({first.characters[0].first, last.characters[0].first});
        if (set.back().first > set.back().last) break_off();
      } else {
        set.insert(set.end(), first.characters.begin(), first.characters.end());
      }
    }
    return is_negated ? complement(std::move(set)) : set;
  }

  Member parse_member() {
    const char32_t c = next();
    return c == '\\' ? parse_escape(true) : Member{single(c), false};
  }

  // Parses an escape after its backslash.
  Member parse_escape(bool in_set) {
    constexpr std::string_view kControls = "tnvfr";
    const char32_t name = next();
    if (auto named = class_of(name)) return {std::move(*named), true};
    if (name == 'p' || name == 'P') return {parse_property(name == 'P'), true};
    if (is_in(kControls, name)) {
      return {single(U'\t' + static_cast<char32_t>(kControls.find(static_cast<char>(name)))),
              false};
    }
    return {single(parse_escaped_character(name, in_set)), false};
  }

  char32_t parse_escaped_character(char32_t name, bool in_set) {
    switch (name) {
      case '0':
        if (is_ascii_digit(peek())) break_off();
        return 0;
      case 'c':
        if (!is_ascii_letter(peek())) break_off();
        return next() % 32;
      case 'x':
        return parse_hexadecimal(2);
      case 'u':
        return parse_unicode_escape();
      default:
        break;
    }
    if (in_set && name == 'b') return '\b';
    if (!in_set && (name == 'k' || is_ascii_digit(name))) {
      parse_back_reference(name);
    } else if (!is_in(kSyntaxCharacters, name) && !(in_set && name == '-')) {
      break_off();
    }
    return name;
  }

  void parse_back_reference(char32_t name) {
    refuse("it refers back to a group (backreference)");
    if (name == 'k') {
      expect('<');
      referred_names_.push_back(parse_name());
    } else {
      --at_;
      max_back_reference_ = std::max(max_back_reference_, parse_number());
    }
  }

  CharacterSet parse_property(bool is_negated) {
    expect('{');
    std::string property;
    while (!take('}')) {
      const char32_t c = next();
      const bool is_word = is_ascii_letter(c) || is_ascii_digit(c) || c == '_' || c == '=';
      if (!is_word) break_off();
      if (is_broken_) return {};
      property += static_cast<char>(c);
    }
    const auto set = characters_with(property);
    if (!set) {
      refuse(cat("the Unicode property \"", property, "\" is not known"));
      return {};
    }
    return is_negated ? complement(*set) : *set;
  }

  // Parses the rest of an escape, after its "u".
  char32_t parse_unicode_escape() {
    if (take('{')) {
      char32_t code = 0;
      if (peek() == '}') break_off();
      while (!is_broken_ && !take('}')) {
        code = code * 16 + parse_hexadecimal(1);
        if (code > kLastCodePoint) break_off();
      }
      return code;
    }
    const char32_t unit = parse_hexadecimal(4);
    const size_t after = at_;
    if (unit < 0xd800 || unit > 0xdbff || peek() != '\\' || peek(1) != 'u' || peek(2) == '{') {
      return unit;
    }
    at_ += 2;
    const char32_t low = parse_hexadecimal(4);
    if (low >= 0xdc00 && low < 0xe000) return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    if (!is_broken_) at_ = after;
    return unit;
  }

  char32_t parse_hexadecimal(int n_digits) {
    char32_t number = 0;
    for (int i = 0; i < n_digits; ++i) {
      const char32_t c = next();
      const auto digit = c < 0x80 ? hex_digit(static_cast<char>(c)) : std::nullopt;
      if (!digit) break_off();
      number = number * 16 + digit.value_or(0);
    }
    return number;
  }

  std::u32string text_;
  size_t at_ = 0;
  int depth_ = 0;
  bool is_broken_ = false;
  bool is_cut_off_ = false;  // where groups are nested too deep
  std::string refusal_;
  uint64_t n_groups_ = 0;
  uint64_t max_back_reference_ = 0;
  std::vector<std::u32string> names_;  // of groups
  std::vector<std::u32string> referred_names_;
};

}  // namespace

Result<Pattern> parse_pattern(std::string_view pattern) { return PatternParser(pattern).run(); }

}  // namespace kinglet::schema
