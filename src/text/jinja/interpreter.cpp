#include "text/jinja/interpreter.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/in_quotes.h"
#include "text/jinja/functions.h"
#include "text/jinja/level.h"
#include "text/jinja/operations.h"
#include "text/jinja/strings.h"

namespace kinglet::jinja {
namespace {

// How deep blocks and expressions may be nested, including calls: what the stack has room for.
constexpr int kMaxDepth = 400;
constexpr size_t kMaxValueDepth = 200;  // of lists in lists

constexpr size_t kOfName = 8;  // the work of comparing two names

// How a statement ended.
enum class Flow : uint8_t { on, leave, proceed };

}  // namespace

// The names of a block that has its own names, with a link to the scope around it. The strings of
// the names belong to the template or to its variables.
struct Scope {
  // `innermost` points to this scope while it lives.
  Scope(Scope*& innermost, uint64_t number, Scope* around)
      : id(number), outer(around), before(innermost), innermost_(innermost) {
    innermost = this;
  }
  ~Scope() { innermost_ = before; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  const Value* find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      if (!Work::spend(scope->names.size() * kOfName)) return nullptr;
      for (const auto& [known, value] : scope->names) {
        if (known == name) return &value;
      }
    }
    return nullptr;
  }

  void set(std::string_view name, const Value& value) {
    if (!Work::spend(names.size() * kOfName)) return;
    for (auto& [known, old] : names) {
      if (known == name) {
        old = value;
        return;
      }
    }
    names.emplace_back(name, value);
  }

  const uint64_t id;
  Scope* const outer;
  Scope* const before;  // the next older scope that lives
  std::vector<std::pair<std::string_view, Value>> names = {};

 private:
  Scope*& innermost_;
};

namespace {

class Interpreter {
 public:
  Interpreter(const Now& now, const Cancellation& cancellation)
      : now_(now), cancellation_(cancellation) {}

  Result<Text> run(const Node& block, const Dict& variables) {
    Scope scope = new_scope(nullptr);
    for (const auto& [name, value] : variables.entries) scope.set(name.as_bytes(), value);
    root_ = &scope;
    const Result<Flow> flow = run_block(block, scope, out_);
    root_ = nullptr;
    KINGLET_TRY(check_work());  // an error may come of it
    if (!flow.ok()) return flow.error();
    return std::move(out_);
  }

 private:
  // Adds the line to an error once: the line of the innermost statement or expression.
  Error at_line(const Node& node, Error error) {
    if (!has_line_ && error.code == ErrorCode::invalid_argument) {
      error.message = cat("line ", node.line, ": ", error.message);
    }
    has_line_ = true;
    return error;
  }

  static Error too_much(std::string_view what) {
    return {ErrorCode::out_of_memory, cat("the template ", what)};
  }

  Status count_step() {
    KINGLET_TRY(check_work());
    if (cancellation_.requested()) return Error{ErrorCode::cancelled, "cancelled"};
    if (++n_steps_ <= kMostSteps) return {};
    return too_much(cat("runs for more than ", kMostSteps, " steps"));
  }

  Status check_work() const {
    if (!work_.is_too_much()) return {};
    return too_much("reads or makes strings and lists that are too long");
  }

  // Counts a value that an operation is about to read.
  Status count_operand(const Value& value) {
    if (value.weight() <= kMostAtOnce) return count_work(value.weight());
    return too_much("iterates over strings and lists that are too long");
  }

  Status count_work(size_t n_bytes) {
    Work::spend(n_bytes);
    return check_work();
  }

  // Counts the work of finding an element of a text: counting characters, up to `last` if known.
  Status count_search(const Value& of, const Value& last = Value()) {
    if (!of.is(Kind::text)) return {};
    size_t n = of.as_text().size();
    if (last.is_whole() && last.as_integer() >= 0) {
      n = std::min(n, static_cast<size_t>(last.as_integer()));
    }
    return count_work(n * kOfCharacter);
  }

