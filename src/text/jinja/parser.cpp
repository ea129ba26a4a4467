#include "text/jinja/parser.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/in_quotes.h"
#include "text/jinja/expression_parser.h"
#include "text/jinja/functions.h"
#include "text/jinja/level.h"
#include "text/jinja/lexer.h"

namespace kinglet::jinja {
namespace {

// Parses the statements of a template, and with them all of it.
class StatementParser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Result<NodePtr> run() {
    NodePtr block = parse_with_own_names([&] { return parse_block({}); }, false);
    if (!block) return error();
    if (!unknown_.message.empty()) return std::move(unknown_);
    return block;
  }

 private:
  // Parses something that has its own names. `sees_outer`: whether it sees the names around it.
  template <class Parse>
  NodePtr parse_with_own_names(const Parse& parse, bool sees_outer = true) {
    const bool may_be_unknown = std::exchange(may_be_unknown_, false);
    names_.begin();
    NodePtr node = parse();
    if (!node) return Failed();
    may_be_unknown_ = may_be_unknown;
    if (!names_.end(*node, sees_outer)) return failure("a block has too many names");
    return node;
  }

  // Parses statements up to a tag that begins with one of the names in `ends`, but not this tag.
  NodePtr parse_block(std::initializer_list<std::string_view> ends) {
    const Level level(depth_);
    if (!check_depth()) return Failed();
    NodePtr block = make(NodeKind::block);
    while (true) {
      if (here().kind == TokenKind::end) {
        if (ends.size() == 0) return block;
        return failure(cat("the template ends without ", *(ends.end() - 1)));
      }
      if (here().kind == TokenKind::block_begin &&
          std::find(ends.begin(), ends.end(), next().text) != ends.end()) {
        return block;
      }
      NodePtr statement = parse_statement();
      if (!statement) return Failed();
      block->children.push_back(std::move(statement));
    }
  }

  // Takes {% name %}.
  bool take_end(std::string_view name) {
    advance();
    if (!expect_name(name)) return Failed();
    return expect(TokenKind::block_end, "%}");
  }
  // Parses a block and its end tag, for example of a macro. The block has its own names, to which
  // the parameters and targets belong.
  NodePtr parse_body(std::string_view end, const std::vector<std::string>& parameters = {},
                     const Node* targets = nullptr) {
    if (!expect(TokenKind::block_end, "%}")) return Failed();
    NodePtr block = parse_with_own_names([&] {
      for (const std::string& name : parameters) names_.note(name);
      if (targets != nullptr) names_.note_target(*targets);
      return parse_block({end});
    });
    if (!block) return Failed();
    if (!take_end(end)) return Failed();
    return block;
  }

  NodePtr parse_statement() {
    if (here().kind == TokenKind::data) {
      NodePtr text = make(NodeKind::literal);
      text->value = Value::text(here().text);
      NodePtr output = around(NodeKind::output, std::move(text));
      advance();
      return output;
    }
    if (here().kind == TokenKind::variable_begin) {
      advance();
      NodePtr value = parse_tuple();
      if (!value) return Failed();
      if (!expect(TokenKind::variable_end, "}}")) return Failed();
      return around(NodeKind::output, std::move(value));
    }
    advance();  // {%
    const std::string name = take_any_name();
    if (name.empty()) return Failed();
    if (name == "if") return parse_if();
    if (name == "for") return parse_for();
    if (name == "set") return parse_set();
    if (name == "macro") return parse_macro();
    if (name == "call") return parse_call_block();
    if (name == "filter") return parse_filter_block();
    if (name == "with") return parse_with();
    if (name == "block") return parse_named_block();
    if (name == "generation") return parse_generation();
    if (name == "break" || name == "continue") {
      NodePtr node = make(name == "break" ? NodeKind::leave : NodeKind::proceed);
      if (n_loops_ == 0) return failure(cat(name, " outside of a loop"));
      if (!expect(TokenKind::block_end, "%}")) return Failed();
      return node;
    }
    return failure(cat("statement ", in_quotes(name), " is not supported"));
  }

  // The block has its own names, because transformers treats it as a call block.
  NodePtr parse_generation() {
    NodePtr node = make(NodeKind::with);
    const int n_outer = std::exchange(n_loops_, 0);
    NodePtr block = parse_body("endgeneration");
    if (!block) return Failed();
    n_loops_ = n_outer;
    node->children.push_back(make(NodeKind::tuple));
    node->children.push_back(make(NodeKind::tuple));
    return with(std::move(node), std::move(block));
  }

  NodePtr parse_if() {
    const bool may_be_unknown = std::exchange(may_be_unknown_, true);
    NodePtr node = parse_condition_and_blocks();
    may_be_unknown_ = may_be_unknown;
    return node;
  }

