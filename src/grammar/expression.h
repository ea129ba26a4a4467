// Expressions: what the rules of a grammar are made of. GBNF's parser and the compiler of schemas
// make them; Grammar::compile() makes a program of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "grammar/character_set.h"
#include "grammar/grammar_step.h"

namespace kinglet {

constexpr uint64_t kUnlimited = UINT64_MAX;

// A value, whose copies share its parts. A default one is absent: it matches nothing, and
// sequence() and alternatives() leave it out.
class Expression {
 public:
  struct Node;

  Expression() = default;
  explicit Expression(Node node);

  bool empty() const { return node_ == nullptr; }
  const Node* operator->() const { return node_.get(); }

  // Whether both are written alike.
  friend bool operator==(const Expression& a, const Expression& b);

  // About how long its program is, with the rules that its repetitions need: more than
  // kMaxGrammarSteps if it would be too long.
  uint32_t n_steps() const;

 private:
  std::shared_ptr<const Node> node_;
};

struct Expression::Node {
  enum class Kind : uint8_t { steps, sequence, alternatives, repetition, rule };
  Kind kind;
  std::vector<GrammarStep> steps = {};  // of characters and tokens: refers to no rule
  std::vector<Expression> parts = {};   // at least two; of a repetition, one
  uint64_t least = 0;                   // of a repetition
  uint64_t most = 0;                    // may be kUnlimited
  uint32_t rule = 0;                    // which is called

  // Where the expression stands; steps of rules that its repetitions need. Both are at most
  // kMaxGrammarSteps + 1.
  uint32_t n_inline = 0;
  uint32_t n_in_rules = 0;
  uint64_t hash = 0;

  // Whether the program calls a rule for each copy of the repeated part.
  bool repeats_a_rule() const;
};

struct ExpressionHash {
  size_t operator()(const Expression& expression) const;
};

// Matches the empty text.
Expression empty_text();

// Matches the text, which is UTF-8.
Expression literal(std::string_view text);

// Matches one of the characters; absent if they cannot be encoded. The ranges may be in any order.
Expression one_of(const CharacterSet& characters);

// Matches a token, whatever its text is.
Expression whole_token(uint32_t id);

// Matches what the rule of this number matches.
Expression call_of(uint32_t rule);

Expression sequence(std::span<const Expression> parts);
Expression sequence(std::initializer_list<Expression> parts);

// Leaves out parts that are written like an earlier one. Absent if none is left.
Expression alternatives(std::span<const Expression> parts);
Expression alternatives(std::initializer_list<Expression> parts);

// `most` may be kUnlimited.
Expression repeat(const Expression& part, uint64_t least, uint64_t most);

}  // namespace kinglet