  // Counts a value that an operation has made.
  Status count_made(const Value& value) {
    const bool is_text = value.is(Kind::text);
    const size_t n_items = value.n_inside();
    Work::make(value.n_own_bytes());
    KINGLET_TRY(check_work());
    if (n_items > kMostItems || (is_text && value.as_text().is_full())) {
      return too_much("makes a string or a list that is too long");
    }
    if (value.depth() > kMaxValueDepth) return refusal("lists are nested too deeply");
    return is_text ? check_address(value.as_text()) : Status();
  }

  static Status check_address(const Text& text) {
    if (!text.has_address()) return {};
    return refusal(
        "a value that Python prints with its address, such as a function, is not supported as "
        "text");
  }

  Status check_depth() const {
    if (depth_ <= kMaxDepth) return {};
    return refusal("calls, brackets or blocks are nested too deeply");
  }

  Scope new_scope(Scope* outer) { return {innermost_, ++n_scopes_, outer}; }

  // --- Statements

  Result<Flow> run_block(const Node& block, Scope& scope, Text& out) {
    const Level level(depth_);
    KINGLET_TRY(check_depth());
    for (const std::string& name : block.names) scope.set(name, Value::undefined(in_quotes(name)));
    for (const NodePtr& child : block.children) {
      auto flow = run_statement(*child, scope, out);
      if (!flow.ok()) return at_line(*child, std::move(flow.error()));
      if (flow.value() != Flow::on) return flow;
    }
    return Flow::on;
  }

  Result<Flow> run_statement(const Node& node, Scope& scope, Text& out) {
    KINGLET_TRY(count_step());
    switch (node.kind) {
      case NodeKind::output: {
        KINGLET_ASSIGN(const Value value, evaluate(*node.children[0], scope));
        return print(value, out);
      }
      case NodeKind::block:
        return run_block(node, scope, out);
      case NodeKind::named_block: {
        // The block does not see what loops and macros have set, unless it is "scoped".
        Scope inner = new_scope(node.name == "scoped" ? &scope : root_);
        return run_block(*node.children[0], inner, out);
      }
      case NodeKind::branch:
        return run_branch(node, scope, out);
      case NodeKind::loop:
        return run_loop(node, scope, out);
      case NodeKind::assign: {
        KINGLET_ASSIGN(const Value value, evaluate(*node.children[1], scope));
        KINGLET_TRY(assign(*node.children[0], value, scope));
        return Flow::on;
      }
      case NodeKind::assign_block: {
        KINGLET_ASSIGN(const Value value,
                       text_of_block(*node.children[1], *node.children[2], scope));
        KINGLET_TRY(assign(*node.children[0], value, scope));
        return Flow::on;
      }
      case NodeKind::macro:
        scope.set(node.name, make_macro(node, scope));
        return Flow::on;
      case NodeKind::call_block: {
        const Value caller = make_macro(*node.children[1], scope);
        KINGLET_ASSIGN(const Value value, call(*node.children[0], scope, &caller));
        return print(value, out);
      }
      case NodeKind::filter_block: {
        KINGLET_ASSIGN(const Value value,
                       text_of_block(*node.children[0], *node.children[1], scope));
        if (!value.is(Kind::text))
          return refusal(cat("a filter block must make str, not ", value.type_name()));
        return print(value, out);
      }
      case NodeKind::with:
        return run_with(node, scope, out);
      case NodeKind::leave:
        return Flow::leave;
      case NodeKind::proceed:
        return Flow::proceed;
      default:
        return refusal("an expression stands alone");
    }
  }

  Result<Flow> print(const Value& value, Text& out) {
    KINGLET_TRY(count_operand(value));
    const Text printed = value.is(Kind::text) ? Text() : value.to_text();
    const Text& text = value.is(Kind::text) ? value.as_text() : printed;
    KINGLET_TRY(check_address(text));
    out.append(text);
    if (!out.is_full()) return Flow::on;
    return too_much(cat("writes more than ", Text::kMostBytes, " bytes"));
  }

  Result<Flow> run_branch(const Node& node, Scope& scope, Text& out) {
    KINGLET_ASSIGN(const Value condition, evaluate(*node.children[0], scope));
    if (condition.is_true()) return run_block(*node.children[1], scope, out);
    if (!node.children[2]) return Flow::on;
    // "elif" is a branch of its own.
    const Node& otherwise = *node.children[2];
    return otherwise.kind == NodeKind::branch ? run_branch(otherwise, scope, out)
                                              : run_block(otherwise, scope, out);
  }

