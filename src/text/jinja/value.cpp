#include "text/jinja/value.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/format.h"
#include "base/utf8.h"
#include "text/jinja/syntax.h"
#include "text/jinja/work.h"

namespace kinglet::jinja {
namespace {

// Whether Python calls an assigned character printable: not spaces other than " ", and not
// characters without a shape.
bool is_printable(char32_t code) {
  constexpr std::pair<char32_t, char32_t> kOthers[] = {
      {0x00, 0x1f},     {0x7f, 0xa0},       {0xad, 0xad},       {0x600, 0x605},   {0x61c, 0x61c},
      {0x6dd, 0x6dd},   {0x70f, 0x70f},     {0x1680, 0x1680},   {0x180e, 0x180e}, {0x2000, 0x200f},
      {0x2028, 0x202f}, {0x205f, 0x206f},   {0x3000, 0x3000},   {0xd800, 0xf8ff}, {0xfeff, 0xfeff},
      {0xfff9, 0xfffb}, {0xe0000, 0xe007f}, {0xf0000, 0x10ffff}};
  return std::none_of(std::begin(kOthers), std::end(kOthers), [&](const auto& range) {
    return range.first <= code && code <= range.second;
  });
}

// Appends a character as repr() spells it between quotes of this kind.
void append_repr(Text& out, std::string_view character, char32_t code, bool is_said, char quote) {
  if (is_printable(code)) {
    if (character.front() == quote || character.front() == '\\') out.append("\\");
    out.append(character, is_said);
    return;
  }
  switch (code) {
    case '\n':
      return out.append("\\n", is_said);
    case '\r':
      return out.append("\\r", is_said);
    case '\t':
      return out.append("\\t", is_said);
    default:
      break;
  }
  out.append(code < 0x100 ? "\\x" : code < 0x10000 ? "\\u" : "\\U", is_said);
  for (int shift = code < 0x100 ? 4 : code < 0x10000 ? 12 : 28; shift >= 0; shift -= 4) {
    out.append(kHexDigits.substr((code >> shift) & 0xf, 1), is_said);
  }
}

Text repr_of_text(const Text& text) {
  const std::string& bytes = text.bytes();
  Work::spend(bytes.size() * kOfCharacter);
  const bool has_single = bytes.find('\'') != std::string::npos;
  const char quote = has_single && bytes.find('"') == std::string::npos ? '"' : '\'';
  Text out(std::string(1, quote));
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Char character = decode_utf8(std::string_view(bytes).substr(at));
    append_repr(out, std::string_view(bytes).substr(at, character.n_bytes), character.code_point,
                text.is_said(at), quote);
    at += character.n_bytes;
  }
  out.append(std::string_view(&quote, 1));
  return out;
}

Text repr_of_items(const List& items, std::string_view open, std::string_view close) {
  Text out{std::string(open)};
  for (size_t i = 0; i < items.size() && !out.is_full(); ++i) {
    if (!Work::spend(kOfItem)) break;
    if (i > 0) out.append(", ");
    out.append(items[i].to_repr());
  }
  out.append(close);
  Work::spend(out.size());  // the value around this one copies it
  return out;
}

Text repr_of_dict(const Dict& dict) {
  Text out("{");
  for (size_t i = 0; i < dict.entries.size() && !out.is_full(); ++i) {
    if (!Work::spend(kOfItem)) break;
    if (i > 0) out.append(", ");
    out.append(dict.entries[i].first.to_repr());
    out.append(": ");
    out.append(dict.entries[i].second.to_repr());
  }
  out.append("}");
  Work::spend(out.size());
  return out;
}

Text repr_of_range(const Range& range) {
  const std::string step = range.step == 1 ? "" : cat(", ", range.step);
  return Text(cat("range(", range.start, ", ", range.stop, step, ")"));
}

// Returns repr() of a namespace, or of the variable `loop`.
Text repr_of_space(const Dict& dict) {
  const Value* index = dict.find("index");
  const Value* length = dict.find("length");
  if (index != nullptr && length != nullptr && dict.find("revindex0") != nullptr) {
    return Text(cat("<LoopContext ", index->as_integer(), "/", length->as_integer(), ">"));
  }
  Text out("<Namespace ");
  out.append(repr_of_dict(dict));
  out.append(">");
  return out;
}

// Returns -1, 0 or 1; 2 if one of the two is NaN. Compares exactly, without rounding to one type.
int order_of_numbers(const Value& a, const Value& b) {
  const auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2; };
  if (a.is_whole() && b.is_whole()) return sign(a.as_integer(), b.as_integer());
  if (a.is(Kind::real) && b.is_whole()) {
    const int order = order_of_numbers(b, a);
    return order == 2 ? order : -order;
  }
  if (a.is(Kind::real) || !(std::fabs(b.as_real()) < 0x1p63)) return sign(a.as_real(), b.as_real());
  const auto whole = static_cast<int64_t>(b.as_real());
  return a.as_integer() != whole ? sign(a.as_integer(), whole)
                                 : sign(static_cast<double>(whole), b.as_real());
}

}  // namespace