  NodePtr parse_condition_and_blocks() {
    NodePtr node = make(NodeKind::branch);
    NodePtr condition = parse_tuple(false);
    if (!condition) return Failed();
    if (!expect(TokenKind::block_end, "%}")) return Failed();
    names_.begin_branch();
    NodePtr block = parse_block({"elif", "else", "endif"});
    if (!block) return Failed();
    NodePtr otherwise;
    advance();  // {%
    if (take_name("elif")) {
      const Level level(depth_);
      if (!check_depth()) return Failed();
      otherwise = parse_condition_and_blocks();
      if (!otherwise) return Failed();
    } else if (take_name("else")) {
      if (!expect(TokenKind::block_end, "%}")) return Failed();
      otherwise = parse_block({"endif"});
      if (!otherwise) return Failed();
      if (!take_end("endif")) return Failed();
    } else {
      if (!expect_name("endif")) return Failed();
      if (!expect(TokenKind::block_end, "%}")) return Failed();
    }
    names_.end_branch();
    node->children.push_back(std::move(condition));
    node->children.push_back(std::move(block));
    node->children.push_back(std::move(otherwise));
    return node;
  }

  NodePtr parse_for() {
    NodePtr node = make(NodeKind::loop);
    NodePtr target = parse_target();
    if (!target) return Failed();
    if (!expect_name("in")) return Failed();
    // An "if" after the values belongs to the loop.
    NodePtr values = parse_tuple(false);
    if (!values) return Failed();
    NodePtr condition;
    if (take_name("if")) {
      condition = parse_with_own_names([&] {
        names_.note_target(*target);
        return parse_expression();
      });
      if (!condition) return Failed();
    }
    node->is_recursive = take_name("recursive");
    if (!expect(TokenKind::block_end, "%}")) return Failed();
    ++n_loops_;
    const size_t n_before = mentions_.loop;
    NodePtr block = parse_with_own_names([&] {
      names_.note_target(*target);
      return parse_block({"else", "endfor"});
    });
    if (!block) return Failed();
    --n_loops_;
    if (mentions_.loop > n_before) node->name = "loop";
    NodePtr otherwise;
    advance();  // {%
    if (take_name("else")) {
      otherwise = parse_body("endfor");
      if (!otherwise) return Failed();
    } else {
      if (!expect_name("endfor")) return Failed();
      if (!expect(TokenKind::block_end, "%}")) return Failed();
    }
    for (NodePtr* child : {&target, &values, &condition, &block, &otherwise}) {
      node->children.push_back(std::move(*child));
    }
    return node;
  }

  // Parses the target of an assignment: a name, several names, or an attribute of a namespace.
  NodePtr parse_target() {
    NodePtr first = parse_one_target();
    if (!first) return Failed();
    if (!is_sign(",")) return first;
    NodePtr tuple = around(NodeKind::tuple, std::move(first));
    while (take_sign(",")) {
      if (here().kind != TokenKind::name && !is_sign("(")) break;
      NodePtr more = parse_one_target();
      if (!more) return Failed();
      tuple->children.push_back(std::move(more));
    }
    return tuple;
  }

  NodePtr parse_one_target() {
    const Level level(depth_);
    if (!check_depth()) return Failed();
    if (take_sign("(")) {
      NodePtr inner = parse_target();
      if (!inner) return Failed();
      if (!expect_sign(")")) return Failed();
      return inner;
    }
    NodePtr target = make(NodeKind::name);
    target->name = take_any_name();
    if (target->name.empty()) return Failed();
    if (!take_sign(".")) return target;
    NodePtr attribute = around(NodeKind::attribute, std::move(target));
    attribute->name = take_any_name();
    if (attribute->name.empty()) return Failed();
    return attribute;
  }

  NodePtr parse_set() {
    NodePtr node = make(NodeKind::assign);
    NodePtr target = parse_target();
    if (!target) return Failed();
    if (take_sign("=")) {
      NodePtr value = parse_tuple();
      if (!value) return Failed();
      if (!expect(TokenKind::block_end, "%}")) return Failed();
      names_.note_set_target(*target);
      node->children.push_back(std::move(target));
      return with(std::move(node), std::move(value));
    }
    node->kind = NodeKind::assign_block;
    NodePtr filters = block_text();
    if (take_sign("|")) {
      filters = parse_block_filters();
      if (!filters) return Failed();
    }
    NodePtr block = parse_body("endset");
    if (!block) return Failed();
    names_.note_set_target(*target);
    node->children.push_back(std::move(target));
    node->children.push_back(std::move(block));
    return with(std::move(node), std::move(filters));
  }

  // Returns a node that stands for the text of a block, as the value that filters begin with.
  NodePtr block_text() const {
    NodePtr name = make(NodeKind::name);
    name->name = kBlockText;
    return name;
  }

  NodePtr parse_block_filters() {
    const bool may_be_unknown = std::exchange(may_be_unknown_, false);
    NodePtr filters = parse_filters(block_text());
    may_be_unknown_ = may_be_unknown;
    return filters;
  }

