#include "text/jinja/expression_parser.h"

#include <algorithm>

#include "base/decimal.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "text/jinja/functions.h"
#include "text/jinja/level.h"

namespace kinglet::jinja {

bool ExpressionParser::ends_tuple() const {
  return here().kind == TokenKind::variable_end || here().kind == TokenKind::block_end ||
         is_sign(")");
}

NodePtr ExpressionParser::parse_tuple(bool with_condition) {
  const auto parse_one = [&] { return with_condition ? parse_expression() : parse_either(); };
  NodePtr first = parse_one();
  if (!first) return Failed();
  if (!is_sign(",")) return first;
  NodePtr tuple = around(NodeKind::tuple, std::move(first));
  while (take_sign(",")) {
    if (ends_tuple()) break;
    NodePtr more = parse_one();
    if (!more) return Failed();
    tuple->children.push_back(std::move(more));
  }
  return tuple;
}

NodePtr ExpressionParser::parse_expression() {
  const Level level(depth_);
  if (!check_depth()) return Failed();
  const bool was_unknown = !unknown_.message.empty();
  NodePtr value = parse_either();
  if (!value) return Failed();
  const bool may_be_unknown = may_be_unknown_;
  while (take_name("if")) {
    if (!was_unknown) unknown_ = {};
    may_be_unknown_ = true;
    NodePtr node = around(NodeKind::condition, std::move(value));
    NodePtr condition = parse_either();
    if (!condition) return Failed();
    node->children.push_back(std::move(condition));
    NodePtr otherwise;
    if (take_name("else")) {
      otherwise = parse_expression();
      if (!otherwise) return Failed();
    }
    node->children.push_back(std::move(otherwise));
    value = std::move(node);
  }
  may_be_unknown_ = may_be_unknown;
  return value;
}

void ExpressionParser::note_unknown(std::string_view kind, const std::string& name) {
  if (may_be_unknown_ || !unknown_.message.empty()) return;
  unknown_ = {ErrorCode::unsupported_feature,
              cat("line ", here().line, ": ", kind, " ", in_quotes(name), " is not supported")};
}

NodePtr ExpressionParser::parse_either() {
  return parse_joined("or", NodeKind::either, [&] { return parse_both(); });
}

NodePtr ExpressionParser::parse_both() {
  return parse_joined("and", NodeKind::both, [&] { return parse_not(); });
}

template <class Operand>
NodePtr ExpressionParser::parse_joined(std::string_view word, NodeKind kind,
                                       const Operand& operand) {
  NodePtr left = operand();
  if (!left) return Failed();
  while (take_name(word)) {
    NodePtr node = around(kind, std::move(left));
    NodePtr right = operand();
    if (!right) return Failed();
    left = with(std::move(node), std::move(right));
  }
  return left;
}

NodePtr ExpressionParser::parse_not() {
  const Level level(depth_);
  if (!check_depth()) return Failed();
  if (!is_name("not")) return parse_comparisons();
  advance();
  NodePtr value = parse_not();
  if (!value) return Failed();
  return around(NodeKind::negate, std::move(value));
}

std::string ExpressionParser::take_comparison() {
  for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"}) {
    if (take_sign(sign)) return std::string(sign);
  }
  if (take_name("in")) return "in";
  if (is_name("not") && next().kind == TokenKind::name && next().text == "in") {
    advance();
    advance();
    return "not in";
  }
  return {};
}

NodePtr ExpressionParser::parse_comparisons() {
  NodePtr first = parse_sum();
  if (!first) return Failed();
  NodePtr node;
  for (std::string sign = take_comparison(); !sign.empty(); sign = take_comparison()) {
    if (!node) node = around(NodeKind::comparisons, std::move(first));
    node->names.push_back(std::move(sign));
    NodePtr more = parse_sum();
    if (!more) return Failed();
    node->children.push_back(std::move(more));
  }
  return node ? std::move(node) : std::move(first);
}

template <class Operand>
NodePtr ExpressionParser::parse_operations(std::initializer_list<std::string_view> signs,
                                           const Operand& operand) {
  NodePtr left = operand();
  if (!left) return Failed();
  while (true) {
    const auto* sign =
        std::find_if(signs.begin(), signs.end(), [&](std::string_view s) { return is_sign(s); });
    if (sign == signs.end()) return left;
    advance();
    NodePtr node = around(NodeKind::operation, std::move(left));
    node->name = *sign;
    NodePtr right = operand();
    if (!right) return Failed();
    left = with(std::move(node), std::move(right));
  }
}

NodePtr ExpressionParser::parse_sum() {
  return parse_operations({"+", "-"}, [&] { return parse_concat(); });
}

NodePtr ExpressionParser::parse_concat() {
  NodePtr first = parse_product();
  if (!first) return Failed();
  if (!is_sign("~")) return first;
  NodePtr node = around(NodeKind::concat, std::move(first));
  while (take_sign("~")) {
    NodePtr more = parse_product();
    if (!more) return Failed();
    node->children.push_back(std::move(more));
  }
  return node;
}

