// Programs in the language of chat templates. Nearly all random texts are syntax errors (see
// chat_template.cpp), so here the input only chooses among the rules of a grammar: every program
// can be parsed, and most run to their end. They keep the limits of jinja/interpreter.h.
#include <iterator>
#include <string>
#include <string_view>

#include "base/format.h"
#include "fuzz/input.h"
#include "json/json.h"
#include "text/jinja/json.h"
#include "text/jinja/template.h"

namespace kinglet::fuzz {
namespace {

// The variables of the programs. Their names tell the type: n is a number, s a text, l a list, d a
// dict, x any value. A program sets them only to values of the same type, or nearly always.
constexpr std::string_view kVariables = R"({
  "messages": [
    {"role": "system", "content": "Be good.\n"},
    {"role": "user", "content": "Hi {{ s }} <|im_end|> é 'q' \"d\" <b>&amp;</b>"},
    {"role": "assistant", "content": "  ok \n", "tool_calls": [{"function": {"name": "f",
      "arguments": {"a": 1, "b": [1.5, null, true, "ü"]}}}]}
  ],
  "n": 7, "s": "Ab c,\td\né1", "l": [3, 1, 2, 1], "d": {"b": 1, "a": "x", "c": [null]}, "x": null
})";

constexpr std::string_view kNumbers[] = {
    "0",      "1",       "2",       "3",
    "-1",     "10",      "100",     "1000",
    "65536",  "1048576", "1000000", "9223372036854775807",
    "1.5",    "0.1",     "1e300",   "123456789012345678901234567890",
    "-2.5e-7"};
constexpr std::string_view kTexts[] = {"''",
                                       "'a'",
                                       "' a b '",
                                       "'\\n'",
                                       "'é'",
                                       "'Aß Σ'",
                                       "'x,y,,z'",
                                       "'%s %5d'",
                                       "'{}'",
                                       "'{0:>9}'",
                                       "'<&\"\\'>'",
                                       "'12'",
                                       "'-1.5e3'",
                                       "'role'",
                                       "'content'",
                                       "'a.0'",
                                       "'%Y-%m-%d'",
                                       "'\\x00'",
                                       "'https://a.b/c d?e'",
                                       "'\\U0001F600'"};
constexpr std::string_view kTextMethods[] = {"strip()",
                                             "lstrip('a ')",
                                             "rstrip()",
                                             "upper()",
                                             "lower()",
                                             "title()",
                                             "capitalize()",
                                             "replace('a', s)",
                                             "zfill(n)",
                                             "ljust(n, '.')",
                                             "center(9)",
                                             "casefold()",
                                             "removeprefix('A')",
                                             "rjust(20)",
                                             "removesuffix(s)",
                                             "join(['1'])",
                                             "format(n, s, a=x)",
                                             "replace('', s, n)",
                                             "expandtabs(n)",
                                             "strip(s)",
                                             "lstrip(s ~ 'é')",
                                             "rstrip(s)",
                                             "partition(s)[2]",
                                             "rsplit('a', n)[0]",
                                             "center(n, 'é')",
                                             "swapcase()",
                                             "splitlines(true)[0]",
                                             "rfind(s) ~ s.count('')"};
constexpr std::string_view kTextFilters[] = {"trim",
                                             "upper",
                                             "lower",
                                             "title",
                                             "capitalize",
                                             "escape",
                                             "safe",
                                             "string",
                                             "forceescape",
                                             "urlencode",
                                             "pprint",
                                             "indent(n)",
                                             "center(n)",
                                             "truncate(n)",
                                             "replace('a', s)",
                                             "reverse",
                                             "indent(2, true, true)",
                                             "format(n, s)",
                                             "truncate(9, true, s, 0)",
                                             "wordwrap(n)",
                                             "wordwrap(5, false, s)",
                                             "wordwrap(3, true, s, false)",
                                             "striptags",
                                             "trim(s)"};
