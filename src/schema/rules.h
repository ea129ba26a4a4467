// The rules of a grammar, to which several schemas may add.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "grammar/expression.h"
#include "grammar/grammar.h"

namespace kinglet::schema {

// A rule that most schemas need.
enum class CommonRule : uint8_t {
  string,           // any JSON string
  character,        // of a JSON string, in all spellings: see kAnyJsonCharacter
  rest,             // of a JSON string
  other_character,  // see kOtherJsonCharacter
  number,
  integer,
};

// Functions that return rules return calls of them.
class GrammarRules {
 public:
  // Returns a rule with this body, which is made if there is none.
  Expression add(const Expression& body);

  // Returns what is long as a rule, so that it is in the grammar once.
  Expression shared(const Expression& expression);

  // Returns what repeat() returns, but much shorter for large numbers: a rule stands for a block of
  // many repetitions.
  Expression repeated(const Expression& part, uint64_t least, uint64_t most);

  // Returns a rule that the caller must define if it uses it.
  Expression declare();
  void define(const Expression& rule, Expression body) { bodies_[rule->rule] = std::move(body); }

  Expression common(CommonRule rule);
  void define(CommonRule rule, Expression body);

  // Returns the grammar whose texts match the expression. Errors: Grammar::compile().
  Result<Grammar> grammar(Expression root);

 private:
  std::vector<Expression> bodies_ = {{}};                               // the first is the root
  std::unordered_map<Expression, Expression, ExpressionHash> by_body_;  // rules of add()
  std::array<Expression, static_cast<size_t>(CommonRule::integer) + 1> common_;
};

}  // namespace kinglet::schema
