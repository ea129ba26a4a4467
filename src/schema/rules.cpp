#include "schema/rules.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/format.h"
#include "grammar/gbnf_parser.h"
#include "schema/numbers.h"
#include "schema/strings.h"

namespace kinglet::schema {

Expression GrammarRules::add(const Expression& body) {
  Expression& rule = by_body_[body];
  if (rule.empty()) {
    rule = declare();
    define(rule, body);
  }
  return rule;
}

Expression GrammarRules::shared(const Expression& expression) {
  constexpr uint32_t kLong = 150;
  return expression.n_steps() > kLong ? add(expression) : expression;
}

Expression GrammarRules::repeated(const Expression& part, uint64_t least, uint64_t most) {
  constexpr uint64_t kFew = 600;
  const uint64_t more = most == kUnlimited ? 0 : most - least;
  if (least <= kFew && more <= kFew) return repeat(part, least, most);
  uint64_t size = 1;
  while (size * size < std::max(least, more)) size *= 2;
  const Expression block = add(repeat(part, size, size));
  std::vector<Expression> parts = {repeat(block, least / size, least / size),
                                   repeat(part, least % size, least % size)};
  if (most == kUnlimited) {
    parts.push_back(repeat(part, 0, most));
  } else if (more < size) {
    parts.push_back(repeat(part, 0, more));
  } else {
    // The rest behind the blocks may be as long as one of them, so that no number is left out.
    parts.push_back(repeat(block, 0, more / size - 1));
    parts.push_back(repeat(part, 0, size + more % size));
  }
  return sequence(parts);
}

Expression GrammarRules::declare() {
  const Expression rule = call_of(static_cast<uint32_t>(bodies_.size()));
  bodies_.emplace_back();
  return rule;
}

void GrammarRules::define(CommonRule rule, Expression body) {
  Expression& known = common_[static_cast<size_t>(rule)];
  if (known.empty()) known = declare();
  define(known, std::move(body));
}

Expression GrammarRules::common(CommonRule rule) {
  const Expression& known = common_[static_cast<size_t>(rule)];
  if (!known.empty()) return known;
  const auto rest = [this] {
    return sequence({repeat(common(CommonRule::character), 0, kUnlimited), literal("\"")});
  };
  switch (rule) {
    case CommonRule::string:
      define(rule, sequence({literal("\""), rest()}));
      break;
    case CommonRule::character:
      define(rule, gbnf_expression(kAnyJsonCharacter));
      break;
    case CommonRule::rest:
      define(rule, rest());
      break;
    case CommonRule::other_character:
      define(rule, gbnf_expression(kOtherJsonCharacter));
      break;
    case CommonRule::number:
      define(rule, gbnf_expression(kAnyNumber));
      break;
    case CommonRule::integer:
      define(rule, gbnf_expression(kAnyInteger));
      break;
  }
  return known;
}

Result<Grammar> GrammarRules::grammar(Expression root) {
  bodies_[0] = std::move(root);
  return Grammar::compile(bodies_, [](uint32_t, std::string_view fault) {
    return cat("a rule of the schema's grammar ", fault);
  });
}

}  // namespace kinglet::schema
