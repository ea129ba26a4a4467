#include "grammar/gbnf_parser.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "base/utf8.h"

namespace kinglet {
namespace {

constexpr size_t kMaxGrammarBytes = 16 << 20;

// The deepest nesting of groups: each level takes a frame of the C++ stack.
constexpr int kMaxNesting = 100;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

// Each function reads what it is named after. It returns false if the text is wrong: error() then
// says why.
class GbnfParser {
 public:
  GbnfParser(std::string_view text, int32_t n_tokens, GbnfRules& rules)
      : text_(text), n_tokens_(n_tokens), rules_(rules) {
    number_of("root", text.size());
  }

  bool parse() {
    skip_space(true);
    while (at_ < text_.size()) {
      if (!rule()) return false;
    }
    for (size_t i = 0; i < rules_.bodies.size(); ++i) {
      if (!rules_.bodies[i].empty()) continue;
      const std::string_view name = i == 0 ? "root" : gbnf_name(text_, rules_.positions[i]);
      return fail(rules_.positions[i], {"rule ", in_quotes(name), " is not defined"});
    }
    return true;
  }

  bool alternatives(bool in_group, Expression& read);

  Error& error() { return *error_; }

 private:
  bool rule();
  bool sequence(bool in_group, Expression& read);
  bool symbol(Expression& read);
  bool literal(Expression& read);
  bool token(Expression& read);
  bool set(Expression& read);
  bool group(Expression& read);
  bool repetition(Expression& repeated);
  bool bounds(uint32_t& least, uint64_t& most);
  bool number(uint32_t& value);
  bool character(char32_t& code_point);
  bool escape(char32_t& code_point);

  // Returns the number of a rule, which may be defined later. `position`: where it is named.
  uint32_t number_of(std::string_view name, size_t position);
  bool check_size(uint64_t n_more);