Arguments::Arguments() = default;
Arguments::Arguments(List by_place, std::vector<std::pair<std::string, Value>> by_name)
    : positional(std::move(by_place)), named(std::move(by_name)) {}
Arguments::Arguments(Arguments&& other) noexcept = default;
Arguments& Arguments::operator=(Arguments&& other) noexcept = default;
Arguments::~Arguments() = default;

const Value* Dict::find(const Value& key) const {
  for (const auto& [known, value] : entries) {
    if (!Work::spend(kOfComparing)) break;
    if (known == key) return &value;
  }
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  if (!Work::spend(entries.size() * kOfComparing)) return nullptr;
  for (const auto& [known, value] : entries) {
    if (known.is(Kind::text) && known.as_bytes() == key) return &value;
  }
  return nullptr;
}

void Dict::set(const Value& key, const Value& value) {
  if (const Value* found = find(key)) {
    const_cast<Value&>(*found) = value;  // the entries are not const here
    return;
  }
  entries.emplace_back(key, value);
}

Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value::Value(Kind kind, Content content)
    : kind_(kind), content_(std::make_shared<Content>(std::move(content))) {
  Content& made = *content_;
  made.weight = made.text.size();
  for (const Value& item : made.items) made.count(item);
  for (const auto& [key, value] : made.entries.entries) {
    made.count(key);
    made.count(value);
  }
}

void Value::Content::count(const Value& value) {
  constexpr size_t kOfOne = 128;
  depth = std::max(depth, value.depth() + 1);
  weight = std::min(weight + value.weight() + kOfOne, std::numeric_limits<size_t>::max() / 4);
  holds_space = holds_space || value.is(Kind::space) || value.holds_space();
}

size_t Value::n_inside() const {
  return has_items() ? items().size() : is(Kind::dict) ? entries().entries.size() : 0;
}

size_t Value::n_own_bytes() const {
  constexpr size_t kBytesOfItem = 128;
  return is(Kind::text) ? as_text().size() : n_inside() * kBytesOfItem;
}

Value Value::undefined(std::string_view what) { return {Kind::undefined, {.text = Text(what)}}; }

Value Value::none() {
  Value value;
  value.kind_ = Kind::none;
  return value;
}

Value Value::boolean(bool truth) {
  Value value;
  value.kind_ = Kind::boolean;
  value.integer_ = truth ? 1 : 0;
  return value;
}

Value Value::integer(int64_t number) {
  Value value;
  value.kind_ = Kind::integer;
  value.integer_ = number;
  return value;
}

Value Value::whole(std::string_view digits) {
  if (const auto number = read_whole(digits)) return integer(*number);
  const std::string_view sign = digits.starts_with('-') ? "-" : "";
  digits.remove_prefix(std::min(digits.find_first_of("123456789"), digits.size()));
  return {Kind::long_integer, {.text = Text(cat(sign, digits))}};
}

Value Value::real(double number) {
  Value value;
  value.kind_ = Kind::real;
  value.real_ = number;
  return value;
}

Value Value::text(Text text) { return {Kind::text, {.text = std::move(text)}}; }

Value Value::text(std::string_view bytes, bool is_said) { return text(Text(bytes, is_said)); }

Value Value::markup(Text text) {
  return {Kind::text, {.text = std::move(text), .is_markup = true}};
}

Value Value::with_text(Text text) const {
  return is_markup() ? markup(std::move(text)) : Value::text(std::move(text));
}

Value Value::list(List items) { return {Kind::list, {.items = std::move(items)}}; }

Value Value::view(std::string_view name, List items) {
  return {Kind::view, {.text = Text(name), .items = std::move(items)}};
}