  // No other template extends this one, so a named block stays where it is.
  NodePtr parse_named_block() {
    NodePtr node = make(NodeKind::named_block);
    const std::string name = take_any_name();
    if (name.empty()) return Failed();
    if (std::find(block_names_.begin(), block_names_.end(), name) != block_names_.end()) {
      return failure(cat("block ", in_quotes(name), " is defined twice"));
    }
    constexpr size_t kMostBlocks = 1000;  // every name is compared with all others
    if (block_names_.size() == kMostBlocks) return failure("too many blocks");
    block_names_.push_back(name);
    if (take_name("scoped")) node->name = "scoped";
    if (!expect(TokenKind::block_end, "%}")) return Failed();
    const int n_outer = std::exchange(n_loops_, 0);
    NodePtr block = parse_with_own_names([&] { return parse_block({"endblock"}); }, false);
    if (!block) return Failed();
    n_loops_ = n_outer;
    advance();  // {%
    advance();  // endblock
    if (here().kind == TokenKind::name && !expect_name(name)) return Failed();
    if (!expect(TokenKind::block_end, "%}")) return Failed();
    return with(std::move(node), std::move(block));
  }

  void note_mentions(Node& macro, const Mentions& before) const {
    macro.takes_varargs = mentions_.varargs > before.varargs;
    macro.takes_kwargs = mentions_.kwargs > before.kwargs;
    macro.takes_caller = mentions_.caller > before.caller;
  }

  bool parse_parameters(Node& macro) {
    if (!expect_sign("(")) return Failed();
    while (!take_sign(")")) {
      if (!macro.names.empty() && !expect_sign(",")) return Failed();
      std::string name = take_any_name();
      if (name.empty()) return Failed();
      macro.names.push_back(std::move(name));
      if (take_sign("=")) {
        NodePtr value = parse_with_own_names([&] { return parse_expression(); });
        if (!value) return Failed();
        macro.children.push_back(std::move(value));
      } else if (macro.children.size() > 1) {
        return failure("a parameter without a default follows one with a default");
      }
    }
    return true;
  }

  NodePtr parse_macro() {
    NodePtr macro = make(NodeKind::macro);
    macro->name = take_any_name();
    if (macro->name.empty()) return Failed();
    macro->children.emplace_back();
    names_.note_set(macro->name);
    const Mentions before = mentions_;
    if (!parse_parameters(*macro)) return Failed();
    const int n_outer = std::exchange(n_loops_, 0);
    macro->children.front() = parse_body("endmacro", macro->names);
    if (!macro->children.front()) return Failed();
    n_loops_ = n_outer;
    note_mentions(*macro, before);
    return macro;
  }

  NodePtr parse_call_block() {
    NodePtr node = make(NodeKind::call_block);
    NodePtr caller = make(NodeKind::macro);
    caller->children.emplace_back();
    if (is_sign("(") && !parse_parameters(*caller)) return Failed();
    NodePtr call = parse_expression();
    if (!call) return Failed();
    if (call->kind != NodeKind::call) return failure("expected a call");
    const Mentions before = mentions_;
    caller->children.front() = parse_body("endcall", caller->names);
    if (!caller->children.front()) return Failed();
    note_mentions(*caller, before);
    node->children.push_back(std::move(call));
    return with(std::move(node), std::move(caller));
  }

  NodePtr parse_filter_block() {
    NodePtr node = make(NodeKind::filter_block);
    NodePtr filters = parse_block_filters();
    if (!filters) return Failed();
    NodePtr block = parse_body("endfilter");
    if (!block) return Failed();
    node->children.push_back(std::move(block));
    return with(std::move(node), std::move(filters));
  }

  NodePtr parse_with() {
    NodePtr node = make(NodeKind::with);
    NodePtr targets = make(NodeKind::tuple);
    NodePtr values = make(NodeKind::tuple);
    while (here().kind != TokenKind::block_end) {
      if (!targets->children.empty() && !expect_sign(",")) return Failed();
      NodePtr target = parse_one_target();
      if (!target) return Failed();
      targets->children.push_back(std::move(target));
      if (!expect_sign("=")) return Failed();
      NodePtr value = parse_expression();
      if (!value) return Failed();
      values->children.push_back(std::move(value));
    }
    NodePtr block = parse_body("endwith", {}, targets.get());
    if (!block) return Failed();
    node->children.push_back(std::move(targets));
    node->children.push_back(std::move(values));
    return with(std::move(node), std::move(block));
  }
  int n_loops_ = 0;
  std::vector<std::string> block_names_ = {};
};

}  // namespace

Result<NodePtr> parse(std::string_view source) {
  KINGLET_ASSIGN(std::vector<Token> tokens, tokenize(source));
  return StatementParser(std::move(tokens)).run();
}

}  // namespace kinglet::jinja
