// What the tests of grammars share.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/grammar_matcher.h"
#include "text/token_index.h"

namespace kinglet {

// Returns null, and reports a failure, if there is an error.
inline SharedGrammar expect_shared(Result<Grammar> grammar) {
  const auto found = shared(std::move(grammar));
  if (found.ok()) return found.value();
  ADD_FAILURE() << found.error().message;
  return nullptr;
}

inline SharedGrammar grammar_of(std::string_view gbnf) {
  SCOPED_TRACE(gbnf);
  return expect_shared(Grammar::parse(gbnf));
}

// The state after `text`.
inline GrammarMatcher::State state_behind(GrammarMatcher& matcher, std::string_view text) {
  return matcher.next(matcher.start(), text);
}

inline bool accepts(GrammarMatcher& matcher, std::string_view text) {
  return matcher.is_complete(state_behind(matcher, text));
}

// Whether the text can begin a text that the grammar accepts.
inline bool may_begin(GrammarMatcher& matcher, std::string_view text) {
  return state_behind(matcher, text) != GrammarMatcher::kRefused;
}

// The tokens of a set, ascending.
inline std::vector<TokenId> ids_of(const TokenSet& set) {
  std::vector<TokenId> ids;
  for (size_t i = 0; i < 64 * set.size(); ++i) {
    if ((set[i / 64] >> i % 64 & 1) != 0) ids.push_back(static_cast<TokenId>(i));
  }
  return ids;
}

// Any JSON value.
constexpr std::string_view kJsonGrammar = R"(
root   ::= value
value  ::= ws (object | array | string | number | "true" | "false" | "null") ws
object ::= "{" (pair ("," pair)* | ws) "}"
pair   ::= ws string ws ":" value
array  ::= "[" (value ("," value)* | ws) "]"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws     ::= [ \t\r\n]{0,3}
)";

}  // namespace kinglet