  // Whether a loop's condition is true for a value, at this moment. `seen`: set to the value as the
  // variable `loop` shows it, which is a tuple if there are several targets.
  Result<bool> is_wanted(const Node& node, const Value& value, Scope& scope,
                         Value* seen = nullptr) {
    if (!node.children[2]) return true;
    Scope inner = new_scope(&scope);
    KINGLET_TRY(assign(*node.children[0], value, inner));
    if (seen != nullptr) {
      KINGLET_ASSIGN(*seen, evaluate(*node.children[0], inner));
    }
    KINGLET_ASSIGN(const Value condition, evaluate(*node.children[2], inner));
    return condition.is_true();
  }

  // `self`: the index of the loop's round.
  static Result<Value> cycle(const Value& self, Arguments& arguments) {
    const List& given = arguments.positional;
    if (given.empty()) return refusal("loop.cycle: expected values");
    return given[static_cast<size_t>(self.as_integer()) % given.size()];
  }

  // `self`: a namespace that keeps the arguments of the last call.
  static Result<Value> changed(const Value& self, Arguments& arguments) {
    const Value given = Value::tuple(arguments.positional);
    if (given.holds_space()) return refusal("loop.changed: a namespace cannot be compared");
    Dict& entries = Value(self).entries();
    const Value* last = entries.find("last");
    const bool is_same = last != nullptr && *last == given;
    entries.set(Value::text("last"), given);
    return Value::boolean(!is_same);
  }

  // `itself`: the loop, whose block runs for item `i` of the values. `depth0`: how many calls of
  // the loop are around it.
  static Value loop_variable(const List& values, size_t i, const Value& state, const Macro& itself,
                             int64_t depth0) {
    const auto n = static_cast<int64_t>(values.size());
    const auto index = static_cast<int64_t>(i);
    Dict loop;
    const auto set = [&](const char* name, const Value& value) {
      loop.set(Value::text(name), value);
    };
    set("index0", Value::integer(index));
    set("index", Value::integer(index + 1));
    set("revindex0", Value::integer(n - index - 1));
    set("revindex", Value::integer(n - index));
    set("first", Value::boolean(i == 0));
    set("last", Value::boolean(index + 1 == n));
    set("length", Value::integer(n));
    set("previtem", i > 0 ? values[i - 1] : Value::undefined("loop.previtem"));
    set("nextitem", index + 1 < n ? values[i + 1] : Value::undefined("loop.nextitem"));
    set("depth", Value::integer(depth0 + 1));
    set("depth0", Value::integer(depth0));
    set("changed", Value::function(changed, state));
    set("cycle", Value::function(cycle, Value::integer(index)));
    return Value::loop(std::move(loop), itself);
  }

  // Runs the block of a recursive loop for each of the values, as loop(values).
  Result<Value> run_again(const Value& loop, Arguments& arguments) {
    const Macro& itself = loop.as_macro();
    if (!itself.node->is_recursive)
      return refusal("loop() is called in a loop that is not recursive");
    const bool is_one = arguments.positional.size() == 1 && arguments.named.empty();
    if (!is_one) return refusal("loop() takes one argument: what to iterate over");
    KINGLET_TRY(check_lives(itself, "loop"));
    const int64_t depth = loop.entries().find("depth")->as_integer();
    Text text;
    KINGLET_TRY(run_loop_over(arguments.positional[0], *itself.node, *itself.scope, text, depth));
    return Value::text(std::move(text));
  }

  Result<Flow> run_loop(const Node& node, Scope& scope, Text& out) {
    KINGLET_ASSIGN(const Value iterated, evaluate(*node.children[1], scope));
    return run_loop_over(iterated, node, scope, out, 0);
  }

