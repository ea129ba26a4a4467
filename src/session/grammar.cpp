#include "session/grammar.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/in_quotes.h"
#include "session/gbnf_parser.h"

namespace kinglet {
namespace {

using Kind = GrammarStep::Kind;

// Positions in the text have 31 bits. This limit is far below that, and far above useful sizes.
constexpr size_t kMaxGrammarBytes = 16 << 20;

constexpr uint32_t kNone = UINT32_MAX;

class Linker {
 public:
  Linker(std::string_view text, GbnfProgram& program)
      : text_(text), rules_(program.rules), steps_(program.steps) {}

  // Makes the first step of its rule the target of each call.
  Status resolve();

  // Checks that every rule can end: otherwise a text would have no end.
  Status check_ends() const;

  // Checks that no rule begins with itself: it would call itself forever without taking a byte.
  Status check_left_recursion() const;

  // Replaces calls that are the last step of their rule by jumps: nothing comes after them. Lists
  // written as "item list" then do not need a stack that grows with the list.
  void replace_tail_calls();

 private:
  // Marks of a step. kEnds, kOpen and kDone are marks of a rule, at its first step.
  enum Mark : uint32_t { kReached = 1, kEnds = 2, kOpen = 4, kDone = 8 };
  std::vector<uint32_t> reach(bool over_bytes) const;

  uint32_t target(uint32_t step) const {
    return step + static_cast<uint32_t>(steps_[step].target);  // wraps if the target is negative
  }
  bool is_first(uint32_t step) const { return step == 0 || steps_[step - 1].kind == Kind::end; }

  std::string_view name_of(uint64_t rule) const {
    return gbnf_name(text_, static_cast<size_t>(rule >> 32));
  }
  Error error_of_rule(uint32_t first_step, std::string_view message) const;

  std::string_view text_;
  const std::vector<uint64_t>& rules_;
  std::vector<GrammarStep>& steps_;
};

Status Linker::resolve() {
  std::vector<uint64_t> by_name = rules_;
  std::sort(by_name.begin(), by_name.end(), [this](uint64_t a, uint64_t b) {
    const int order = name_of(a).compare(name_of(b));
    return order != 0 ? order < 0 : a < b;
  });
  for (size_t i = 1; i < by_name.size(); ++i) {
    const std::string_view name = name_of(by_name[i]);
    if (name == name_of(by_name[i - 1])) {
      return grammar_error(text_, static_cast<size_t>(by_name[i] >> 32),
                           {"rule ", in_quotes(name), " is defined twice"});
    }
  }
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].kind != Kind::call) continue;
    auto first_step = static_cast<uint32_t>(~steps_[i].target);
    if (steps_[i].target >= 0) {
      const auto position = static_cast<size_t>(steps_[i].target);
      const std::string_view name = i == 0 ? "root" : gbnf_name(text_, position);
      size_t found = 0;
      for (size_t n = by_name.size(); n > 0; n /= 2) {
        while (found + n <= by_name.size() && name_of(by_name[found + n - 1]) < name) found += n;
      }
      if (found == by_name.size() || name_of(by_name[found]) != name) {
        return grammar_error(text_, position, {"rule ", in_quotes(name), " is not defined"});
      }
      first_step = static_cast<uint32_t>(by_name[found] & UINT32_MAX);
    }
    steps_[i].target = static_cast<int32_t>(first_step - i);
  }
  return {};
}

// Marks the steps that each rule can reach from its first one, either with or without taking bytes,
// and the rules that can end. A call continues once its rule is known to end. Every step is visited
// once.
std::vector<uint32_t> Linker::reach(bool over_bytes) const {
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

Status Linker::check_ends() const {
  const std::vector<uint32_t> marks = reach(true);
  for (uint32_t step = Grammar::kEnd + 1; step < steps_.size(); ++step) {
    if (is_first(step) && (marks[step] & kEnds) == 0) {
      return error_of_rule(step, kNeverEnds);
    }
  }
  return {};
}

// Searches depth first through the calls that rules reach without taking a byte.
Status Linker::check_left_recursion() const {
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
        if ((marks[to] & kOpen) != 0) {
          return error_of_rule(to, "begins with itself: left recursion is not supported");
        }
        if ((marks[to] & kDone) == 0) open(to);
      }
    }
  }
  return {};
}

void Linker::replace_tail_calls() {
  for (uint32_t i = Grammar::kEnd + 1; i < steps_.size(); ++i) {
    if (steps_[i].kind != Kind::call) continue;
    uint32_t next = i + 1;
    while (steps_[next].kind == Kind::jump) next = target(next);
    if (steps_[next].kind == Kind::end) steps_[i].kind = Kind::jump;
  }
}

// Rules without a name, made for repetitions, come before the named rule that they are part of.
Error Linker::error_of_rule(uint32_t first_step, std::string_view message) const {
  size_t i = 0;
  while ((rules_[i] & UINT32_MAX) < first_step) ++i;
  return grammar_error(text_, static_cast<size_t>(rules_[i] >> 32),
                       {"rule ", in_quotes(name_of(rules_[i])), " ", message});
}

}  // namespace

Result<Grammar> Grammar::parse(std::string_view gbnf) {
  if (gbnf.size() > kMaxGrammarBytes) {
    return Error{ErrorCode::invalid_grammar, cat("the grammar has ", gbnf.size(),
                                                 " bytes, expected at most ", kMaxGrammarBytes)};
  }
  GbnfProgram program;
  KINGLET_TRY(parse_gbnf(gbnf, program));
  Linker linker(gbnf, program);
  KINGLET_TRY(linker.resolve());
  KINGLET_TRY(linker.check_ends());
  KINGLET_TRY(linker.check_left_recursion());
  linker.replace_tail_calls();
  return Grammar(std::move(program.steps));
}

Grammar::Grammar(std::vector<GrammarStep> steps) : steps_(std::move(steps)) {
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

Result<SharedGrammar> parse_shared_grammar(std::string_view text) {
  if (text.empty()) return SharedGrammar();
  KINGLET_ASSIGN(Grammar grammar, Grammar::parse(text));
  return SharedGrammar(std::make_shared<const Grammar>(std::move(grammar)));
}

}  // namespace kinglet