constexpr std::string_view kListFilters[] = {"list",
                                             "sort",
                                             "unique|list",
                                             "reverse|list",
                                             "sort(reverse=true)",
                                             "batch(2)|list",
                                             "slice(3, x)|list",
                                             "batch(n, x)|list",
                                             "map('string')|list",
                                             "select|list",
                                             "reject('none')|list",
                                             "map(attribute='role')|list",
                                             "map(attribute=s, default=x)|list",
                                             "selectattr('content')|list",
                                             "rejectattr('role', 'equalto', s)|list",
                                             "groupby('role')",
                                             "map('batch', n, x)|list",
                                             "map('center', n)|list",
                                             "sort(attribute='role,content')",
                                             "map('list')|list",
                                             "select('eq', x)|list",
                                             "groupby('a', default=n)"};
constexpr std::string_view kNumberFilters[] = {
    "length",    "count", "int", "float", "int(n, 16)",        "int(x, n)",    "int(base=0)",
    "wordcount", "sum",   "abs", "round", "round(2, 'floor')", "sum(start=n)", "sum('a')"};
constexpr std::string_view kAnyFilters[] = {"first",
                                            "last",
                                            "min",
                                            "max",
                                            "default(x)",
                                            "default(s, true)",
                                            "tojson|length",
                                            "items|list",
                                            "attr('role')",
                                            "max(attribute='a')",
                                            "d",
                                            "min(case_sensitive=true)"};
constexpr std::string_view kTests[] = {
    "defined",  "undefined",   "none",   "boolean", "integer", "float",         "string",
    "mapping",  "callable",    "number", "filter",  "test",    "escaped",       "iterable",
    "sequence", "true",        "false",  "odd",     "even",    "divisibleby 3", "in l",
    "eq n",     "sameas none", "ne s",   "lt 3",    "ge n",    "upper",         "lower"};
constexpr std::string_view kComparisons[] = {"==", "!=", "<", "<=", ">", ">="};
constexpr std::string_view kOperators[] = {"+", "-", "*", "//", "%", "/", "**"};
constexpr std::string_view kMarks[] = {"", "-", "+"};

class Program {
 public:
  explicit Program(Input& input) : input_(input) {}

  std::string write() {
    do {
      statement();
    } while (!input_.empty() && !is_long());
    return std::move(text_);
  }

 private:
  static constexpr int kMostInside = 7;  // blocks and expressions in each other
  static constexpr size_t kMostBytes = 4096;

  enum class Type : uint8_t { number, text, list, dict, truth, any };
  static constexpr uint32_t kNTypes = 6;

  bool is_long() const { return text_.size() > kMostBytes; }
  // Whether to write only what has nothing inside.
  bool must_end() const { return inside_ >= kMostInside || is_long() || input_.empty(); }
  // Chooses one of `n` rules. The first one has nothing inside.
  uint32_t rule(uint32_t n) { return must_end() ? 0 : input_.up_to(n - 1); }

  template <class... Parts>
  void add(const Parts&... parts) {
    (text_.append(parts), ...);
  }
  template <size_t n>
  void add_one_of(const std::string_view (&words)[n]) {
    add(words[input_.up_to(n - 1)]);
  }

  // --- Statements

  template <class... Parts>
  void tag(const Parts&... parts) {
    add("{%");
    add_one_of(kMarks);
    add(" ", parts...);
    end_tag();
  }
  void end_tag() {
    add(" ");
    add_one_of(kMarks);
    add("%}");
  }
  void begin_tag(std::string_view name) {
    add("{%");
    add_one_of(kMarks);
    add(" ", name, " ");
  }

  // A block that break and continue do not leave.
  void closed_block() {
    const int n_outer = std::exchange(n_loops_, 0);
    block();
    n_loops_ = n_outer;
  }
  void block() {
    ++inside_;
    for (uint32_t n = input_.up_to(3); n > 0; --n) statement();
    --inside_;
  }

