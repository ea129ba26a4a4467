// Parses the expressions of a template. The functions follow the order of precedence, from the
// loosest to the tightest.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/jinja/name_scopes.h"
#include "text/jinja/token_reader.h"

namespace kinglet::jinja {

class ExpressionParser : public TokenReader {
 public:
  using TokenReader::TokenReader;

 protected:
  // How often expressions have used the names that have a meaning in macros and loops.
  struct Mentions {
    size_t varargs = 0;
    size_t kwargs = 0;
    size_t caller = 0;
    size_t loop = 0;
  };

  // Parses one expression, or several with commas.
  NodePtr parse_tuple(bool with_condition = true);
  NodePtr parse_expression();
  // Parses the filter whose name is here, and the filters after it.
  NodePtr parse_filters(NodePtr value);

  NameScopes names_ = {};
  Mentions mentions_ = {};
  bool may_be_unknown_ = false;  // whether a filter or test may be unknown here
  Error unknown_ = {};           // the first filter or test that may not, but is

 private:
  bool ends_tuple() const;
  NodePtr parse_either();
  NodePtr parse_both();
  template <class Operand>
  NodePtr parse_joined(std::string_view word, NodeKind kind, const Operand& operand);
  NodePtr parse_not();
  // Takes a comparison: "==", "in", "not in" …; returns an empty text if there is none.
  std::string take_comparison();
  NodePtr parse_comparisons();
  template <class Operand>
  NodePtr parse_operations(std::initializer_list<std::string_view> signs, const Operand& operand);
  NodePtr parse_sum();
  NodePtr parse_concat();
  NodePtr parse_product();
  NodePtr parse_power();
  NodePtr parse_unary(bool with_filters);
  NodePtr parse_primary();
  NodePtr parse_word();
  NodePtr parse_in_brackets();
  NodePtr parse_list();
  NodePtr parse_dict();
  NodePtr parse_postfix(NodePtr value);
  NodePtr parse_subscript(NodePtr value);
  bool parse_argument(Node& call);
  bool parse_arguments(Node& call);
  NodePtr parse_filters_and_tests(NodePtr value);
  bool begins_argument() const;
  NodePtr parse_test(NodePtr value);
  // Notes a filter or a test that does not exist. In a branch or a condition, Jinja refuses it only
  // when it is called.
  void note_unknown(std::string_view kind, const std::string& name);
};

}  // namespace kinglet::jinja