NodePtr ExpressionParser::parse_product() {
  return parse_operations({"*", "/", "//", "%"}, [&] { return parse_power(); });
}

NodePtr ExpressionParser::parse_power() {
  return parse_operations({"**"}, [&] { return parse_unary(true); });
}

NodePtr ExpressionParser::parse_unary(bool with_filters) {
  const Level level(depth_);
  if (!check_depth()) return Failed();
  NodePtr value;
  if (is_sign("-") || is_sign("+")) {
    const NodeKind kind = is_sign("-") ? NodeKind::minus : NodeKind::plus;
    advance();
    NodePtr operand = parse_unary(false);
    if (!operand) return Failed();
    value = around(kind, std::move(operand));
  } else {
    value = parse_primary();
    if (!value) return Failed();
  }
  value = parse_postfix(std::move(value));
  if (!value) return Failed();
  if (!with_filters) return value;
  return parse_filters_and_tests(std::move(value));
}

NodePtr ExpressionParser::parse_primary() {
  const std::string& text = here().text;
  switch (here().kind) {
    case TokenKind::name:
      return parse_word();
    case TokenKind::text: {
      NodePtr node = make(NodeKind::literal);
      std::string joined;
      for (; here().kind == TokenKind::text; advance()) joined += here().text;
      node->value = Value::text(std::move(joined));
      return node;
    }
    case TokenKind::integer: {
      NodePtr node = literal(Value::whole(text));
      advance();
      return node;
    }
    case TokenKind::real: {
      NodePtr node = literal(Value::real(read_number(text).value_or(0)));
      advance();
      return node;
    }
    default:
      break;
  }
  if (take_sign("(")) return parse_in_brackets();
  if (is_sign("[")) return parse_list();
  if (is_sign("{")) return parse_dict();
  return unexpected("a value");
}

NodePtr ExpressionParser::parse_word() {
  const std::string word = here().text;
  NodePtr node;
  if (word == "true" || word == "True") {
    node = literal(Value::boolean(true));
  } else if (word == "false" || word == "False") {
    node = literal(Value::boolean(false));
  } else if (word == "none" || word == "None") {
    node = literal(Value::none());
  } else {
    node = make(NodeKind::name);
    node->name = word;
    names_.note(here().text);
    mentions_.loop += word == "loop" ? 1 : 0;
    mentions_.varargs += word == "varargs" ? 1 : 0;
    mentions_.kwargs += word == "kwargs" ? 1 : 0;
    mentions_.caller += word == "caller" ? 1 : 0;
  }
  advance();
  return node;
}

NodePtr ExpressionParser::parse_in_brackets() {
  if (is_sign(")")) {
    NodePtr empty = make(NodeKind::tuple);
    advance();
    return empty;
  }
  NodePtr value = parse_tuple();
  if (!value) return Failed();
  if (!expect_sign(")")) return Failed();
  return value;
}

NodePtr ExpressionParser::parse_list() {
  NodePtr list = make(NodeKind::list);
  advance();
  while (!take_sign("]")) {
    if (!list->children.empty()) {
      if (!expect_sign(",")) return Failed();
      if (take_sign("]")) break;
    }
    NodePtr item = parse_expression();
    if (!item) return Failed();
    list->children.push_back(std::move(item));
  }
  return list;
}

NodePtr ExpressionParser::parse_dict() {
  NodePtr dict = make(NodeKind::dict);
  advance();
  while (!take_sign("}")) {
    if (!dict->children.empty()) {
      if (!expect_sign(",")) return Failed();
      if (take_sign("}")) break;
    }
    NodePtr key = parse_expression();
    if (!key) return Failed();
    dict->children.push_back(std::move(key));
    if (!expect_sign(":")) return Failed();
    NodePtr value = parse_expression();
    if (!value) return Failed();
    dict->children.push_back(std::move(value));
  }
  return dict;
}

NodePtr ExpressionParser::parse_postfix(NodePtr value) {
  for (int n = 0;; ++n) {
    if (n == kMaxDepth) return failure("too many attributes in a row");
    if (take_sign(".")) {
      NodePtr node = around(NodeKind::attribute, std::move(value));
      if (here().kind == TokenKind::integer) {
        node->kind = NodeKind::subscript;
        node->children.push_back(literal(Value::integer(read_whole(here().text).value_or(0))));
        advance();
      } else {
        node->name = take_any_name();
        if (node->name.empty()) return Failed();
      }
      value = std::move(node);
    } else if (is_sign("[")) {
      value = parse_subscript(std::move(value));
      if (!value) return Failed();
    } else if (is_sign("(")) {
      NodePtr call = around(NodeKind::call, std::move(value));
      if (!parse_arguments(*call)) return Failed();
      value = std::move(call);
    } else {
      return value;
    }
  }
}