  void statement() {
    switch (rule(15)) {
      case 0:
        return add(input_.flag() ? " text\n" : "\n  é");
      case 1:
        return write_if();
      case 2:
        return write_for();
      case 3:
        return write_set();
      case 4:
        begin_tag("set s");
        if (input_.flag()) text_filters();
        end_tag();
        closed_block();
        return tag("endset");
      case 5:
        return write_macro();
      case 6:
        begin_tag("call");
        if (input_.flag()) add("(s, x=1) ");
        macro_call();
        end_tag();
        closed_block();
        return tag("endcall");
      case 7:
        begin_tag("filter");
        add_one_of(kTextFilters);
        end_tag();
        closed_block();
        return tag("endfilter");
      case 8:
        begin_tag("with s =");
        expression(Type::text);
        add(", x = ");
        expression(any_type());
        end_tag();
        closed_block();
        return tag("endwith");
      case 9: {
        const std::string name = cat("block", n_blocks_++);
        tag("block ", name, input_.flag() ? " scoped" : "");
        closed_block();
        return tag("endblock");
      }
      case 10:
        tag("generation");
        closed_block();
        return tag("endgeneration");
      case 11:
        if (n_loops_ > 0) return tag(input_.flag() ? "break" : "continue");
        return add("{# a comment #}");
      case 12:
        tag("raw");
        add("{{ no tag }}");
        return tag("endraw");
      default:
        add("{{");
        add_one_of(kMarks);
        add(" ");
        expression(any_type());
        add(" ");
        add_one_of(kMarks);
        return add("}}");
    }
  }

  void write_if() {
    begin_tag("if");
    expression(Type::truth);
    end_tag();
    block();
    for (uint32_t n = input_.up_to(2); n > 1; --n) {
      begin_tag("elif");
      expression(Type::truth);
      end_tag();
      block();
    }
    if (input_.flag()) {
      tag("else");
      block();
    }
    tag("endif");
  }

  void write_for() {
    switch (input_.up_to(3)) {
      case 0:
        begin_tag("for m in messages");
        break;
      case 1:
        begin_tag("for s, x in");
        expression(Type::dict);
        add(".items()");
        break;
      case 2:
        begin_tag("for n in");
        add("range(n)");
        break;
      default:
        begin_tag("for x in");
        expression(Type::list);
    }
    if (input_.flag()) {
      add(" if ");
      expression(Type::truth);
    }
    end_tag();
    ++n_loops_;
    block();
    --n_loops_;
    if (input_.flag()) {
      tag("else");
      closed_block();
    }
    tag("endfor");
  }

  void write_set() {
    const Type type = any_type();
    begin_tag("set");
    switch (input_.up_to(2)) {
      case 0:
        add("x, ", variable(type), " = n, ");
        expression(type);
        break;
      case 1:
        add("space = namespace(x=n, s=s)");
        end_tag();
        begin_tag("set");
        add("space.x = ");
        expression(type);
        break;
      default:
        add(variable(type), " = ");
        expression(type);
    }
    end_tag();
  }

  void write_macro() {
    begin_tag("macro");
    add(input_.flag() ? "f" : "g", "(s, x=");
    expression(any_type());
    add(")");
    end_tag();
    closed_block();
    if (input_.flag()) add("{{ [varargs, kwargs] }}");
    if (input_.flag()) add("{{ caller(s) if caller }}");
    tag("endmacro");
  }

  // --- Expressions

  Type any_type() { return static_cast<Type>(input_.up_to(kNTypes - 1)); }

  static std::string_view variable(Type type) {
    switch (type) {
      case Type::number:
        return "n";
      case Type::text:
        return "s";
      case Type::list:
        return "l";
      case Type::dict:
        return "d";
      default:
        return "x";
    }
  }

