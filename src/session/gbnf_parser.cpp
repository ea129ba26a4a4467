#include "session/gbnf_parser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "base/utf8.h"
#include "session/byte_ranges.h"

namespace kinglet {
namespace {

using Kind = GrammarStep::Kind;
using Steps = std::vector<GrammarStep>;

// The deepest nesting of groups: each level takes a frame of the C++ stack.
constexpr int kMaxNesting = 100;

constexpr uint32_t kUnbounded = UINT32_MAX;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

int32_t distance(size_t from, size_t to) {
  return static_cast<int32_t>(to) - static_cast<int32_t>(from);
}

void append_copy(Steps& steps, const Steps& part) {
  for (const GrammarStep& step : part) steps.push_back(GrammarStep(step));
}

// Puts a split in front of every alternative but the last, and a jump to the end after it.
class Alternatives {
 public:
  explicit Alternatives(Steps& steps) : steps_(steps), first_(steps.size()) {}

  void begin_another() {
    const int32_t after = distance(first_, steps_.size() + 2);
    steps_.push_back({Kind::split});
    for (size_t i = steps_.size() - 1; i > first_; --i) steps_[i] = steps_[i - 1];
    steps_[first_] = {Kind::split, 0, 0, after};
    steps_.push_back({Kind::jump, 0, 0, last_jump_});
    first_ = steps_.size();
    last_jump_ = distance(0, first_ - 1);
  }

  void close() {
    while (last_jump_ != 0) {
      GrammarStep& jump = steps_[static_cast<size_t>(last_jump_)];
      const int32_t target = distance(static_cast<size_t>(last_jump_), steps_.size());
      last_jump_ = std::exchange(jump.target, target);
    }
  }

 private:
  Steps& steps_;
  size_t first_;           // step of the alternative
  int32_t last_jump_ = 0;  // until close(), its target is the jump before it; 0: none
};

// Each function reads what it is named after, and appends its steps to those of the rule. It
// returns false if the text is wrong: error() then says why.
class GbnfParser {
 public:
  GbnfParser(std::string_view text, GbnfProgram& program) : text_(text), program_(program) {
    program_.steps.push_back({Kind::call, 0, 0, distance(0, text.size())});
    program_.steps.push_back({Kind::end, 0, 0, -1});
  }

  bool parse() {
    skip_space(true);
    while (at_ < text_.size()) {
      if (!rule()) return false;
    }
    return true;
  }

  Error& error() { return *error_; }

 private:
  bool rule();
  bool alternatives(bool in_group);
  bool sequence(bool in_group);
  bool symbol();
  bool literal();
  bool token();
  bool set();
  bool group();
  void reference();
  bool repetition(size_t first);
  bool bounds(uint32_t& least, uint32_t& most);
  bool number(uint32_t& value);
  bool character(char32_t& code_point);
  bool escape(char32_t& code_point);