  Result<Flow> run_loop_over(const Value& iterated, const Node& node, Scope& scope, Text& out,
                             int64_t depth0) {
    KINGLET_ASSIGN(const Value through, elements(iterated));
    const List& values = through.items();
    const bool has_variable = !node.name.empty();
    // The variable `loop` shows values that are still to come, so filter them first.
    const bool looks_ahead = has_variable && node.children[2];
    List are_wanted;  // truth values
    List wanted;
    for (size_t i = 0; looks_ahead && i < values.size(); ++i) {
      Value seen;
      KINGLET_ASSIGN(const bool is_one, is_wanted(node, values[i], scope, &seen));
      are_wanted.push_back(Value::boolean(is_one));
      if (is_one) wanted.push_back(std::move(seen));
    }
    const Value state = Value::space({});
    size_t n_begun = 0;
    bool has_ended = false;  // a round reached its end; as in Jinja, not by break or continue
    for (size_t i = 0; i < values.size(); ++i) {
      KINGLET_TRY(count_step());
      KINGLET_ASSIGN(const bool is_one, is_wanted(node, values[i], scope));
      if (looks_ahead && is_one != are_wanted[i].is_true()) {
        return refusal("a loop whose condition depends on its own `loop` is not supported");
      }
      if (!is_one) continue;
      Scope inner = new_scope(&scope);
      KINGLET_TRY(assign(*node.children[0], values[i], inner));
      if (has_variable) {
        const Macro itself = {&node, &scope, scope.id};
        inner.set(node.name,
                  loop_variable(looks_ahead ? wanted : values, n_begun++, state, itself, depth0));
      }
      KINGLET_ASSIGN(const Flow flow, run_block(*node.children[3], inner, out));
      if (flow == Flow::leave) break;
      has_ended = has_ended || flow == Flow::on;
    }
    if (has_ended || !node.children[4]) return Flow::on;
    Scope inner = new_scope(&scope);
    return run_block(*node.children[4], inner, out);
  }

  Result<Flow> run_with(const Node& node, Scope& scope, Text& out) {
    KINGLET_ASSIGN(const Value values, evaluate(*node.children[1], scope));
    Scope inner = new_scope(&scope);
    KINGLET_TRY(assign(*node.children[0], values, inner));
    return run_block(*node.children[2], inner, out);
  }

  // Returns the block's text after the filters.
  Result<Value> text_of_block(const Node& block, const Node& filters, Scope& scope) {
    Scope inner = new_scope(&scope);
    Text text;
    KINGLET_TRY(run_block(block, inner, text));
    Work::make(text.size());
    inner.set(kBlockText, Value::text(std::move(text)));
    return evaluate(filters, inner);
  }

  Status assign(const Node& target, const Value& value, Scope& scope) {
    if (target.kind == NodeKind::name) {
      scope.set(target.name, value);
      return {};
    }
    if (target.kind == NodeKind::attribute) {
      KINGLET_ASSIGN(Value space, evaluate(*target.children[0], scope));
      if (!space.is(Kind::space) || space.is_loop()) {
        return refusal(cat("cannot set an attribute of ",
                           space.is_loop() ? "loop" : space.type_name(), ", only of a namespace"));
      }
      if (value.is(Kind::space) || value.holds_space()) {
        return refusal("a namespace cannot contain another one");
      }
      space.entries().set(Value::text(target.name), value);
      return {};
    }
    KINGLET_ASSIGN(const Value through, elements(value));
    const List& values = through.items();
    if (values.size() != target.children.size()) {
      return refusal(
          cat("cannot unpack ", values.size(), " values into ", target.children.size(), " names"));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      KINGLET_TRY(assign(*target.children[i], values[i], scope));
    }
    return {};
  }

  static Value make_macro(const Node& macro, Scope& scope) {
    return Value::macro({.node = &macro, .scope = &scope, .scope_id = scope.id});
  }

  static std::string name_of(const Node& macro) {
    return macro.name.empty() ? "the block of a call" : cat("macro ", in_quotes(macro.name));
  }

  // Checks that the block around a definition runs.
  Status check_lives(const Macro& definition, std::string_view name) const {
    const Scope* living = innermost_;
    while (living != nullptr && living->id != definition.scope_id) living = living->before;
    if (living != nullptr) return {};
    return refusal(cat(name, " is called outside of its block"));
  }