  // An expression in brackets, so that it can stand anywhere.
  void expression(Type type) {
    constexpr uint32_t kOneInSoMany = 16;
    if (input_.up_to(kOneInSoMany - 1) == 1) type = Type::any;
    ++inside_;
    add("(");
    if (!must_end() && input_.up_to(9) == 1) {
      expression(type);
      add(" if ");
      expression(Type::truth);
      add(" else ");
    }
    switch (type) {
      case Type::number:
        number();
        break;
      case Type::text:
        text();
        break;
      case Type::list:
        list();
        break;
      case Type::dict:
        dict();
        break;
      case Type::truth:
        truth();
        break;
      case Type::any:
        any();
        break;
    }
    add(")");
    --inside_;
  }

  void number() {
    switch (rule(7)) {
      case 0:
        return add_one_of(kNumbers);
      case 1:
        return add("n");
      case 2:
        add(input_.flag() ? "-" : "+");
        return expression(Type::number);
      case 3:
        return add(n_loops_ > 0 ? "loop.index" : "loop.index if loop else n");
      case 4:
        expression(Type::text);
        return add(input_.flag() ? ".count(s)" : ".find('a', n)");
      case 5:
        expression(any_type());
        add("|");
        return add_one_of(kNumberFilters);
      default:
        expression(Type::number);
        add(" ");
        add_one_of(kOperators);
        add(" ");
        return expression(Type::number);
    }
  }

  void text_filters() {
    for (uint32_t n = 1 + input_.up_to(1); n > 0; --n) {
      add("|");
      add_one_of(kTextFilters);
    }
  }

  void text() {
    switch (rule(11)) {
      case 0:
        return add_one_of(kTexts);
      case 1:
        return add("s");
      case 2:
        expression(any_type());
        add(" ~ ");
        return expression(any_type());
      case 3:
        expression(Type::text);
        add(".");
        return add_one_of(kTextMethods);
      case 4:
        expression(any_type());
        return text_filters();
      case 5:
        expression(Type::text);
        return slice();
      case 6:
        expression(Type::text);
        add(input_.flag() ? " * " : " % ");
        return expression(Type::number);
      case 7:
        expression(Type::text);
        add(" + ");
        return expression(Type::text);
      case 8:
        expression(Type::list);
        add("|join(");
        expression(Type::text);
        return add(")");
      case 9:
        expression(any_type());
        return add(input_.flag() ? "|tojson" : "|tojson(indent=n, sort_keys=true)");
      default:
        return input_.flag() ? macro_call() : add("m.content or messages[-1].content");
    }
  }

  void list() {
    switch (rule(10)) {
      case 0:
        return add("[]");
      case 1:
        return add(input_.flag() ? "l" : "messages");
      case 2: {
        const bool is_tuple = input_.flag();
        add(is_tuple ? "(" : "[");
        for (uint32_t n = input_.up_to(3); n > 0; --n) {
          expression(any_type());
          add(", ");
        }
        return add(is_tuple ? "n, )" : "]");
      }
      case 3:
        add("range(");
        for (uint32_t n = input_.up_to(2); n > 0; --n) {
          expression(Type::number);
          add(", ");
        }
        expression(Type::number);
        return add(")");
      case 4:
        expression(Type::list);
        add("|");
        return add_one_of(kListFilters);
      case 5:
        expression(Type::list);
        return slice();
      case 6:
        expression(Type::list);
        add(" + ");
        return expression(Type::list);
      case 7:
        expression(Type::list);
        add(" * ");
        return expression(Type::number);
      case 8:
        expression(Type::text);
        return add(input_.flag() ? ".split(',')" : ".splitlines()");
      default:
        expression(Type::dict);
        return add(input_.flag() ? "|dictsort" : ".values()|list");
    }
  }

  void slice() {
    add("[");
    for (int i = 0; i < 3; ++i) {
      if (input_.flag()) expression(Type::number);
      if (i < 2) add(":");
    }
    add("]");
  }

  void dict() {
    switch (rule(4)) {
      case 0:
        return add("{}");
      case 1:
        return add(input_.flag() ? "d" : "messages[n % 3]");
      case 2:
        add("dict(d, a=");
        expression(any_type());
        return add(")");
      default:
        add("{");
        for (uint32_t n = input_.up_to(3); n > 0; --n) {
          expression(input_.flag() ? Type::text : Type::number);
          add(": ");
          expression(any_type());
          add(", ");
        }
        add("}");
    }
  }

