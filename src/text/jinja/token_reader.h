// What the parsers of expressions and statements share: the tokens, the nodes and the error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/jinja/lexer.h"
#include "text/jinja/syntax.h"

namespace kinglet::jinja {

// The result of a function that has reported an error: no node, no name, or false.
struct Failed {
  operator NodePtr() const { return nullptr; }  // NOLINT: implicit
  operator std::string() const { return {}; }   // NOLINT: implicit
  operator bool() const { return false; }       // NOLINT: implicit
};

// Goes through the tokens of a template from front to back. After the first error, error() says
// what is wrong, and parsing must stop.
class TokenReader {
 public:
  explicit TokenReader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  // How deep brackets and blocks may be nested, so that no template exhausts the stack.
  static constexpr int kMaxDepth = 120;

  const Error& error() const { return error_; }

  // --- Tokens

  const Token& here() const { return tokens_[at_]; }
  const Token& next() const;
  void advance() { ++at_; }

  bool is(TokenKind kind, std::string_view text) const {
    return here().kind == kind && here().text == text;
  }
  bool is_name(std::string_view name) const { return is(TokenKind::name, name); }
  bool is_sign(std::string_view sign) const { return is(TokenKind::sign, sign); }

  // Advances if the name or the sign is here; returns whether it was.
  bool take_name(std::string_view name);
  bool take_sign(std::string_view sign);

  // Advances if the token is here, or else fails.
  bool expect_sign(std::string_view sign);
  bool expect_name(std::string_view name);
  bool expect(TokenKind kind, std::string_view what);

  // Takes a name, or names joined by dots.
  std::string take_any_name();
  std::string take_dotted_name();

  // --- Errors

  Failed failure(std::string_view what);
  Failed unexpected(std::string_view expected);
  bool check_depth() {
    return depth_ <= kMaxDepth || failure("brackets or blocks are nested too deeply");
  }

  // --- Nodes

  // Makes a node of the current line.
  NodePtr make(NodeKind kind) const;
  NodePtr literal(Value value) const;
  // Returns `node` with one more child.
  static NodePtr with(NodePtr node, NodePtr child);
  // Makes a node of the child's line.
  NodePtr around(NodeKind kind, NodePtr child) const;

  int depth_ = 0;

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
  Error error_ = {};
};

}  // namespace kinglet::jinja