  bool append_set(std::vector<CodePointRange> ranges, bool negated, size_t begin);
  bool repeat(size_t first, uint32_t least, uint32_t most);
  uint32_t finish_rule(const Steps& steps);
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
  size_t at_ = 0;
  int nesting_ = 0;
  Steps steps_;  // of the rule that is being read
  GbnfProgram& program_;
  std::optional<Error> error_;
};

bool GbnfParser::rule() {
  const uint64_t position = at_;
  at_ += gbnf_name(text_, at_).size();
  if (at_ == position) return expected("the name of a rule");
  skip_space(false);
  if (!take("::=")) return expected("\"::=\"");
  skip_space(true);
  steps_.clear();
  if (!alternatives(false)) return false;
  if (!at_end() && !at_newline()) return expected("a symbol, \"|\" or the end of the line");
  program_.rules.push_back(position << 32 | finish_rule(steps_));
  skip_space(true);
  return true;
}

// Appends the rule to the program, and returns its first step.
uint32_t GbnfParser::finish_rule(const Steps& steps) {
  const size_t first = program_.steps.size();
  append_copy(program_.steps, steps);
  program_.steps.push_back({Kind::end, 0, 0, distance(program_.steps.size(), first)});
  return static_cast<uint32_t>(first);
}

bool GbnfParser::alternatives(bool in_group) {
  Alternatives alternatives(steps_);
  for (;;) {
    if (!sequence(in_group)) return false;
    if (!take("|")) break;
    skip_space(true);
    alternatives.begin_another();
  }
  alternatives.close();
  return true;
}

bool GbnfParser::sequence(bool in_group) {
  constexpr std::string_view kRepetitions = "*+?{";
  constexpr std::string_view kBehind = "|)\n\r";
  std::optional<size_t> last;  // symbol's first step
  while (!at_end() && kBehind.find(peek()) == kBehind.npos) {
    if (kRepetitions.find(peek()) != kRepetitions.npos) {
      if (!last) return expected("a symbol to repeat");
      if (!repetition(*last)) return false;
    } else {
      last = steps_.size();
      if (!symbol()) return false;
    }
    if (!check_size(0)) return false;
    skip_space(in_group);
  }
  return true;
}

bool GbnfParser::symbol() {
  const size_t begin = at_;
  if (take("\"")) return literal();
  if (take("[")) return set();
  if (take("(")) return group();
  if (take(".")) return append_set({}, true, begin);
  if (is_name_char(peek())) {
    reference();
    return true;
  }
  if (take("<[")) return token();
  if (peek() == '<' || peek() == '!') {
    return fail(begin, {"a token must be given by its id (\"<[7]>\") or as text"});
  }
  return expected("a symbol, \"|\" or the end of the rule");
}

bool GbnfParser::literal() {
  const size_t begin = at_ - 1;
  while (!take("\"")) {
    if (at_end()) return fail(begin, {"this literal has no closing quotation mark"});
    char32_t code_point = 0;
    if (!character(code_point)) return false;
    if (!append_set({code_points(code_point, code_point)}, false, begin)) return false;
    if (!check_size(0)) return false;
  }
  return true;
}

bool GbnfParser::token() {
  const size_t begin = at_ - 2;
  uint32_t id = 0;
  if (digits(10, text_.size(), id) == 0) return expected("the id of a token");
  if (!take("]>")) return expected("\"]>\"");
  if (id > INT32_MAX) return fail(begin, {"this token id is too large"});
  steps_.push_back({Kind::token, 0, 0, static_cast<int32_t>(id)});
  return true;
}

bool GbnfParser::set() {
  const size_t begin = at_ - 1;
  const bool negated = take("^");
  std::vector<CodePointRange> ranges;
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
    ranges.push_back(code_points(first, last));
  }
  return append_set(std::move(ranges), negated, begin);
}

bool GbnfParser::append_set(std::vector<CodePointRange> ranges, bool negated, size_t begin) {
  const size_t n_before = steps_.size();
  Alternatives alternatives(steps_);
  for_each_byte_sequence(normalized(std::move(ranges), negated), [&](std::string_view first,
                                                                     std::string_view last) {
    if (steps_.size() > n_before) alternatives.begin_another();
    for (size_t i = 0; i < first.size(); ++i) {
      steps_.push_back({Kind::take, static_cast<uint8_t>(first[i]), static_cast<uint8_t>(last[i])});
    }
  });
  alternatives.close();
  return steps_.size() > n_before || fail(begin, {"this set of characters is empty"});
}

bool GbnfParser::group() {
  const size_t begin = at_ - 1;
  if (++nesting_ > kMaxNesting) {
    return fail(begin, {"groups are nested more than ", cat(kMaxNesting), " deep"});
  }
  skip_space(true);
  if (!alternatives(true)) return false;
  if (at_end()) return fail(begin, {"this group has no closing parenthesis"});
  if (!take(")")) return expected("\")\"");
  --nesting_;
  return true;
}

void GbnfParser::reference() {
  steps_.push_back({Kind::call, 0, 0, distance(0, at_)});
  at_ += gbnf_name(text_, at_).size();
}

bool GbnfParser::repetition(size_t first) {
  if (take("*")) return repeat(first, 0, kUnbounded);
  if (take("+")) return repeat(first, 1, kUnbounded);
  if (take("?")) return repeat(first, 0, 1);
  uint32_t least = 0;
  uint32_t most = 0;
  return bounds(least, most) && repeat(first, least, most);
}

// Reads "{2}", "{2,}" or "{2,5}".
bool GbnfParser::bounds(uint32_t& least, uint32_t& most) {
  const size_t begin = at_++;
  if (!number(least)) return false;
  most = least;
  if (take(",")) {
    skip_space(false);
    most = kUnbounded;
    if (peek() != '}' && !number(most)) return false;
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

// Optional copies are nested, so that each can skip the rest: "x{0,3}" is (x (x x?)?)?. The steps
// to be copied become a rule, so that each copy is one call.
bool GbnfParser::repeat(size_t first, uint32_t least, uint32_t most) {
  Steps part;
  for (size_t i = first; i < steps_.size(); ++i) part.push_back(GrammarStep(steps_[i]));
  while (steps_.size() > first) steps_.pop_back();
  if (part.empty()) return true;
  const uint32_t n_copies = most == kUnbounded ? std::max(least, 1u) : most;
  if (!check_size(2 * uint64_t{n_copies} + part.size())) return false;
  if (n_copies > 1 && part.size() > 1) {
    const auto start = static_cast<int32_t>(finish_rule(part));
    part.clear();
    part.push_back({Kind::call, 0, 0, ~start});
  }
  const int32_t length = distance(0, part.size());
  for (uint32_t i = 0; i < least; ++i) append_copy(steps_, part);
  if (most == kUnbounded && least > 0) {
    steps_.push_back({Kind::split, 0, 0, -length});
  } else if (most == kUnbounded) {
    steps_.push_back({Kind::split, 0, 0, length + 2});
    append_copy(steps_, part);
    steps_.push_back({Kind::jump, 0, 0, -length - 1});
  } else {
    const size_t end = steps_.size() + (most - least) * (part.size() + 1);
    while (steps_.size() < end) {
      steps_.push_back({Kind::split, 0, 0, distance(steps_.size(), end)});
      append_copy(steps_, part);
    }
  }
  return true;
}

bool GbnfParser::check_size(uint64_t n_more) {
  if (program_.steps.size() + steps_.size() + n_more <= kMaxGrammarSteps) return true;
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

Status parse_gbnf(std::string_view text, GbnfProgram& program) {
  GbnfParser parser(text, program);
  if (!parser.parse()) return std::move(parser.error());
  return {};
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