Value Value::range(const Range& range) {
  List numbers;
  const auto& [start, stop, step] = range;
  for (int64_t i = start; (step > 0 ? i < stop : i > stop) && numbers.size() < kMostItems;) {
    numbers.push_back(integer(i));
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return {Kind::range, {.items = std::move(numbers), .range = range}};
}

Value Value::generator(List items) { return {Kind::generator, {.items = std::move(items)}}; }

List Value::take_items() const { return std::exchange(content_->items, {}); }

Value Value::tuple(List items) { return {Kind::tuple, {.items = std::move(items)}}; }

Value Value::group(const Value& grouper, const Value& items) {
  Dict names;
  names.set(Value::text("grouper"), grouper);
  names.set(Value::text("list"), items);
  return {Kind::tuple, {.items = {grouper, items}, .entries = std::move(names)}};
}

Value Value::dict(Dict entries) { return {Kind::dict, {.entries = std::move(entries)}}; }

Value Value::space(Dict entries) { return {Kind::space, {.entries = std::move(entries)}}; }

Value Value::loop(Dict entries, const Macro& itself) {
  return {Kind::space, {.entries = std::move(entries), .macro = itself}};
}

Value Value::function(Function function, const Value& self) {
  return {Kind::function, {.items = {self}, .function = function}};
}

Value Value::getter(Getter getter, const Value& self) {
  return {Kind::function, {.items = {self}, .getter = getter}};
}

Value Value::failure(Error&& error) { return {Kind::failure, {.error = std::move(error)}}; }

Value Value::macro(const Macro& macro) { return {Kind::macro, {.macro = macro}}; }

void spend_on_texts(const List& values) {
  for (const Value& value : values) {
    if (value.is(Kind::text)) Work::spend(value.as_text().size() * kOfCharacter);
  }
}

Result<Value> Value::call(Arguments& arguments) const {
  const Value& self = content_->items.front();
  spend_on_texts(content_->items);
  spend_on_texts(arguments.positional);
  if (content_->getter == nullptr) return content_->function(self, arguments);
  if (arguments.positional.empty() && arguments.named.empty()) return content_->getter(self);
  return refusal("this function takes no arguments");
}

double Value::as_real() const { return is(Kind::real) ? real_ : static_cast<double>(integer_); }

bool Value::is_true() const {
  switch (kind_) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
    case Kind::integer:
      return integer_ != 0;
    case Kind::real:
      return real_ != 0;
    case Kind::long_integer:
      return true;
    case Kind::text:
      return !as_text().empty();
    case Kind::list:
    case Kind::tuple:
    case Kind::range:
    case Kind::view:
      return !items().empty();
    case Kind::dict:
      return !entries().entries.empty();
    case Kind::generator:
    case Kind::space:
    case Kind::function:
    case Kind::macro:
    case Kind::failure:
      break;
  }
  return true;
}

std::string Value::type_name() const {
  if (is(Kind::undefined)) return cat("undefined ", content_ ? content_->text.bytes() : "value");
  if (is(Kind::view)) return content_->text.bytes();
  constexpr const char* kNames[] = {
      "",         "None",    "bool",      "int",       "int of more than 64 bits",
      "float",    "str",     "list",      "tuple",     "range",
      "dict",     "",        "generator", "namespace", "function",
      "function", "function"};
  return kNames[static_cast<size_t>(kind_)];
}

Text Value::to_text() const {
  if (is(Kind::undefined)) return Text();
  return is(Kind::text) ? as_text() : to_repr();
}

Text Value::to_repr() const {
  switch (kind_) {
    case Kind::undefined:
      return Text("Undefined");
    case Kind::none:
      return Text("None");
    case Kind::boolean:
      return Text(as_boolean() ? "True" : "False");
    case Kind::integer:
      return Text(cat(integer_));
    case Kind::real:
      Work::spend(work_of_real(real_));
      return Text(number_text(real_));
    case Kind::text: {
      Text spelled = repr_of_text(as_text());
      if (!is_markup()) return spelled;
      Text out("Markup(");
      out.append(spelled);
      out.append(")");
      return out;
    }
    case Kind::long_integer:
      return content_->text;
    case Kind::list:
      return repr_of_items(items(), "[", "]");
    case Kind::range:
      return repr_of_range(as_range());
    case Kind::tuple:
      return repr_of_items(items(), "(", items().size() == 1 ? ",)" : ")");
    case Kind::dict:
      return repr_of_dict(entries());
    case Kind::view:
      return repr_of_items(items(), cat(content_->text.bytes(), "(["), "])");
    case Kind::space:
      return repr_of_space(entries());
    case Kind::macro: {
      const std::string& name = as_macro().node->name;
      return Text(cat("<Macro ", name.empty() ? "anonymous" : cat("'", name, "'"), ">"));
    }
    case Kind::generator:
    case Kind::function:
    case Kind::failure:
      break;
  }
  Text out(cat("<", type_name(), ">"));
  out.mark_address();
  return out;
}