  // A macro sees the names around its definition, as they are when it is called. A namespace can
  // keep a macro until the block with these names has ended; such a call is refused.
  Result<Value> run_macro(const Macro& macro, Arguments& arguments) {
    KINGLET_TRY(check_lives(macro, name_of(*macro.node)));
    Scope inner = new_scope(macro.scope);
    KINGLET_TRY(bind_parameters(*macro.node, arguments, inner));
    Text text;
    KINGLET_TRY(run_block(*macro.node->children[0], inner, text));
    return Value::text(std::move(text));
  }

  Status bind_parameters(const Node& macro, Arguments& arguments, Scope& scope) {
    const size_t n = macro.names.size();
    const size_t n_required = n - (macro.children.size() - 1);
    List& given = arguments.positional;
    if (given.size() > n && !macro.takes_varargs) {
      return refusal(cat(name_of(macro), " takes ", n, " arguments, not ", given.size()));
    }
    for (size_t i = 0; i < n; ++i) {
      KINGLET_TRY(count_work(arguments.named.size() * kOfName));
      const std::string& name = macro.names[i];
      const auto named = std::find_if(arguments.named.begin(), arguments.named.end(),
                                      [&](const auto& argument) { return argument.first == name; });
      Value value = Value::undefined(cat("parameter ", in_quotes(name)));
      if (i < given.size()) {
        value = given[i];
      } else if (named != arguments.named.end()) {
        value = named->second;
        arguments.named.erase(named);
      } else if (i >= n_required) {
        KINGLET_ASSIGN(value, evaluate(*macro.children[1 + i - n_required], scope));
      }
      scope.set(name, value);
    }
    if (macro.takes_varargs) {
      const auto n_bound = static_cast<ptrdiff_t>(std::min(n, given.size()));
      scope.set("varargs", Value::tuple(List(given.begin() + n_bound, given.end())));
    }
    return bind_others(macro, arguments, scope);
  }

  // Binds the named arguments that are not parameters.
  static Status bind_others(const Node& macro, const Arguments& arguments, Scope& scope) {
    const auto& names = macro.names;
    const bool sets_caller =
        macro.takes_caller && std::find(names.begin(), names.end(), "caller") == names.end();
    if (sets_caller) scope.set("caller", Value::undefined("caller"));
    Dict others;
    for (const auto& [name, value] : arguments.named) {
      if (sets_caller && name == "caller") {
        scope.set("caller", value);
      } else if (macro.takes_kwargs) {
        others.set(Value::text(name), value);
      } else {
        return refusal(cat(name_of(macro), " has no parameter ", in_quotes(name)));
      }
    }
    if (macro.takes_kwargs) scope.set("kwargs", Value::dict(std::move(others)));
    return {};
  }

  // --- Expressions

  Result<Value> evaluate(const Node& node, Scope& scope) {
    const Level level(depth_);
    KINGLET_TRY(check_depth());
    KINGLET_TRY(count_step());
    auto value = evaluate_kind(node, scope);
    if (!value.ok()) return at_line(node, std::move(value.error()));
    if (makes_value(node.kind)) {
      Status status = count_made(value.value());
      if (!status.ok()) return at_line(node, std::move(status.error()));
    }
    return value;
  }

  static bool makes_value(NodeKind kind) {
    switch (kind) {
      case NodeKind::list:
      case NodeKind::tuple:
      case NodeKind::dict:
      case NodeKind::slice:
      case NodeKind::call:
      case NodeKind::filter:
      case NodeKind::operation:
      case NodeKind::concat:
        return true;
      default:
        return false;
    }
  }

