// The values of a template's expressions, as in Python.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/jinja/text.h"

namespace kinglet::jinja {

class Value;
struct Node;
struct Scope;

using List = std::vector<Value>;

// The most items of a list that a template makes.
constexpr size_t kMostItems = size_t{1} << 20;

// In the order of insertion.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;

  const Value* find(const Value& key) const;  // null if there is no such key
  const Value* find(std::string_view key) const;
  void set(const Value& key, const Value& value);
};

struct Arguments {
  Arguments();
  Arguments(List positional, std::vector<std::pair<std::string, Value>> named);
  Arguments(const Arguments& other) = delete;
  Arguments(Arguments&& other) noexcept;
  Arguments& operator=(const Arguments& other) = delete;
  Arguments& operator=(Arguments&& other) noexcept;
  ~Arguments();

  List positional;
  std::vector<std::pair<std::string, Value>> named;
};

// `self`: the value that a method belongs to, or data that the function was made with.
using Function = Result<Value> (*)(const Value& self, Arguments& arguments);
using Getter = Result<Value> (*)(const Value& self);  // takes no arguments

// A block of the template that can be called, and the scope of its definition: of a macro or a
// loop.
struct Macro {
  const Node* node = nullptr;
  Scope* scope = nullptr;
  uint64_t scope_id = 0;
};

struct Range {
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
};

enum class Kind : uint8_t {
  undefined,  // a name or an attribute that does not exist
  none,
  boolean,
  integer,
  long_integer,  // of more than 64 bits: only its digits are known; arithmetic refuses it
  real,
  text,
  list,
  tuple,
  range,  // of whole numbers
  dict,
  view,       // d.items() and the like: can be iterated again and again, but has no positions
  generator,  // the result of some filters: can be iterated only once, and is always true
  space,      // namespace(): a dict whose entries a template may set
  function,
  macro,
  failure,  // the error of a Result
};

class Value {
 public:
  Value() = default;
  // Defined in value.cpp: inlined everywhere, they would take much code.
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  // `what` names the undefined thing in error messages.
  static Value undefined(std::string_view what);
  static Value none();
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value whole(std::string_view digits);  // of any length; a sign may be in front
  static Value real(double value);
  static Value text(Text value);
  static Value text(std::string_view bytes, bool is_said = false);
  // A text that is escaped for HTML, or needs no escaping. Text that is joined with it is escaped.
  static Value markup(Text value);
  static Value list(List items);
  static Value view(std::string_view name, List items);  // `name` is Python's name of the type
  static Value range(const Range& range);                // at most kMostItems numbers
  static Value generator(List items);
  static Value tuple(List items);
  // A tuple whose elements are also its attributes `grouper` and `list`.
  static Value group(const Value& grouper, const Value& items);
  static Value dict(Dict entries);
  static Value space(Dict entries);
  // The variable `loop`, which can be called: see as_macro().
  static Value loop(Dict entries, const Macro& itself);
  static Value function(Function function, const Value& self);
  static Value getter(Getter getter, const Value& self);
  static Value macro(const Macro& macro);
  static Value failure(Error&& error);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_undefined() const { return is(Kind::undefined); }
  bool is_number() const { return is(Kind::boolean) || is(Kind::integer) || is(Kind::real); }
  bool is_whole() const { return is(Kind::boolean) || is(Kind::integer); }
  bool is_sequence() const { return is(Kind::list) || is(Kind::tuple); }
  bool has_places() const { return is_sequence() || is(Kind::range); }
  bool has_items() const { return has_places() || is(Kind::view) || is(Kind::generator); }
  bool is_markup() const { return content_ && content_->is_markup; }