bool operator==(const Value& a, const Value& b) {
  if (!Work::spend(kOfComparing)) return false;
  if (a.is_number() && b.is_number()) return order_of_numbers(a, b) == 0;
  const Value& real = a.is(Kind::real) ? a : b;
  if (real.is(Kind::real) && (a.is(Kind::long_integer) || b.is(Kind::long_integer))) {
    const Value& whole = a.is(Kind::real) ? b : a;
    Work::spend(whole.weight() + work_of_real(real.as_real()));
    return fixed_text(real.as_real(), 0) == whole.to_repr().bytes();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::text:
      return a.as_bytes().size() == b.as_bytes().size() && Work::spend(a.as_bytes().size()) &&
             a.as_bytes() == b.as_bytes();
    case Kind::long_integer:
      Work::spend(a.weight() + b.weight());
      return a.to_repr().bytes() == b.to_repr().bytes();
    case Kind::list:
    case Kind::tuple:
    case Kind::range:
      return a.items() == b.items();
    case Kind::dict: {
      const auto& entries = a.entries().entries;
      if (entries.size() != b.entries().entries.size()) return false;
      return std::all_of(entries.begin(), entries.end(), [&](const auto& entry) {
        const Value* other = b.entries().find(entry.first);
        return other != nullptr && *other == entry.second;
      });
    }
    case Kind::view:
    case Kind::generator:
    case Kind::space:
    case Kind::function:
    case Kind::macro:
      return &a.entries() == &b.entries();
    default:
      return true;
  }
}

Result<int> compare(const Value& a, const Value& b) {
  const auto sign = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
  if (!Work::spend(kOfItem)) return 0;
  if (a.is_number() && b.is_number()) return order_of_numbers(a, b);
  if (a.is(Kind::text) && b.is(Kind::text)) {
    Work::spend(2 * std::min(a.as_bytes().size(), b.as_bytes().size()));
    return sign(a.as_bytes(), b.as_bytes());
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    const size_t n = std::min(a.items().size(), b.items().size());
    for (size_t i = 0; i < n; ++i) {
      if (a.items()[i] == b.items()[i]) continue;
      return compare(a.items()[i], b.items()[i]);
    }
    return sign(a.items().size(), b.items().size());
  }
  return refusal(cat("cannot order ", a.type_name(), " and ", b.type_name()));
}

Status check_equality(const Value& a, const Value& b) {
  if (!a.is(Kind::view) || !b.is(Kind::view)) return {};
  return refusal(cat(a.type_name(), " and ", b.type_name(), " cannot be compared"));
}

Status check_key(const Value& value) {
  if (value.is(Kind::list) || value.is(Kind::dict) || value.is(Kind::view)) {
    return refusal(cat(value.type_name(), " cannot be a key of a dict"));
  }
  if (!value.is(Kind::tuple)) return {};
  for (const Value& item : value.items()) {
    if (!Work::spend(kOfComparing)) break;
    KINGLET_TRY(check_key(item));
  }
  return {};
}

Result<Value> elements(const Value& value) {
  List found;
  switch (value.kind()) {
    case Kind::undefined:
      break;
    case Kind::list:
    case Kind::tuple:
    case Kind::range:
      return value;
    case Kind::view:
      Work::spend(value.items().size() * kOfItem);
      return Value::list(value.items());
    case Kind::generator:
      return Value::list(value.take_items());
    case Kind::dict:
      Work::spend(value.entries().entries.size() * kOfItem);
      for (const auto& [key, of_key] : value.entries().entries) found.push_back(key);
      break;
    case Kind::text: {
      const Text& text = value.as_text();
      if (text.size() > kMostItems) return refusal("a string is too long to iterate over");
      Work::spend(text.size() * kOfItem);
      for (size_t at = 0; at < text.size();) {
        const size_t n = decode_utf8(std::string_view(text.bytes()).substr(at)).n_bytes;
        found.push_back(Value::text(text.cut(at, at + n)));
        at += n;
      }
      break;
    }
    default:
      return refusal(cat("cannot iterate over ", value.type_name()));
  }
  return Value::list(std::move(found));
}

Result<std::vector<size_t>> sorted_places(const List& keys, bool reverse) {
  Status status;
  std::vector<size_t> places(keys.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = i;
  // Heap sort needs the least code. It is not stable, so indices decide between equal keys.
  const auto is_before = [&](size_t a, size_t b) {
    const auto order = compare(keys[a], keys[b]);
    if (!order.ok()) status = order.error();
    if (!order.ok() || order.value() == 0) return a < b;
    return (order.value() < 0) != reverse;
  };
  std::make_heap(places.begin(), places.end(), is_before);
  std::sort_heap(places.begin(), places.end(), is_before);
  KINGLET_TRY(status);
  return places;
}

Error refusal(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

}  // namespace kinglet::jinja
