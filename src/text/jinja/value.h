// What expressions of a template are worth, as Python has them.
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

// Of a list that a template makes.
constexpr size_t kMostItems = size_t{1} << 20;

// In the order of insertion.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;

  const Value* find(const Value& key) const;  // null where there is none
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

// `self`: what a method belongs to, or what the function was made with.
using Function = Result<Value> (*)(const Value& self, Arguments& arguments);
using Getter = Result<Value> (*)(const Value& self);  // takes no arguments

// A block of the template that can be called, and where it stands.
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
  undefined,  // a name or an attribute that there is not
  none,
  boolean,
  integer,
  long_integer,  // of more than 64 bits: known by its digits, and not computed with
  real,
  text,
  list,
  tuple,
  range,  // of whole numbers
  dict,
  view,       // d.items() and the like: gone through as often as one wants, without places
  generator,  // what some filters give: gone through once, and true
  space,      // namespace(): a dict whose entries a template may set
  function,
  macro,
  failure,  // of a Result
};

class Value {
 public:
  Value() = default;
  // Out of line, as they are everywhere.
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  // `what` says in errors what is undefined.
  static Value undefined(std::string_view what);
  static Value none();
  static Value boolean(bool value);
  static Value integer(int64_t value);
  static Value whole(std::string_view digits);  // of any length; a sign may be in front
  static Value real(double value);
  static Value text(Text value);
  static Value text(std::string_view bytes, bool is_said = false);
  // What is escaped for HTML, or is to stay as it is: it escapes what is joined with it.
  static Value markup(Text value);
  static Value list(List items);
  static Value view(std::string_view name, List items);  // of the type that Python has
  static Value range(const Range& range);                // of at most kMostItems
  static Value generator(List items);
  static Value tuple(List items);
  // A tuple whose elements are also its attributes `grouper` and `list`.
  static Value group(const Value& grouper, const Value& items);
  static Value dict(Dict entries);
  static Value space(Dict entries);
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

  // Of the kinds that they are named after.
  bool as_boolean() const { return integer_ != 0; }
  int64_t as_integer() const { return integer_; }  // of is_whole()
  double as_real() const;                          // of is_number()
  const Text& as_text() const { return content_->text; }
  const std::string& as_bytes() const { return as_text().bytes(); }
  const List& items() const { return content_->items; }
  const Dict& entries() const { return content_->entries; }
  Dict& entries() { return content_->entries; }
  const Range& as_range() const { return content_->range; }
  List take_items() const;                         // of a generator, which is empty then
  Result<Value> call(Arguments& arguments) const;  // of a function
  const Macro& as_macro() const { return content_->macro; }
  Error& as_error() const { return content_->error; }

  // Lists in lists and the like.
  size_t depth() const { return content_ ? content_->depth : 0; }
  // Bytes that are looked at by whoever goes through all of it.
  size_t weight() const { return content_ ? content_->weight : 0; }
  bool holds_space() const { return content_ && content_->holds_space; }

  // Python's truth value.
  bool is_true() const;

  // A text, escaped as this one is.
  Value with_text(Text text) const;

  // What `undefined` was, or the name of the type as Python has it.
  std::string type_name() const;

  // str(): what {{ }} prints; repr(), as lists print their elements.
  Text to_text() const;
  Text to_repr() const;

 private:
  // Of the kinds that are no numbers; shared by copies, of which only namespaces change.
  struct Content {
    Text text = {};   // of a view: its type; of a long integer: its digits
    List items = {};  // of a function: its self
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

// As any Result, in a quarter of the code: most functions of templates give one.
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

// As Python: 1 == 1.0 == True.
bool operator==(const Value& a, const Value& b);

// -1, 0 or 1; 2 where one is not a number (NaN). ErrorCode::invalid_argument where Python has no
// order of the two.
Result<int> compare(const Value& a, const Value& b);

// ErrorCode::invalid_argument of two views of dicts, whose order does not count in Python.
Status check_equality(const Value& a, const Value& b);

// ErrorCode::invalid_argument where Python takes the value for no key of a dict.
Status check_key(const Value& value);

// A sequence itself; a list of the characters of a text, the keys of a dict.
// ErrorCode::invalid_argument names what cannot be gone through.
Result<Value> elements(const Value& value);

// The places of the keys in their order, equal ones as they stand.
Result<std::vector<size_t>> sorted_places(const List& keys, bool reverse);

Error refusal(std::string message);

}  // namespace kinglet::jinja
