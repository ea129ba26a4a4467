#include "text/jinja/token_reader.h"

#include <algorithm>

#include "base/format.h"
#include "base/in_quotes.h"

namespace kinglet::jinja {

const Token& TokenReader::next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }

bool TokenReader::take_name(std::string_view name) {
  if (!is_name(name)) return false;
  advance();
  return true;
}

bool TokenReader::take_sign(std::string_view sign) {
  if (!is_sign(sign)) return false;
  advance();
  return true;
}

bool TokenReader::expect_sign(std::string_view sign) {
  return take_sign(sign) || unexpected(in_quotes(sign));
}

bool TokenReader::expect_name(std::string_view name) { return take_name(name) || unexpected(name); }

bool TokenReader::expect(TokenKind kind, std::string_view what) {
  if (here().kind != kind) return unexpected(what);
  advance();
  return true;
}

std::string TokenReader::take_any_name() {
  if (here().kind != TokenKind::name) return unexpected("a name");
  std::string name = here().text;
  advance();
  return name;
}

std::string TokenReader::take_dotted_name() {
  std::string name = take_any_name();
  if (name.empty()) return Failed();
  while (take_sign(".")) {
    const std::string more = take_any_name();
    if (more.empty()) return Failed();
    name += "." + more;
  }
  return name;
}

Failed TokenReader::failure(std::string_view what) {
  error_ = {ErrorCode::unsupported_feature, cat("line ", here().line, ": ", what)};
  return {};
}

Failed TokenReader::unexpected(std::string_view expected) {
  const bool is_end = here().text.empty();
  return failure(
      cat("found ", is_end ? "the end of a tag" : in_quotes(here().text), ", expected ", expected));
}

NodePtr TokenReader::make(NodeKind kind) const {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  node->line = here().line;
  return node;
}

NodePtr TokenReader::literal(Value value) const {
  NodePtr node = make(NodeKind::literal);
  node->value = std::move(value);
  return node;
}

NodePtr TokenReader::with(NodePtr node, NodePtr child) {
  node->children.push_back(std::move(child));
  return node;
}

NodePtr TokenReader::around(NodeKind kind, NodePtr child) const {
  NodePtr node = make(kind);
  node->line = child->line;
  return with(std::move(node), std::move(child));
}

}  // namespace kinglet::jinja
