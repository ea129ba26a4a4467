#include "text/jinja/parser.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/quoted.h"
#include "text/jinja/functions.h"
#include "text/jinja/level.h"
#include "text/jinja/lexer.h"
#include "text/jinja/numbers.h"

namespace kinglet::jinja {
namespace {

// How deep brackets and blocks may be nested, so that no template exhausts the stack.
constexpr int kMaxDepth = 120;

// The result of a function that has reported an error: no node, no name, or false.
struct Failed {
  operator NodePtr() const { return nullptr; }  // NOLINT: implicit
  operator std::string() const { return {}; }   // NOLINT: implicit
  operator bool() const { return false; }       // NOLINT: implicit
};

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<NodePtr> run() {
    Names names;
    begin_names(names);
    NodePtr block = end_names(parse_block({}), false);
    if (!block) return std::move(error_);
    if (!unknown_.message.empty()) return std::move(unknown_);
    return block;
  }

 private:
  const Token& here() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  void advance() { ++at_; }

  bool is(TokenKind kind, std::string_view text) const {
    return here().kind == kind && here().text == text;
  }
  bool is_name(std::string_view name) const { return is(TokenKind::name, name); }
  bool is_sign(std::string_view sign) const { return is(TokenKind::sign, sign); }

  bool take_name(std::string_view name) {
    if (!is_name(name)) return false;
    advance();
    return true;
  }
  bool take_sign(std::string_view sign) {
    if (!is_sign(sign)) return false;
    advance();
    return true;
  }

  Failed failure(std::string_view what) {
    error_ = {ErrorCode::unsupported_feature, cat("line ", here().line, ": ", what)};
    return {};
  }
  Failed unexpected(std::string_view expected) {
    const bool is_end = here().text.empty();
    return failure(
        cat("found ", is_end ? "the end of a tag" : quoted(here().text), ", expected ", expected));
  }

  bool expect_sign(std::string_view sign) { return take_sign(sign) || unexpected(quoted(sign)); }
  bool expect_name(std::string_view name) { return take_name(name) || unexpected(name); }
  bool expect(TokenKind kind, std::string_view what) {
    if (here().kind != kind) return unexpected(what);
    advance();
    return true;
  }
  std::string take_any_name() {
    if (here().kind != TokenKind::name) return unexpected("a name");
    std::string name = here().text;
    advance();
    return name;
  }

  NodePtr make(NodeKind kind) const {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->line = here().line;
    return node;
  }
  static NodePtr with(NodePtr node, NodePtr child) {
    node->children.push_back(std::move(child));
    return node;
  }
  NodePtr around(NodeKind kind, NodePtr child) const {
    NodePtr node = make(kind);
    node->line = child->line;
    return with(std::move(node), std::move(child));
  }

  bool check_depth() {
    return depth_ <= kMaxDepth || failure("too much is inside of something else");
  }

  // --- Names
  //
  // Before a template runs, Jinja finds out which names a block sets. Until the block sets such a
  // name, the name is undefined in the blocks inside it, even if a variable has the same name:
  // {% for m in messages %}{{ tools }}{% endfor %}{% set tools = 1 %} writes no tools.

  // What a block that has its own names does first with a name.
  enum class First : uint8_t {
    inner_read,  // nothing yet, but a block inside it has read the name
    own,         // reads it, has it from the start, or sets it in a branch or before any read
    late_set,    // sets it after a block inside has read it
  };

  struct Names {
    Names() = default;
    Names(const Names&) = delete;
    Names& operator=(const Names&) = delete;
    [[gnu::noinline]] ~Names() {}  // NOLINT(modernize-use-equals-default): it is in many places

    Names* outer = nullptr;
    std::vector<std::pair<std::string_view, First>> firsts = {};
    std::vector<Node*> inner = {};  // blocks inside that set a name late
    int n_branches = 0;             // how many branches are around the current place
    bool may_be_unknown = false;    // may_be_unknown_ outside of the block
  };

  void note(std::string_view name, First first) {
    constexpr size_t kMost = 1000;  // every name is compared with all others
    for (auto& [known, before] : names_->firsts) {
      if (known != name) continue;
      if (before == First::inner_read) before = first;
      return;
    }
    has_too_many_names_ = has_too_many_names_ || names_->firsts.size() == kMost;
    if (has_too_many_names_) return;
    names_->firsts.emplace_back(name, first == First::late_set ? First::own : first);
  }

