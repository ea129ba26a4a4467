#include "grammar/grammar.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/in_quotes.h"
#include "grammar/gbnf_parser.h"

namespace kinglet {
namespace {

using Kind = GrammarStep::Kind;
using Steps = std::vector<GrammarStep>;

constexpr uint32_t kNone = UINT32_MAX;

// Writes the steps of rules one after the other. A call's target is the number of a rule or, if it
// is negative, ~ the first step of a part: a rule that has no number, because it was made for the
// copies of what is repeated. Parts come before the rule that they belong to.
class Writer {
 public:
  Writer() {
    program_.push_back({Kind::call});
    program_.push_back({Kind::end, 0, 0, -1});
  }

  void write_rules(std::span<const Expression> rules) {
    for (const Expression& rule : rules) {
      Steps steps;
      if (!rule.empty()) write(rule, steps);
      first_steps_.push_back(rule.empty() ? kNone : add_rule(steps));
    }
  }

  // Makes the first step of its rule the target of each call. Returns the program.
  Steps resolve() {
    for (uint32_t i = 0; i < program_.size(); ++i) {
      int32_t& target = program_[i].target;
      if (program_[i].kind != Kind::call) continue;
      const uint32_t first =
          target < 0 ? static_cast<uint32_t>(~target) : first_steps_[static_cast<size_t>(target)];
      target = static_cast<int32_t>(first - i);
    }
    return std::move(program_);
  }

  // By rule; kNone: it is absent.
  const std::vector<uint32_t>& first_steps() const { return first_steps_; }

 private:
  uint32_t add_rule(const Steps& steps) {
    const size_t first = program_.size();
    program_.insert(program_.end(), steps.begin(), steps.end());
    program_.push_back({Kind::end, 0, 0, distance(program_.size(), first)});
    return static_cast<uint32_t>(first);
  }

  void write(const Expression& expression, Steps& steps) {
    switch (expression->kind) {
      case Expression::Node::Kind::steps:
        steps.insert(steps.end(), expression->steps.begin(), expression->steps.end());
        break;
      case Expression::Node::Kind::rule:
        steps.push_back({Kind::call, 0, 0, static_cast<int32_t>(expression->rule)});
        break;
      case Expression::Node::Kind::sequence:
        for (const Expression& part : expression->parts) write(part, steps);
        break;
      case Expression::Node::Kind::alternatives:
        write_alternatives(expression, steps);
        break;
      case Expression::Node::Kind::repetition:
        write_repetition(expression, steps);
        break;
    }
  }

  // A split in front of each alternative but the last, and a jump to the end behind it.
  void write_alternatives(const Expression& expression, Steps& steps) {
    const size_t end = steps.size() + expression->n_inline;
    for (const Expression& part : expression->parts) {
      const bool is_last = end - steps.size() == part->n_inline;
      if (!is_last) steps.push_back({Kind::split, 0, 0, distance(0, part->n_inline + 2)});
      write(part, steps);
      if (!is_last) steps.push_back({Kind::jump, 0, 0, distance(steps.size(), end)});
    }
  }

  // Optional copies are nested, so that each can skip the rest: "x{0,3}" is (x (x x?)?)?. What is
  // copied becomes a rule, so that each copy is one call.
  void write_repetition(const Expression& expression, Steps& steps) {
    const uint64_t least = expression->least;
    const uint64_t most = expression->most;
    Steps part;
    write(expression->parts[0], part);
    if (part.empty()) return;
    if (expression->repeats_a_rule()) {
      part = {{Kind::call, 0, 0, ~static_cast<int32_t>(add_rule(part))}};
    }
    const auto copy = [&] { steps.insert(steps.end(), part.begin(), part.end()); };
    const int32_t length = distance(0, part.size());
    for (uint64_t i = 0; i < least; ++i) copy();
    if (most == kUnlimited && least > 0) {
      steps.push_back({Kind::split, 0, 0, -length});
    } else if (most == kUnlimited) {
      steps.push_back({Kind::split, 0, 0, length + 2});
      copy();
      steps.push_back({Kind::jump, 0, 0, -length - 1});
    } else {
      const size_t end = steps.size() + static_cast<size_t>(most - least) * (part.size() + 1);
      while (steps.size() < end) {
        steps.push_back({Kind::split, 0, 0, distance(steps.size(), end)});
        copy();
      }
    }
  }