  Result<Value> evaluate_kind(const Node& node, Scope& scope) {
    const auto child = [&](size_t i) { return evaluate(*node.children[i], scope); };
    switch (node.kind) {
      case NodeKind::literal:
        return node.value;
      case NodeKind::name:
        return look_up(node.name, scope);
      case NodeKind::list:
      case NodeKind::tuple: {
        List items;
        for (size_t i = 0; i < node.children.size(); ++i) {
          KINGLET_ASSIGN(Value item, child(i));
          items.push_back(std::move(item));
        }
        return node.kind == NodeKind::list ? Value::list(std::move(items))
                                           : Value::tuple(std::move(items));
      }
      case NodeKind::dict: {
        Dict dict;
        for (size_t i = 0; i < node.children.size(); i += 2) {
          KINGLET_ASSIGN(const Value key, child(i));
          KINGLET_ASSIGN(const Value value, child(i + 1));
          KINGLET_TRY(check_key(key));
          dict.set(key, value);
        }
        return Value::dict(std::move(dict));
      }
      case NodeKind::attribute: {
        KINGLET_ASSIGN(const Value of, child(0));
        return attribute(of, node.name);
      }
      case NodeKind::subscript: {
        KINGLET_ASSIGN(const Value of, child(0));
        KINGLET_ASSIGN(const Value index, child(1));
        KINGLET_TRY(count_search(of, index));
        KINGLET_TRY(count_operand(index));
        return element(of, index);
      }
      case NodeKind::slice:
        return slice(node, scope);
      case NodeKind::call:
        return call(node, scope, nullptr);
      case NodeKind::filter: {
        KINGLET_ASSIGN(Arguments arguments, arguments_of(node, 0, scope));
        const Filter* filter = find_filter(node.name);
        if (filter == nullptr)
          return refusal(cat("filter ", in_quotes(node.name), " is not supported"));
        return (*filter)(arguments);
      }
      case NodeKind::test: {
        KINGLET_ASSIGN(const Arguments arguments, arguments_of(node, 0, scope));
        const Test test = find_test(node.name);
        if (test == nullptr)
          return refusal(cat("test ", in_quotes(node.name), " is not supported"));
        spend_on_texts(arguments.positional);
        KINGLET_ASSIGN(const bool holds, test(arguments.positional));
        return Value::boolean(holds);
      }
      case NodeKind::negate: {
        KINGLET_ASSIGN(const Value value, child(0));
        return Value::boolean(!value.is_true());
      }
      case NodeKind::minus:
      case NodeKind::plus: {
        KINGLET_ASSIGN(const Value value, child(0));
        return node.kind == NodeKind::minus ? negated(value) : add(Value::integer(0), value);
      }
      case NodeKind::both:
      case NodeKind::either: {
        KINGLET_ASSIGN(Value first, child(0));
        return first.is_true() == (node.kind == NodeKind::both) ? child(1) : first;
      }
      case NodeKind::condition: {
        KINGLET_ASSIGN(const Value condition, child(1));
        if (condition.is_true()) return child(0);
        return node.children[2] ? child(2) : Value::undefined("result of a condition without else");
      }
      case NodeKind::operation: {
        KINGLET_ASSIGN(const Value a, child(0));
        KINGLET_ASSIGN(const Value b, child(1));
        KINGLET_TRY(count_operand(a));
        KINGLET_TRY(count_operand(b));
        return operate(node.name, a, b);
      }
      case NodeKind::concat: {
        Text text;
        for (size_t i = 0; i < node.children.size(); ++i) {
          KINGLET_ASSIGN(const Value part, child(i));
          KINGLET_TRY(count_operand(part));
          text.append(part.to_text());
        }
        return Value::text(std::move(text));
      }
      case NodeKind::comparisons:
        return compare_all(node, scope);
      default:
        return refusal("a statement stands in an expression");
    }
  }

  Result<Value> look_up(const std::string& name, Scope& scope) const {
    if (const Value* found = scope.find(name)) return *found;
    return find_global(name, now_);
  }

  Result<Value> compare_all(const Node& node, Scope& scope) {
    KINGLET_ASSIGN(Value left, evaluate(*node.children[0], scope));
    for (size_t i = 0; i < node.names.size(); ++i) {
      KINGLET_ASSIGN(Value right, evaluate(*node.children[i + 1], scope));
      KINGLET_TRY(count_operand(right));
      const std::string& sign = node.names[i];
      bool holds = false;
      if (sign == "==" || sign == "!=") {
        KINGLET_TRY(check_equality(left, right));
        holds = (left == right) == (sign == "==");
      } else if (sign == "in" || sign == "not in") {
        KINGLET_ASSIGN(const bool is_in, contains(right, left));
        holds = is_in == (sign == "in");
      } else {
        KINGLET_ASSIGN(const int order, compare(left, right));
        holds = sign == "<"    ? order < 0
                : sign == "<=" ? order <= 0
                : sign == ">"  ? order == 1
                               : order == 0 || order == 1;
      }
      if (!holds) return Value::boolean(false);
      left = std::move(right);
    }
    return Value::boolean(true);
  }