  void note_target(const Node& target, First first) {
    if (target.kind == NodeKind::name) return note(target.name, first);
    // Setting an attribute reads its namespace.
    const First of_child = target.kind == NodeKind::attribute ? First::own : first;
    for (const NodePtr& child : target.children) note_target(*child, of_child);
  }

  First first_of_set() const { return names_->n_branches > 0 ? First::own : First::late_set; }

  // From here to end_names(), names belong to a new block.
  void begin_names(Names& names) {
    names.outer = std::exchange(names_, &names);
    names.may_be_unknown = std::exchange(may_be_unknown_, false);
  }

  // Ends the names of `block`, and returns the block. `sees_outer`: whether the block sees the
  // names around it.
  NodePtr end_names(NodePtr block, bool sees_outer = true) {
    const Names& ended = *names_;
    names_ = ended.outer;
    may_be_unknown_ = ended.may_be_unknown;
    if (!block) return Failed();
    for (const auto& [name, first] : ended.firsts) {
      if (first == First::late_set) block->names.emplace_back(name);
      if (sees_outer && first != First::late_set) note(name, First::inner_read);
      if (first == First::inner_read) continue;
      // A name that this block knows is not hidden in the blocks inside it.
      for (Node* inner : ended.inner) std::erase(inner->names, name);
    }
    if (has_too_many_names_) return failure("a block has too many names");
    if (!sees_outer) return block;
    for (Node* inner : ended.inner) names_->inner.push_back(inner);
    if (!block->names.empty()) names_->inner.push_back(block.get());
    return block;
  }

