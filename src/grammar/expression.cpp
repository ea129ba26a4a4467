#include "grammar/expression.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/hash.h"
#include "grammar/byte_ranges.h"

namespace kinglet {
namespace {

using NodeKind = Expression::Node::Kind;
using Steps = std::vector<GrammarStep>;

// Larger numbers are all the same: too large. The products of two of them do not overflow.
uint32_t bounded(uint64_t n) {
  return static_cast<uint32_t>(std::min<uint64_t>(n, kMaxGrammarSteps + 1));
}

// Counts the steps of the parts: see Grammar::compile().
void count_steps(Expression::Node& node) {
  uint64_t n_inline = node.kind == NodeKind::rule ? 1 : node.steps.size();
  uint64_t n_in_rules = 0;
  for (const Expression& part : node.parts) {
    n_inline += part->n_inline;
    n_in_rules += part->n_in_rules;
  }
  if (node.kind == NodeKind::alternatives) n_inline += 2 * (node.parts.size() - 1);
  if (node.kind == NodeKind::repetition && n_inline > 0) {
    const uint64_t least = bounded(node.least);
    const uint64_t most = bounded(node.most);
    if (node.repeats_a_rule()) n_in_rules += n_inline + 1;
    const uint64_t each = node.repeats_a_rule() ? 1 : n_inline;
    const uint64_t n_optional = node.most != kUnlimited ? (most - least) * (each + 1)
                                : least > 0             ? 1
                                                        : each + 2;
    n_inline = least * each + n_optional;
  }
  node.n_inline = bounded(n_inline);
  node.n_in_rules = bounded(n_in_rules);
}

uint64_t hash_of(const Expression::Node& node) {
  std::vector<uint64_t> words = {static_cast<uint64_t>(node.kind), node.least, node.most,
                                 node.rule};
  for (const GrammarStep& step : node.steps) {
    words.push_back(static_cast<uint64_t>(step.kind) | uint64_t{step.low} << 8 |
                    uint64_t{step.high} << 16 | uint64_t{static_cast<uint32_t>(step.target)} << 32);
  }
  for (const Expression& part : node.parts) words.push_back(part->hash);
  return hash_bytes(std::as_bytes(std::span(words)));
}

Expression of_steps(Steps steps) {
  return Expression({.kind = NodeKind::steps, .steps = std::move(steps)});
}

}  // namespace

Expression::Expression(Node node) {
  count_steps(node);
  node.hash = hash_of(node);
  node_ = std::make_shared<const Node>(std::move(node));
}

uint32_t Expression::n_steps() const { return empty() ? 0 : node_->n_inline + node_->n_in_rules; }

bool operator==(const Expression& a, const Expression& b) {
  if (a.node_ == b.node_) return true;
  if (a.empty() || b.empty() || a->hash != b->hash) return false;
  return a->kind == b->kind && a->steps == b->steps && a->parts == b->parts &&
         a->least == b->least && a->most == b->most && a->rule == b->rule;
}

bool Expression::Node::repeats_a_rule() const {
  const uint64_t n_copies = most == kUnlimited ? least : most;
  return n_copies > 1 && parts[0]->n_inline > 1;
}

size_t ExpressionHash::operator()(const Expression& expression) const {
  return expression.empty() ? 0 : static_cast<size_t>(expression->hash);
}

Expression empty_text() { return of_steps({}); }

Expression literal(std::string_view text) {
  Steps steps;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    steps.push_back({GrammarStep::Kind::take, byte, byte});
  }
  return of_steps(std::move(steps));
}

Expression one_of(const CharacterSet& characters) {
  std::vector<Expression> branches;
  for_each_byte_sequence(
      normalized(characters), [&](std::string_view first, std::string_view last) {
        Steps steps;
        for (size_t i = 0; i < first.size(); ++i) {
          steps.push_back({GrammarStep::Kind::take, static_cast<uint8_t>(first[i]),
                           static_cast<uint8_t>(last[i])});
        }
        branches.push_back(of_steps(std::move(steps)));
      });
  return alternatives(branches);
}

Expression whole_token(uint32_t id) {
  return of_steps({{GrammarStep::Kind::token, 0, 0, static_cast<int32_t>(id)}});
}

Expression call_of(uint32_t rule) { return Expression({.kind = NodeKind::rule, .rule = rule}); }

Expression sequence(std::span<const Expression> parts) {
  std::vector<Expression> present;
  for (const Expression& part : parts) {
    const bool adds = !part.empty() && (part->kind != NodeKind::steps || !part->steps.empty());
    if (adds) present.push_back(part);
  }
  if (present.empty()) return empty_text();
  if (present.size() == 1) return present[0];
  return Expression({.kind = NodeKind::sequence, .parts = std::move(present)});
}

Expression sequence(std::initializer_list<Expression> parts) {
  return sequence(std::span(parts.begin(), parts.size()));
}

Expression alternatives(std::span<const Expression> parts) {
  std::unordered_set<Expression, ExpressionHash> seen;
  std::vector<Expression> distinct;
  for (const Expression& part : parts) {
    if (!part.empty() && seen.insert(part).second) distinct.push_back(part);
  }
  if (distinct.size() <= 1) return distinct.empty() ? Expression() : distinct[0];
  return Expression({.kind = NodeKind::alternatives, .parts = std::move(distinct)});
}

Expression alternatives(std::initializer_list<Expression> parts) {
  return alternatives(std::span(parts.begin(), parts.size()));
}

Expression repeat(const Expression& part, uint64_t least, uint64_t most) {
  if (part.empty() && least > 0) return {};
  if (part.empty() || most == 0) return empty_text();
  if (least == 1 && most == 1) return part;
  return Expression({.kind = NodeKind::repetition, .parts = {part}, .least = least, .most = most});
}

}  // namespace kinglet