  static int32_t distance(size_t from, size_t to) {
    return static_cast<int32_t>(to) - static_cast<int32_t>(from);
  }

  Steps program_;
  std::vector<uint32_t> first_steps_;
};

// Checks a program. The functions return the first step of a rule for which this is not so; kNone
// if there is none.
class Checker {
 public:
  explicit Checker(const Steps& steps) : steps_(steps) {}

  // Every rule can end: otherwise a text would have no end.
  uint32_t check_ends() const;

  // No rule begins with itself: it would call itself forever without taking a byte.
  uint32_t check_left_recursion() const;

  uint32_t target(uint32_t step) const {
    return step + static_cast<uint32_t>(steps_[step].target);  // wraps if the target is negative
  }

 private:
  // Marks of a step. kEnds, kOpen and kDone are marks of a rule, at its first step.
  enum Mark : uint32_t { kReached = 1, kEnds = 2, kOpen = 4, kDone = 8 };
  std::vector<uint32_t> reach(bool over_bytes) const;

  bool is_first(uint32_t step) const { return step == 0 || steps_[step - 1].kind == Kind::end; }

  const Steps& steps_;
};

// Marks the steps that each rule can reach from its first one, either with or without taking bytes,
// and the rules that can end. A call continues once its rule is known to end. Every step is visited
// once.
std::vector<uint32_t> Checker::reach(bool over_bytes) const {
  std::vector<uint32_t> marks(steps_.size());
  std::vector<uint32_t> last_waiting(steps_.size(), kNone);  // by a rule's first step: a call
  std::vector<uint32_t> also_waiting(steps_.size(), kNone);  // by call: another for the same rule
  std::vector<uint32_t> todo;
  const auto go = [&](uint32_t step) {
    if ((marks[step] & kReached) == 0) todo.push_back(step);
    marks[step] |= kReached;
  };
  for (uint32_t step = 0; step < steps_.size(); ++step) {
    if (is_first(step)) go(step);
  }
  while (!todo.empty()) {
    const uint32_t step = todo.back();
    todo.pop_back();
    const uint32_t to = target(step);
    switch (steps_[step].kind) {
      case Kind::take:
      case Kind::token:
        if (over_bytes) go(step + 1);
        break;
      case Kind::split:
        go(step + 1);
        go(to);
        break;
      case Kind::jump:
        go(to);
        break;
      case Kind::call:
        if ((marks[to] & kEnds) != 0) {
          go(step + 1);
        } else {
          also_waiting[step] = std::exchange(last_waiting[to], step);
        }
        break;
      case Kind::end:
        marks[to] |= kEnds;
        for (uint32_t call = last_waiting[to]; call != kNone; call = also_waiting[call]) {
          go(call + 1);
        }
        break;
    }
  }
  return marks;
}

uint32_t Checker::check_ends() const {
  const std::vector<uint32_t> marks = reach(true);
  for (uint32_t step = Grammar::kEnd + 1; step < steps_.size(); ++step) {
    if (is_first(step) && (marks[step] & kEnds) == 0) return step;
  }
  return kNone;
}

// Searches depth first through the calls that rules reach without taking a byte.
uint32_t Checker::check_left_recursion() const {
  std::vector<uint32_t> marks = reach(false);
  std::vector<uint32_t> path;  // in each open rule, the next step to look at
  const auto open = [&](uint32_t first) {
    marks[first] |= kOpen;
    path.push_back(first);
  };
  for (uint32_t first = 0; first < steps_.size(); ++first) {
    if (is_first(first) && (marks[first] & kDone) == 0) open(first);
    while (!path.empty()) {
      const uint32_t step = path.back()++;
      const uint32_t to = target(step);
      if (steps_[step].kind == Kind::end) {
        marks[to] ^= kOpen | kDone;
        path.pop_back();
      } else if (steps_[step].kind == Kind::call && (marks[step] & kReached) != 0) {
        if ((marks[to] & kOpen) != 0) return to;
        if ((marks[to] & kDone) == 0) open(to);
      }
    }
  }
  return kNone;
}

// Replaces calls that are the last step of their rule by jumps: nothing comes after them. Lists
// written as "item list" then do not need a stack that grows with the list.
void replace_tail_calls(Steps& steps) {
  for (size_t i = Grammar::kEnd + 1; i < steps.size(); ++i) {
    if (steps[i].kind != Kind::call) continue;
    size_t next = i + 1;
    while (steps[next].kind == Kind::jump) next += static_cast<size_t>(steps[next].target);
    if (steps[next].kind == Kind::end) steps[i].kind = Kind::jump;
  }
}

}  // namespace

Result<Grammar> Grammar::compile(std::span<const Expression> rules, const DescribeRule& describe) {
  uint64_t n_steps = 0;
  for (uint32_t i = 0; i < rules.size(); ++i) {
    n_steps += rules[i].n_steps() + 1;
    if (n_steps <= kMaxGrammarSteps) continue;
    const std::string fault =
        cat("makes the grammar too large: more than ", kMaxGrammarSteps, " steps");
    return Error{ErrorCode::invalid_grammar, describe(i, fault)};
  }
  Writer writer;
  writer.write_rules(rules);
  Steps steps = writer.resolve();
  const auto refuse = [&](uint32_t first_step, std::string_view fault) {
    // A part comes before its rule.
    uint32_t rule = 0;
    for (const uint32_t first : writer.first_steps()) {
      if (first != kNone && first >= first_step) break;
      ++rule;
    }
    return Error{ErrorCode::invalid_grammar, describe(rule, fault)};
  };
  const Checker checker(steps);
  if (const uint32_t step = checker.check_ends(); step != kNone) return refuse(step, kNeverEnds);
  if (const uint32_t step = checker.check_left_recursion(); step != kNone) {
    return refuse(step, "begins with itself: left recursion is not supported");
  }
  replace_tail_calls(steps);
  return Grammar(std::move(steps));
}

Result<Grammar> Grammar::parse(std::string_view gbnf, int32_t n_tokens) {
  GbnfRules rules;
  KINGLET_TRY(parse_gbnf(gbnf, n_tokens, rules));
  return compile(rules.bodies, [&](uint32_t rule, std::string_view fault) {
    const size_t position = rules.positions[rule];
    return grammar_error(gbnf, position,
                         {"rule ", in_quotes(gbnf_name(gbnf, position)), " ", fault})
        .message;
  });
}

Grammar::Grammar(Steps steps) : steps_(std::move(steps)) {
  std::array<bool, 257> begins{};
  for (const GrammarStep& step : steps_) {
    if (step.kind == Kind::token) tokens_.push_back(step.target);
    if (step.kind != Kind::take) continue;
    begins[step.low] = true;
    begins[step.high + 1u] = true;
  }
  uint8_t current = 0;
  for (size_t byte = 0; byte < 256; ++byte) {
    if (byte > 0 && begins[byte]) ++current;
    byte_classes_[byte] = current;
  }
  n_byte_classes_ = current + 1u;
  std::sort(tokens_.begin(), tokens_.end());
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end()), tokens_.end());
}

Result<SharedGrammar> shared(Result<Grammar> grammar) {
  if (!grammar.ok()) return grammar.error();
  return SharedGrammar(std::make_shared<const Grammar>(std::move(grammar.value())));
}

Result<SharedGrammar> parse_shared_grammar(std::string_view text, int32_t n_tokens) {
  return text.empty() ? SharedGrammar() : shared(Grammar::parse(text, n_tokens));
}

}  // namespace kinglet