  // --- Statements

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
    Names names;
    begin_names(names);
    for (const std::string& name : parameters) note(name, First::own);
    if (targets != nullptr) note_target(*targets, First::own);
    NodePtr block = end_names(parse_block({end}));
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
    return failure(cat("statement ", quoted(name), " is unknown here"));
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
    ++names_->n_branches;
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
    --names_->n_branches;
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
      Names names;
      begin_names(names);
      note_target(*target, First::own);
      condition = end_names(parse_expression());
      if (!condition) return Failed();
    }
    if (is_name("recursive")) return failure("recursive loops are not known here");
    if (!expect(TokenKind::block_end, "%}")) return Failed();
    ++n_loops_;
    const size_t n_before = n_loop_names_;
    Names names;
    begin_names(names);
    note_target(*target, First::own);
    NodePtr block = end_names(parse_block({"else", "endfor"}));
    if (!block) return Failed();
    --n_loops_;
    if (n_loop_names_ > n_before) node->name = "loop";
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
      note_target(*target, first_of_set());
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
    note_target(*target, first_of_set());
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
      return failure(cat("block ", quoted(name), " is there twice"));
    }
    block_names_.push_back(name);
    if (take_name("scoped")) node->name = "scoped";
    if (!expect(TokenKind::block_end, "%}")) return Failed();
    const int n_outer = std::exchange(n_loops_, 0);
    Names names;
    begin_names(names);
    NodePtr block = end_names(parse_block({"endblock"}), false);
    if (!block) return Failed();
    n_loops_ = n_outer;
    advance();  // {%
    advance();  // endblock
    if (here().kind == TokenKind::name && !expect_name(name)) return Failed();
    if (!expect(TokenKind::block_end, "%}")) return Failed();
    return with(std::move(node), std::move(block));
  }

  // How often the template has used the names that let a macro take more than its parameters.
  struct Mentions {
    size_t varargs = 0;
    size_t kwargs = 0;
    size_t caller = 0;
  };

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
        Names names;
        begin_names(names);
        NodePtr value = end_names(parse_expression());
        if (!value) return Failed();
        macro.children.push_back(std::move(value));
      } else if (macro.children.size() > 1) {
        return failure("a parameter without a value after one with a value");
      }
    }
    return true;
  }

  NodePtr parse_macro() {
    NodePtr macro = make(NodeKind::macro);
    macro->name = take_any_name();
    if (macro->name.empty()) return Failed();
    macro->children.emplace_back();
    note(macro->name, first_of_set());
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

  // --- Expressions, from the loosest to the tightest

  bool ends_tuple() const {
    return here().kind == TokenKind::variable_end || here().kind == TokenKind::block_end ||
           is_sign(")");
  }

  // Parses one expression, or several with commas.
  NodePtr parse_tuple(bool with_condition = true) {
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

  NodePtr parse_expression() {
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

  // Notes a filter or a test that does not exist. In a branch or a condition, Jinja refuses it only
  // when it is called.
  void note_unknown(std::string_view kind, const std::string& name) {
    if (may_be_unknown_ || !unknown_.message.empty()) return;
    unknown_ = {ErrorCode::unsupported_feature,
                cat("line ", here().line, ": ", kind, " ", quoted(name), " is unknown here")};
  }

  NodePtr parse_either() {
    return parse_joined("or", NodeKind::either, [&] { return parse_both(); });
  }

  NodePtr parse_both() {
    return parse_joined("and", NodeKind::both, [&] { return parse_not(); });
  }

  template <class Operand>
  NodePtr parse_joined(std::string_view word, NodeKind kind, const Operand& operand) {
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

  NodePtr parse_not() {
    const Level level(depth_);
    if (!check_depth()) return Failed();
    if (!is_name("not")) return parse_comparisons();
    advance();
    NodePtr value = parse_not();
    if (!value) return Failed();
    return around(NodeKind::negate, std::move(value));
  }

  // Takes a comparison: "==", "in", "not in" …; returns an empty text if there is none.
  std::string take_comparison() {
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

  NodePtr parse_comparisons() {
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
  NodePtr parse_operations(std::initializer_list<std::string_view> signs, const Operand& operand) {
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

  NodePtr parse_sum() {
    return parse_operations({"+", "-"}, [&] { return parse_concat(); });
  }

  NodePtr parse_concat() {
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

  NodePtr parse_product() {
    return parse_operations({"*", "/", "//", "%"}, [&] { return parse_power(); });
  }

  NodePtr parse_power() {
    return parse_operations({"**"}, [&] { return parse_unary(true); });
  }

  NodePtr parse_unary(bool with_filters) {
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

  NodePtr literal(Value value) const {
    NodePtr node = make(NodeKind::literal);
    node->value = std::move(value);
    return node;
  }

  NodePtr parse_primary() {
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

  NodePtr parse_word() {
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
      note(here().text, First::own);
      n_loop_names_ += word == "loop" ? 1 : 0;
      mentions_.varargs += word == "varargs" ? 1 : 0;
      mentions_.kwargs += word == "kwargs" ? 1 : 0;
      mentions_.caller += word == "caller" ? 1 : 0;
    }
    advance();
    return node;
  }

  NodePtr parse_in_brackets() {
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

  NodePtr parse_list() {
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

  NodePtr parse_dict() {
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

  NodePtr parse_postfix(NodePtr value) {
    for (int n = 0;; ++n) {
      if (n == kMaxDepth) return failure("too many attributes of attributes");
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

  NodePtr parse_subscript(NodePtr value) {
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

  bool parse_argument(Node& call) {
    const auto& named = call.named;
    const bool is_last = !named.empty() && named.back().first.empty();
    const bool is_spread =
        std::any_of(call.children.begin(), call.children.end(),
                    [](const NodePtr& child) { return child && child->kind == NodeKind::spread; });
    if (is_last) return failure("an argument after one with **");
    if (take_sign("**")) {
      NodePtr value = parse_expression();
      if (!value) return Failed();
      call.named.emplace_back("", std::move(value));
      return true;
    }
    if (take_sign("*")) {
      if (is_spread) return failure("two arguments with *");
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
      return failure("an argument without a name after one with a name or *");
    }
    NodePtr value = parse_expression();
    if (!value) return Failed();
    call.children.push_back(std::move(value));
    return true;
  }

  bool parse_arguments(Node& call) {
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

  // Takes names joined by dots.
  std::string take_dotted_name() {
    std::string name = take_any_name();
    if (name.empty()) return Failed();
    while (take_sign(".")) {
      const std::string more = take_any_name();
      if (more.empty()) return Failed();
      name += "." + more;
    }
    return name;
  }

  // Parses the filter whose name is here, and the filters after it.
  NodePtr parse_filters(NodePtr value) {
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

  NodePtr parse_filters_and_tests(NodePtr value) {
    for (int n = 0;; ++n) {
      if (n == kMaxDepth) return failure("too many filters");
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

  bool begins_argument() const {
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

  NodePtr parse_test(NodePtr value) {
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

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  int n_loops_ = 0;
  size_t n_loop_names_ = 0;
  Mentions mentions_ = {};
  std::vector<std::string> block_names_ = {};
  Names* names_ = nullptr;
  bool has_too_many_names_ = false;
  bool may_be_unknown_ = false;  // whether a filter or test may be unknown here
  Error unknown_ = {};           // the first filter or test that may not, but is
  Error error_ = {};
};

}  // namespace

Result<NodePtr> parse(std::string_view source) {
  KINGLET_ASSIGN(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens)).run();
}

}  // namespace kinglet::jinja