  size_t digits(uint32_t base, size_t n_most, uint32_t& value);
  void skip_space(bool newlines_too);
  bool take(std::string_view wanted);
  char peek(size_t ahead = 0) const {  // NUL at the end
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool at_end() const { return at_ == text_.size(); }
  bool at_newline() const { return peek() == '\n' || peek() == '\r'; }

  bool fail(size_t position, std::initializer_list<std::string_view> message) {
    error_ = grammar_error(text_, position, message);
    return false;
  }
  bool expected(std::string_view wanted) {
    return fail(at_, {"found ", found(), ", expected ", wanted});
  }
  std::string found() const;

  std::string_view text_;
  int32_t n_tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
  uint64_t n_steps_ = 2;  // of the program so far: it begins with a call of the root, and an end
  GbnfRules& rules_;
  std::unordered_map<std::string_view, uint32_t> numbers_;  // of rules, by name
  std::optional<Error> error_;
};

uint32_t GbnfParser::number_of(std::string_view name, size_t position) {
  const auto number = static_cast<uint32_t>(rules_.bodies.size());
  const auto [known, is_new] = numbers_.try_emplace(name, number);
  if (is_new) {
    rules_.bodies.emplace_back();
    rules_.positions.push_back(position);
  }
  return known->second;
}

bool GbnfParser::rule() {
  const size_t position = at_;
  const std::string_view name = gbnf_name(text_, at_);
  at_ += name.size();
  if (name.empty()) return expected("the name of a rule");
  skip_space(false);
  if (!take("::=")) return expected("\"::=\"");
  skip_space(true);
  Expression body;
  if (!alternatives(false, body)) return false;
  if (!at_end() && !at_newline()) return expected("a symbol, \"|\" or the end of the line");
  const uint32_t number = number_of(name, position);
  if (!rules_.bodies[number].empty()) {
    return fail(position, {"rule ", in_quotes(name), " is defined twice"});
  }
  rules_.bodies[number] = std::move(body);
  rules_.positions[number] = position;
  ++n_steps_;
  skip_space(true);
  return true;
}

bool GbnfParser::alternatives(bool in_group, Expression& read) {
  std::vector<Expression> branches;
  for (;;) {
    if (!sequence(in_group, branches.emplace_back())) return false;
    if (!take("|")) break;
    n_steps_ += 2;
    skip_space(true);
  }
  read = kinglet::alternatives(branches);
  return true;
}

bool GbnfParser::sequence(bool in_group, Expression& read) {
  constexpr std::string_view kRepetitions = "*+?{";
  constexpr std::string_view kBehind = "|)\n\r";
  std::vector<Expression> parts;
  while (!at_end() && kBehind.find(peek()) == kBehind.npos) {
    if (kRepetitions.find(peek()) != kRepetitions.npos) {
      if (parts.empty()) return expected("a symbol to repeat");
      if (!repetition(parts.back())) return false;
    } else if (!symbol(parts.emplace_back())) {
      return false;
    }
    if (!check_size(0)) return false;
    skip_space(in_group);
  }
  read = kinglet::sequence(parts);
  return true;
}

bool GbnfParser::symbol(Expression& read) {
  if (take("(")) return group(read);
  const size_t begin = at_;
  if (take("\"")) {
    if (!literal(read)) return false;
  } else if (take("[")) {
    if (!set(read)) return false;
  } else if (take(".")) {
    read = one_of({kAnyCodePoint});
  } else if (is_name_char(peek())) {
    const std::string_view name = gbnf_name(text_, at_);
    at_ += name.size();
    read = call_of(number_of(name, begin));
  } else if (take("<[")) {
    if (!token(read)) return false;
  } else if (peek() == '<' || peek() == '!') {
    return fail(begin, {"a token must be given by its id (\"<[7]>\") or as text"});
  } else {
    return expected("a symbol, \"|\" or the end of the rule");
  }
  n_steps_ += read.n_steps();
  return true;
}

bool GbnfParser::literal(Expression& read) {
  const size_t begin = at_ - 1;
  std::string text;
  while (!take("\"")) {
    if (at_end()) return fail(begin, {"this literal has no closing quotation mark"});
    char32_t code_point = 0;
    if (!character(code_point)) return false;
    append_utf8(text, code_point);
    if (!check_size(text.size())) return false;
  }
  read = kinglet::literal(text);
  return true;
}

bool GbnfParser::token(Expression& read) {
  const size_t begin = at_ - 2;
  uint32_t id = 0;
  if (digits(10, text_.size(), id) == 0) return expected("the id of a token");
  if (!take("]>")) return expected("\"]>\"");
  if (id >= static_cast<uint32_t>(n_tokens_)) {
    return fail(begin, {"token id ", std::to_string(id),
                        " is out of range (vocabulary: ", std::to_string(n_tokens_), ")"});
  }
  read = whole_token(id);
  return true;
}

bool GbnfParser::set(Expression& read) {
  const size_t begin = at_ - 1;
  const bool negated = take("^");
  CharacterSet ranges;
  while (!take("]")) {
    if (at_end()) return fail(begin, {"this set of characters has no closing bracket"});
    const size_t range_begin = at_;
    char32_t first = 0;
    if (!character(first)) return false;
    char32_t last = first;
    if (peek() == '-' && peek(1) != ']') {
      ++at_;
      if (at_end()) continue;
      if (!character(last)) return false;
      if (last < first) return fail(range_begin, {"this range ends before it begins"});
    }
    ranges.push_back({first, last});
  }
  if (negated) ranges = complement(std::move(ranges));
  read = one_of(ranges);
  return !read.empty() || fail(begin, {"this set of characters is empty"});
}

bool GbnfParser::group(Expression& read) {
  const size_t begin = at_ - 1;
  if (++nesting_ > kMaxNesting) {
    return fail(begin, {"groups are nested more than ", cat(kMaxNesting), " deep"});
  }
  skip_space(true);
  if (!alternatives(true, read)) return false;
  if (at_end()) return fail(begin, {"this group has no closing parenthesis"});
  if (!take(")")) return expected("\")\"");
  --nesting_;
  return true;
}

bool GbnfParser::repetition(Expression& repeated) {
  uint32_t least = 0;
  uint64_t most = kUnlimited;
  if (take("+")) {
    least = 1;
  } else if (take("?")) {
    most = 1;
  } else if (!take("*") && !bounds(least, most)) {
    return false;
  }
  n_steps_ -= repeated.n_steps();
  repeated = repeat(repeated, least, most);
  n_steps_ += repeated.n_steps();
  return true;
}

// Reads "{2}", "{2,}" or "{2,5}".
bool GbnfParser::bounds(uint32_t& least, uint64_t& most) {
  const size_t begin = at_++;
  if (!number(least)) return false;
  most = least;
  if (take(",")) {
    skip_space(false);
    uint32_t limit = 0;
    const bool is_limited = peek() != '}';
    if (is_limited && !number(limit)) return false;
    most = is_limited ? limit : kUnlimited;
  }
  if (!take("}")) return expected("\"}\"");
  if (most < least) {
    return fail(begin, {"the least number of repetitions, ", cat(least),
                        ", is larger than the most, ", cat(most)});
  }
  return true;
}

bool GbnfParser::number(uint32_t& value) {
  skip_space(false);
  const size_t begin = at_;
  if (digits(10, text_.size(), value) == 0) return expected("a number");
  if (value > kMaxGrammarSteps) {
    return fail(begin, {"more than ", cat(kMaxGrammarSteps), " repetitions are not supported"});
  }
  skip_space(false);
  return true;
}

bool GbnfParser::check_size(uint64_t n_more) {
  if (n_steps_ + n_more <= kMaxGrammarSteps) return true;
  return fail(at_, {"the grammar is too large: up to here it has more than ", cat(kMaxGrammarSteps),
                    " steps"});
}

bool GbnfParser::character(char32_t& code_point) {
  if (take("\\")) return escape(code_point);
  const Utf8Char read = decode_utf8(text_.substr(at_));
  if (read.state != Utf8State::well_formed) return fail(at_, {"the text is not UTF-8 here"});
  code_point = read.code_point;
  at_ += read.n_bytes;
  return true;
}

bool GbnfParser::escape(char32_t& code_point) {
  constexpr std::string_view kNames = "nrt\\\"[]-^";
  constexpr std::string_view kMeanings = "\n\r\t\\\"[]-^";
  const size_t begin = at_ - 1;
  const char name = peek();
  if (const size_t i = kNames.find(name); i != kNames.npos && !at_end()) {
    code_point = static_cast<unsigned char>(kMeanings[i]);
    ++at_;
    return true;
  }
  const size_t n_digits = name == 'x' ? 2 : name == 'u' ? 4 : name == 'U' ? 8 : 0;
  if (n_digits == 0) return expected("one of the escapes n r t \\ \" [ ] - ^ x u U");
  ++at_;
  uint32_t value = 0;
  if (digits(16, n_digits, value) != n_digits) {
    return fail(begin, {"\\", {&name, 1}, " needs ", cat(n_digits), " hexadecimal digits"});
  }
  if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
    return fail(begin, {"this is not a Unicode code point"});
  }
  code_point = value;
  return true;
}

// Reads digits, and returns how many. A number that is too large becomes UINT32_MAX.
size_t GbnfParser::digits(uint32_t base, size_t n_most, uint32_t& value) {
  const size_t begin = at_;
  uint64_t number = 0;
  while (at_ - begin < n_most && !at_end()) {
    const auto digit = hex_digit(peek());
    if (!digit || *digit >= base) break;
    number = std::min<uint64_t>(number * base + *digit, UINT32_MAX);
    ++at_;
  }
  value = static_cast<uint32_t>(number);
  return at_ - begin;
}

// Skips spaces and comments. The end of a line ends a rule, except in a group and after "|" and
// "::=".
void GbnfParser::skip_space(bool newlines_too) {
  while (!at_end()) {
    if (peek() == '#') {
      while (!at_end() && !at_newline()) ++at_;
    } else if (peek() == ' ' || peek() == '\t' || (newlines_too && at_newline())) {
      ++at_;
    } else {
      break;
    }
  }
}

bool GbnfParser::take(std::string_view wanted) {
  if (!text_.substr(at_).starts_with(wanted)) return false;
  at_ += wanted.size();
  return true;
}

std::string GbnfParser::found() const {
  if (at_end()) return "the end of the grammar";
  if (at_newline()) return "the end of the line";
  const std::string_view rest = text_.substr(at_);
  return in_quotes(rest.substr(0, decode_utf8(rest).n_bytes));
}

}  // namespace

Status parse_gbnf(std::string_view text, int32_t n_tokens, GbnfRules& rules) {
  if (text.size() > kMaxGrammarBytes) {
    return Error{ErrorCode::invalid_grammar, cat("the grammar has ", text.size(),
                                                 " bytes, expected at most ", kMaxGrammarBytes)};
  }
  GbnfParser parser(text, n_tokens, rules);
  if (!parser.parse()) return std::move(parser.error());
  return {};
}

Expression gbnf_expression(std::string_view text) {
  GbnfRules rules;
  GbnfParser parser(text, INT32_MAX, rules);
  Expression read;
  parser.alternatives(false, read);
  return read;
}

std::string_view gbnf_name(std::string_view text, size_t position) {
  size_t end = position;
  while (end < text.size() && is_name_char(text[end])) ++end;
  return text.substr(position, end - position);
}

Error grammar_error(std::string_view text, size_t position,
                    std::initializer_list<std::string_view> message) {
  size_t line = 1;
  size_t column = 1;
  for (const char c : text.substr(0, position)) {
    const bool is_lead = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (c == '\n') ++line;
    column = c == '\n' ? 1 : column + is_lead;
  }
  std::string out = cat("line ", line, ", column ", column, " of the grammar: ");
  for (const std::string_view part : message) out += part;
  return {ErrorCode::invalid_grammar, std::move(out)};
}

}  // namespace kinglet