  void truth() {
    switch (rule(8)) {
      case 0:
        return add(input_.flag() ? "true" : "false");
      case 1:
        expression(any_type());
        add(input_.flag() ? " is " : " is not ");
        return add_one_of(kTests);
      case 2: {
        const Type type = any_type();
        expression(type);
        for (uint32_t n = 1 + input_.up_to(1); n > 0; --n) {
          add(" ");
          add_one_of(kComparisons);
          add(" ");
          expression(type);
        }
        return;
      }
      case 3:
        expression(Type::text);
        add(input_.flag() ? " in " : " not in ");
        return expression(input_.flag() ? Type::text : Type::list);
      case 4:
        add("not ");
        return expression(any_type());
      case 5:
        expression(Type::text);
        return add(input_.flag() ? ".startswith(s)" : ".isalnum()");
      case 6:
        return add(n_loops_ > 0 && input_.flag() ? "loop.changed(x)" : "loop.first");
      default:
        expression(Type::truth);
        add(input_.flag() ? " and " : " or ");
        return expression(Type::truth);
    }
  }

  // A value whose type is not known.
  void any() {
    switch (rule(12)) {
      case 0:
        return add("none");
      case 1:
        return add(input_.flag() ? "x" : "missing");
      case 2:
        expression(Type::list);
        add("|");
        return add_one_of(kAnyFilters);
      case 3:
        expression(Type::list);
        add("[");
        expression(Type::number);
        return add("]");
      case 4:
        expression(Type::dict);
        add("[");
        expression(Type::text);
        return add("]");
      case 5:
        expression(Type::dict);
        add(".get(s, ");
        expression(any_type());
        return add(")");
      case 6:
        return add(input_.flag() ? "space" : "space.x");
      case 7:
        return add(input_.flag() ? "caller()" : "f");
      case 8:
        return add(input_.flag() ? "joiner(s)" : "strftime_now('%Y %j')");
      case 9:
        return add("loop.cycle(s, n)");
      case 10:
        expression(any_type());
        return add(".role");
      default:
        return macro_call();
    }
  }

  void macro_call() {
    add(input_.flag() ? "f" : "g", "(");
    expression(Type::text);
    if (input_.flag()) {
      add(", *");
      expression(Type::list);
    }
    if (input_.flag()) {
      add(", **");
      expression(Type::dict);
    }
    add(")");
  }

  Input& input_;
  std::string text_;
  int inside_ = 0;
  int n_loops_ = 0;
  int n_blocks_ = 0;
};

// Returns the text that a program makes, or the error's message.
std::string run(const jinja::Template& program, const jinja::Dict& variables) {
  const auto text = program.render(variables, jinja::Now{});
  if (!text.ok()) {
    const Error& error = text.error();
    check(error.code == ErrorCode::invalid_argument || error.code == ErrorCode::out_of_memory,
          "an unexpected error");
    check(!error.message.empty(), "an error without words");
    return error.message;
  }
  size_t end = 0;
  for (const TextRange& range : text.value().said()) {
    check(end <= range.begin && range.begin < range.end && range.end <= text.value().size(),
          "a range out of order");
    end = range.end;
  }
  return text.value().bytes();
}

}  // namespace

void jinja_program(Bytes bytes) {
  static const jinja::Value variables = jinja::value_of(parse_json(kVariables).value());
  Input input(bytes);
  const std::string source = Program(input).write();
  const auto program = jinja::Template::parse(source);
  if (!program.ok()) return report(cat(program.error().message, " in the program ", source));
  // A program cannot change its variables, so it does the same again.
  const std::string first = run(program.value(), variables.entries());
  check(first == run(program.value(), variables.entries()), "a program acts differently again");
}

}  // namespace kinglet::fuzz