NodePtr ExpressionParser::parse_subscript(NodePtr value) {
  advance();
  NodePtr node = around(NodeKind::subscript, std::move(value));
  NodePtr begin;
  if (!is_sign(":")) {
    begin = parse_expression();
    if (!begin) return Failed();
  }
  if (take_sign("]")) return with(std::move(node), std::move(begin));
  node->kind = NodeKind::slice;
  node->children.push_back(std::move(begin));
  for (int i = 0; i < 2; ++i) {
    NodePtr part;
    if (take_sign(":") && !is_sign(":") && !is_sign("]")) {
      part = parse_expression();
      if (!part) return Failed();
    }
    node->children.push_back(std::move(part));
  }
  if (!expect_sign("]")) return Failed();
  return node;
}

bool ExpressionParser::parse_argument(Node& call) {
  const auto& named = call.named;
  const bool is_last = !named.empty() && named.back().first.empty();
  // Nothing without a name comes after an argument with *, so it is the last one.
  const auto& children = call.children;
  const bool is_spread = !children.empty() && children.back()->kind == NodeKind::spread;
  if (is_last) return failure("an argument follows one with **");
  if (take_sign("**")) {
    NodePtr value = parse_expression();
    if (!value) return Failed();
    call.named.emplace_back("", std::move(value));
    return true;
  }
  if (take_sign("*")) {
    if (is_spread) return failure("two arguments have *");
    NodePtr value = parse_expression();
    if (!value) return Failed();
    call.children.push_back(around(NodeKind::spread, std::move(value)));
    return true;
  }
  if (here().kind == TokenKind::name && next().kind == TokenKind::sign && next().text == "=") {
    std::string name = here().text;
    advance();
    advance();
    NodePtr value = parse_expression();
    if (!value) return Failed();
    call.named.emplace_back(std::move(name), std::move(value));
    return true;
  }
  if (!named.empty() || is_spread) {
    return failure("a positional argument follows a named one or one with *");
  }
  NodePtr value = parse_expression();
  if (!value) return Failed();
  call.children.push_back(std::move(value));
  return true;
}

bool ExpressionParser::parse_arguments(Node& call) {
  if (!expect_sign("(")) return Failed();
  for (bool is_first = true; !take_sign(")"); is_first = false) {
    if (!is_first) {
      if (!expect_sign(",")) return Failed();
      if (take_sign(")")) break;
    }
    if (!parse_argument(call)) return Failed();
  }
  return true;
}

NodePtr ExpressionParser::parse_filters(NodePtr value) {
  do {
    NodePtr filter = around(NodeKind::filter, std::move(value));
    filter->line = here().line;
    filter->name = take_dotted_name();
    if (filter->name.empty()) return Failed();
    if (find_filter(filter->name) == nullptr) note_unknown("filter", filter->name);
    if (is_sign("(") && !parse_arguments(*filter)) return Failed();
    value = std::move(filter);
  } while (take_sign("|"));
  return value;
}

NodePtr ExpressionParser::parse_filters_and_tests(NodePtr value) {
  for (int n = 0;; ++n) {
    if (n == kMaxDepth) return failure("too many filters in a row");
    if (take_sign("|")) {
      value = parse_filters(std::move(value));
      if (!value) return Failed();
    } else if (take_name("is")) {
      value = parse_test(std::move(value));
      if (!value) return Failed();
    } else if (is_sign("(")) {
      NodePtr call = around(NodeKind::call, std::move(value));
      if (!parse_arguments(*call)) return Failed();
      value = std::move(call);
    } else {
      return value;
    }
  }
}

bool ExpressionParser::begins_argument() const {
  switch (here().kind) {
    case TokenKind::text:
    case TokenKind::integer:
    case TokenKind::real:
      return true;
    case TokenKind::name:
      return !is_name("else") && !is_name("or") && !is_name("and") && !is_name("is") &&
             !is_name("if") && !is_name("in") && !is_name("not");
    default:
      return is_sign("[") || is_sign("{");
  }
}

NodePtr ExpressionParser::parse_test(NodePtr value) {
  const bool is_negated = take_name("not");
  NodePtr test = around(NodeKind::test, std::move(value));
  test->name = take_dotted_name();
  if (test->name.empty()) return Failed();
  if (find_test(test->name) == nullptr) note_unknown("test", test->name);
  if (is_sign("(")) {
    if (!parse_arguments(*test)) return Failed();
  } else if (begins_argument()) {
    NodePtr argument = parse_primary();
    if (!argument) return Failed();
    argument = parse_postfix(std::move(argument));
    if (!argument) return Failed();
    test->children.push_back(std::move(argument));
  }
  return is_negated ? around(NodeKind::negate, std::move(test)) : std::move(test);
}

}  // namespace kinglet::jinja