  Result<Value> slice(const Node& node, Scope& scope) {
    KINGLET_ASSIGN(const Value of, evaluate(*node.children[0], scope));
    Slice slice;
    std::optional<int64_t>* const bounds[] = {&slice.begin, &slice.end, &slice.step};
    for (size_t i = 0; i < 3; ++i) {
      if (!node.children[i + 1]) continue;
      KINGLET_ASSIGN(const Value bound, evaluate(*node.children[i + 1], scope));
      if (bound.is(Kind::none)) continue;
      if (!bound.is_whole())
        return refusal(cat("the bounds of a slice must be int, not ", bound.type_name()));
      *bounds[i] = bound.as_integer();
    }
    KINGLET_TRY(count_search(of));
    return cut(of, slice);
  }

  static Status add_name(const std::string& name, const Value& value, Arguments& arguments) {
    if (!Work::spend(arguments.named.size() * kOfName)) return {};
    for (const auto& [known, other] : arguments.named) {
      if (known == name) return refusal(cat("argument ", in_quotes(name), " is given twice"));
    }
    arguments.named.emplace_back(name, value);
    return {};
  }

  // Adds the entries of a dict as named arguments.
  static Status spread_names(const Value& dict, Arguments& arguments) {
    constexpr size_t kMostNames = 1000;  // every name is compared with all others
    if (!dict.is(Kind::dict)) return refusal(cat("** takes a dict, not ", dict.type_name()));
    const auto& entries = dict.entries().entries;
    if (entries.size() > kMostNames)
      return refusal(cat("more than ", kMostNames, " arguments are not supported"));
    for (const auto& [name, value] : entries) {
      if (!name.is(Kind::text)) return refusal("** takes a dict whose keys are str");
      KINGLET_TRY(add_name(name.as_bytes(), value, arguments));
    }
    return {};
  }

  Result<Arguments> arguments_of(const Node& node, size_t first, Scope& scope) {
    Arguments arguments;
    for (size_t i = first; i < node.children.size(); ++i) {
      const Node& child = *node.children[i];
      const bool is_spread = child.kind == NodeKind::spread;
      KINGLET_ASSIGN(Value value, evaluate(is_spread ? *child.children[0] : child, scope));
      KINGLET_TRY(count_operand(value));
      if (is_spread) {
        KINGLET_ASSIGN(const Value through, elements(value));
        arguments.positional.insert(arguments.positional.end(), through.items().begin(),
                                    through.items().end());
      } else {
        arguments.positional.push_back(std::move(value));
      }
    }
    for (const auto& [name, child] : node.named) {
      KINGLET_ASSIGN(const Value value, evaluate(*child, scope));
      KINGLET_TRY(count_operand(value));
      KINGLET_TRY(name.empty() ? spread_names(value, arguments) : add_name(name, value, arguments));
    }
    return arguments;
  }

  Result<Value> call(const Node& node, Scope& scope, const Value* caller) {
    KINGLET_ASSIGN(const Value function, evaluate(*node.children[0], scope));
    if (!function.is(Kind::function) && !function.is(Kind::macro) && !function.is_loop()) {
      return refusal(cat(function.type_name(), " cannot be called"));
    }
    KINGLET_TRY(count_operand(function));
    KINGLET_ASSIGN(Arguments arguments, arguments_of(node, 1, scope));
    if (caller != nullptr) KINGLET_TRY(add_name("caller", *caller, arguments));
    if (function.is(Kind::macro)) return run_macro(function.as_macro(), arguments);
    if (function.is_loop()) return run_again(function, arguments);
    return function.call(arguments);
  }

  const Now& now_;
  const Cancellation& cancellation_;
  Text out_;
  Scope* root_ = nullptr;
  Scope* innermost_ = nullptr;
  uint64_t n_scopes_ = 0;
  size_t n_steps_ = 0;
  Work work_;
  int depth_ = 0;
  bool has_line_ = false;
};

}  // namespace

Result<Text> run(const Node& block, const Dict& variables, const Now& now,
                 const Cancellation& cancellation) {
  return Interpreter(now, cancellation).run(block, variables);
}

}  // namespace kinglet::jinja