  // Each of these is for values of the kind in its name, or of the kind in its comment.
  bool as_boolean() const { return integer_ != 0; }
  int64_t as_integer() const { return integer_; }  // of is_whole()
  double as_real() const;                          // of is_number()
  const Text& as_text() const { return content_->text; }
  const std::string& as_bytes() const { return as_text().bytes(); }
  const List& items() const { return content_->items; }
  const Dict& entries() const { return content_->entries; }
  Dict& entries() { return content_->entries; }
  const Range& as_range() const { return content_->range; }
  List take_items() const;                         // of a generator, which is empty afterwards
  Result<Value> call(Arguments& arguments) const;  // of a function
  const Macro& as_macro() const { return content_->macro; }  // of a macro, or a loop
  bool is_loop() const { return is(Kind::space) && content_->macro.node != nullptr; }
  Error& as_error() const { return content_->error; }

  // How deep lists and the like are nested.
  size_t depth() const { return content_ ? content_->depth : 0; }
  // About how many bytes an operation reads that looks at all of the value.
  size_t weight() const { return content_ ? content_->weight : 0; }
  // The number of items or entries.
  size_t n_inside() const;
  // About how many bytes the value itself takes, without the values in it.
  size_t n_own_bytes() const;
  bool holds_space() const { return content_ && content_->holds_space; }

  // Python's truth value.
  bool is_true() const;

  // Returns `text`, as markup if this value is markup.
  Value with_text(Text text) const;

  // Returns Python's name of the type; for an undefined value, says what is undefined.
  std::string type_name() const;

  // str(): what {{ }} prints; repr(), as lists print their elements.
  Text to_text() const;
  Text to_repr() const;

 private:
  // The data of kinds that are not numbers. Copies share it; once shared, it changes only in
  // namespaces and generators.
  struct Content {
    Text text = {};   // for a view: its type; for a long integer: its digits
    List items = {};  // for a function: its self
    Dict entries = {};
    Range range = {};
    Function function = nullptr;
    Getter getter = nullptr;
    Macro macro = {};
    Error error = {};
    size_t depth = 0;
    size_t weight = 0;
    bool holds_space = false;
    bool is_markup = false;

    void count(const Value& value);
  };

  Value(Kind kind, Content content);

  Kind kind_ = Kind::undefined;
  int64_t integer_ = 0;
  double real_ = 0;
  std::shared_ptr<Content> content_;
};

}  // namespace kinglet::jinja

namespace kinglet {

// Like any Result, but with a quarter of the code: most functions of templates return one.
template <>
class [[nodiscard]] Result<jinja::Value> {
 public:
  Result(jinja::Value value) : value_(std::move(value)) {}                    // NOLINT: implicit
  Result(Error&& error) : value_(jinja::Value::failure(std::move(error))) {}  // NOLINT: implicit

  bool ok() const { return !value_.is(jinja::Kind::failure); }
  jinja::Value& value() { return value_; }
  const jinja::Value& value() const { return value_; }
  Error& error() { return value_.as_error(); }
  const Error& error() const { return value_.as_error(); }

 private:
  jinja::Value value_;
};

}  // namespace kinglet

namespace kinglet::jinja {

// As in Python: 1 == 1.0 == True.
bool operator==(const Value& a, const Value& b);

// Returns -1, 0 or 1; 2 if one of the two is NaN. Fails with ErrorCode::invalid_argument if Python
// cannot order the two.
Result<int> compare(const Value& a, const Value& b);

// Counts the work of a function that looks at all characters of its arguments.
void spend_on_texts(const List& values);

// Fails with ErrorCode::invalid_argument for two views of dicts: Python compares them without
// regard to their order, which is not implemented.
Status check_equality(const Value& a, const Value& b);

// Fails with ErrorCode::invalid_argument if Python does not accept the value as a key of a dict.
Status check_key(const Value& value);

// Returns what a loop iterates over: a list, tuple or range itself, the characters of a text, the
// keys of a dict, or the items of a view or generator. Empties a generator. Fails with
// ErrorCode::invalid_argument for values that cannot be iterated.
Result<Value> elements(const Value& value);

// Returns the indices of the keys in sorted order; equal keys keep their order.
Result<std::vector<size_t>> sorted_places(const List& keys, bool reverse);

Error refusal(std::string message);

}  // namespace kinglet::jinja
