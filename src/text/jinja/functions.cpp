#include "text/jinja/functions.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/ascii.h"
#include "base/format.h"
#include "base/quoted.h"
#include "text/jinja/arguments.h"
#include "text/jinja/format.h"
#include "text/jinja/search.h"
#include "text/jinja/strings.h"
#include "text/jinja/text_filters.h"
#include "text/utf8.h"

namespace kinglet::jinja {
namespace {

// The sandbox of transformers allows no more.
constexpr int64_t kMostRange = 100000;

Result<Value> range(const Value&, Arguments& arguments) {
  int64_t bounds[3] = {0, 0, 1};
  const List& given = arguments.positional;
  if (given.empty() || given.size() > 3 || !arguments.named.empty()) {
    return refusal("range: expected one to three whole numbers");
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i].is_whole()) return refusal(cat("range: ", given[i].type_name(), " is no int"));
    bounds[given.size() == 1 ? 1 : i] = given[i].as_integer();
  }
  const auto [begin, end, step] = bounds;
  if (step == 0) return refusal("range: the step is 0");
  List numbers;
  for (int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
    if (numbers.size() == kMostRange) return refusal(cat("range: more than ", kMostRange));
    numbers.push_back(Value::integer(i));
  }
  const std::string repr = step == 1 ? cat("range(", begin, ", ", end, ")")
                                     : cat("range(", begin, ", ", end, ", ", step, ")");
  return Value::range(repr, std::move(numbers));
}

Result<Value> make_dict(const Value&, Arguments& arguments) {
  Dict dict;
  if (!arguments.positional.empty()) {
    const Value& first = arguments.positional.front();
    if (!first.is(Kind::dict)) return refusal(cat("dict: ", first.type_name(), " is no dict"));
    dict = first.entries();
  }
  for (auto& [name, value] : arguments.named) dict.set(Value::text(name), value);
  return Value::dict(std::move(dict));
}

Result<Value> make_namespace(const Value& self, Arguments& arguments) {
  KINGLET_ASSIGN(Value dict, make_dict(self, arguments));
  if (dict.holds_space()) return refusal("namespace: one cannot be in another here");
  return Value::space(std::move(dict.entries()));
}

Result<Value> raise_exception(const Value&, Arguments& arguments) {
  ArgumentReader reader("raise_exception", arguments, 0);
  const Value* message = reader.take("message");
  return refusal(message == nullptr ? "" : message->to_text().bytes());
}

// `self`: a namespace of the separator, which is given from the second call on.
Result<Value> next_separator(const Value& self, Arguments&) {
  Dict& entries = Value(self).entries();
  const bool is_first = entries.find("used") == nullptr;
  entries.set(Value::text("used"), Value::boolean(true));
  return is_first ? Value::text("") : *entries.find("sep");
}

Result<Value> make_joiner(const Value&, Arguments& arguments) {
  ArgumentReader reader("joiner", arguments, 0);
  const Text separator = reader.take_text("sep", ", ");
  KINGLET_TRY(reader.check_end());
  Dict entries;
  entries.set(Value::text("sep"), Value::text(separator));
  return Value::function(next_separator, Value::space(std::move(entries)));
}

constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

// Sakamoto's formula; 0 is Sunday.
int day_of_week(const Now& now) {
  constexpr int kOffsets[] = {0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4};
  const int year = now.month < 3 ? now.year - 1 : now.year;
  return (year + year / 4 - year / 100 + year / 400 + kOffsets[now.month - 1] + now.day) % 7;
}

std::string digits(int number, size_t width) {
  std::string text = cat(number);
  return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

Result<std::string> format_time(const Now& now, std::string_view format) {
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    const bool is_bare = format[i + 1] == '-' && i + 2 < format.size();  // %-d: without zeros
    if (is_bare) ++i;
    const size_t width = is_bare ? 1 : 2;
    const auto month = static_cast<size_t>(now.month - 1);
    const auto day = static_cast<size_t>(day_of_week(now));
    const int hour = now.hour % 12 == 0 ? 12 : now.hour % 12;
    switch (format[++i]) {
      case 'Y':
        out += digits(now.year, 4);
        break;
      case 'y':
        out += digits(now.year % 100, 2);
        break;
      case 'm':
        out += digits(now.month, width);
        break;
      case 'd':
        out += digits(now.day, width);
        break;
      case 'e':
        out += now.day < 10 ? cat(" ", now.day) : cat(now.day);
        break;
      case 'H':
        out += digits(now.hour, width);
        break;
      case 'I':
        out += digits(hour, width);
        break;
      case 'M':
        out += digits(now.minute, width);
        break;
      case 'S':
        out += digits(now.second, width);
        break;
      case 'p':
        out += now.hour < 12 ? "AM" : "PM";
        break;
      case 'B':
        out += kMonths[month];
        break;
      case 'b':
        out += kMonths[month].substr(0, 3);
        break;
      case 'A':
        out += kDays[day];
        break;
      case 'a':
        out += kDays[day].substr(0, 3);
        break;
      case 'F':
        out += cat(digits(now.year, 4), "-", digits(now.month, 2), "-", digits(now.day, 2));
        break;
      case 'T':
        out += cat(digits(now.hour, 2), ":", digits(now.minute, 2), ":", digits(now.second, 2));
        break;
      case '%':
        out += '%';
        break;
      default:
        return refusal(cat("strftime_now: %", format.substr(i, 1), " is unknown here"));
    }
  }
  return out;
}

// `self`: the time's numbers, from the year to the second.
Result<Value> tell_time(const Value& self, Arguments& arguments) {
  ArgumentReader reader("strftime_now", arguments, 0);
  const Text format = reader.take_text("format");
  KINGLET_TRY(reader.check_end());
  const auto number = [&](size_t i, int64_t least, int64_t most) {
    return static_cast<int>(std::clamp(self.items()[i].as_integer(), least, most));
  };
  const Now now = {number(0, 1, 9999), number(1, 1, 12), number(2, 1, 31),
                   number(3, 0, 23),   number(4, 0, 59), number(5, 0, 60)};
  KINGLET_ASSIGN(std::string text, format_time(now, format.bytes()));
  return Value::text(std::move(text));
}

struct NamedFunction {
  std::string_view name;
  Function function;
};

Result<Value> text_or_refuse(std::optional<Text> text, std::string_view name) {
  if (text) return Value::text(std::move(*text));
  return refusal(cat(name, ": letters beyond ASCII are not changed here"));
}

template <Ends kEnds>
Result<Value> strip_method(const Value& of, Arguments& arguments) {
  ArgumentReader reader("strip", arguments, 0);
  const Value* characters = reader.take("chars");
  KINGLET_TRY(reader.check_end());
  const bool is_default = characters == nullptr || characters->is(Kind::none);
  if (!is_default && !characters->is(Kind::text)) return refusal("strip: expected str");
  if (!is_default && characters->as_text().empty()) return of;
  return Value::text(strip(of.as_text(), is_default ? "" : characters->as_bytes(), kEnds));
}

template <List (*kSplit)(const Text&, const Text*, int64_t)>
Result<Value> split_method(const Value& of, Arguments& arguments) {
  ArgumentReader reader("split", arguments, 0);
  const Value* separator = reader.take("sep");
  const int64_t n = reader.take_integer("maxsplit", -1);
  KINGLET_TRY(reader.check_end());
  const bool is_default = separator == nullptr || separator->is(Kind::none);
  if (is_default) return Value::list(kSplit(of.as_text(), nullptr, n));
  if (!separator->is(Kind::text) || separator->as_text().empty()) {
    return refusal("split: expected a separator that is not empty");
  }
  return Value::list(kSplit(of.as_text(), &separator->as_text(), n));
}

// Whether f(text) holds of the argument, or of one in a tuple.
template <class F>
Result<Value> any_of(const char* name, Arguments& arguments, const F& f) {
  ArgumentReader reader(name, arguments, 0);
  const Value* given = reader.take("prefix");
  KINGLET_TRY(reader.check_end());
  if (given == nullptr) return refusal(cat(name, ": expected str"));
  const List all = given->is(Kind::tuple) ? given->items() : List{*given};
  bool found = false;
  for (const Value& one : all) {
    if (!one.is(Kind::text)) return refusal(cat(name, ": expected str"));
    found = found || f(one.as_bytes());
  }
  return Value::boolean(found);
}

// Where the argument stands in the text, in characters; -1: nowhere.
template <bool kFromRight>
Result<int64_t> place_of(const Value& of, Arguments& arguments) {
  ArgumentReader reader("find", arguments, 0);
  const Text wanted = reader.take_text("sub");
  KINGLET_TRY(reader.check_end());
  const std::string& bytes = of.as_bytes();
  const size_t at =
      kFromRight ? find_last_text(bytes, wanted.bytes()) : find_text(bytes, wanted.bytes());
  if (at == std::string::npos) return int64_t{-1};
  return length(of.as_text().cut(0, at));
}

template <bool kFromRight>
Result<Value> find_in_text(const Value& of, Arguments& arguments) {
  KINGLET_ASSIGN(const int64_t at, place_of<kFromRight>(of, arguments));
  return Value::integer(at);
}

template <class F>
Result<Value> all_characters(const Value& of, const F& f) {
  const std::string& bytes = of.as_bytes();
  bool all = !bytes.empty();
  for (const char c : bytes) {
    if (static_cast<unsigned char>(c) >= 0x80) {
      return refusal("characters beyond ASCII are not told apart here");
    }
    all = all && f(c);
  }
  return Value::boolean(all);
}

Result<Value> format_method(const Value& of, Arguments& arguments) {
  KINGLET_ASSIGN(Text text, format_braces(of.as_text(), arguments));
  return Value::text(std::move(text));
}

constexpr int64_t kMostWidth = 10000;

// ljust, rjust, center: the place of the text in the width.
enum class Place : uint8_t { left, right, middle };

template <Place kPlace>
Result<Value> justify_method(const Value& of, Arguments& arguments) {
  ArgumentReader reader("justify", arguments, 0);
  const int64_t width = reader.take_integer("width", -1);
  const Text fill = reader.take_text("fillchar", " ");
  KINGLET_TRY(reader.check_end());
  if (width > kMostWidth || length(fill) != 1) return refusal("a width and one character");
  if (kPlace == Place::middle) return Value::text(centered(of.as_text(), width, fill.bytes()));
  Text filled;
  for (int64_t n = width - length(of.as_text()); n > 0; --n) filled.append(fill);
  Text out = kPlace == Place::left ? of.as_text() : filled;
  out.append(kPlace == Place::left ? filled : of.as_text());
  return Value::text(std::move(out));
}

Result<Value> zfill_method(const Value& of, Arguments& arguments) {
  ArgumentReader reader("zfill", arguments, 0);
  const int64_t width = reader.take_integer("width", -1);
  KINGLET_TRY(reader.check_end());
  if (width > kMostWidth) return refusal(cat("zfill: more than ", kMostWidth));
  const Text& text = of.as_text();
  const bool has_sign = text.bytes().starts_with('-') || text.bytes().starts_with('+');
  Text out = text.cut(0, has_sign ? 1 : 0);
  for (int64_t n = width - length(text); n > 0; --n) out.append("0");
  out.append(text.cut(has_sign ? 1 : 0, text.size()));
  return Value::text(std::move(out));
}

// In front of the separator, itself, and after it.
template <bool kFromRight>
Result<Value> partition_method(const Value& of, Arguments& arguments) {
  ArgumentReader reader("partition", arguments, 0);
  const Text between = reader.take_text("sep");
  KINGLET_TRY(reader.check_end());
  if (between.empty()) return refusal("partition: expected a separator that is not empty");
  const Text& text = of.as_text();
  const size_t at = kFromRight ? find_last_text(text.bytes(), between.bytes())
                               : find_text(text.bytes(), between.bytes());
  if (at == std::string::npos) {
    const Value nothing = Value::text("");
    return kFromRight ? Value::tuple({nothing, nothing, of}) : Value::tuple({of, nothing, nothing});
  }
  const size_t end = at + between.size();
  return Value::tuple({Value::text(text.cut(0, at)), Value::text(between),
                       Value::text(text.cut(end, text.size()))});
}

// Of the case: at least one letter, and all of them.
template <bool kUpper>
Result<Value> is_case(const Value& of, Arguments&) {
  const std::string& bytes = of.as_bytes();
  bool has_letter = false;
  bool all = true;
  for (const char c : bytes) {
    if (static_cast<unsigned char>(c) >= 0x80) {
      return refusal("characters beyond ASCII are not told apart here");
    }
    has_letter = has_letter || is_letter(c);
    all = all && (!is_letter(c) || (to_lower(c) != c) == kUpper);
  }
  return Value::boolean(has_letter && all);
}

constexpr NamedFunction kTextMethods[] = {
    {"strip", strip_method<Ends::both>},
    {"lstrip", strip_method<Ends::left>},
    {"rstrip", strip_method<Ends::right>},
    {"split", split_method<split>},
    {"rsplit", split_method<split_from_right>},
    {"splitlines",
     [](const Value& of, Arguments& arguments) -> Result<Value> {
       ArgumentReader reader("splitlines", arguments, 0);
       const bool keeps_ends = reader.take_truth("keepends", false);
       KINGLET_TRY(reader.check_end());
       return Value::list(split_lines(of.as_text(), keeps_ends));
     }},
    {"startswith",
     [](const Value& of, Arguments& arguments) {
       return any_of("startswith", arguments,
                     [&](const std::string& start) { return of.as_bytes().starts_with(start); });
     }},
    {"endswith",
     [](const Value& of, Arguments& arguments) {
       return any_of("endswith", arguments,
                     [&](const std::string& end) { return of.as_bytes().ends_with(end); });
     }},
    {"upper",
     [](const Value& of, Arguments&) { return text_or_refuse(upper(of.as_text()), "upper"); }},
    {"lower",
     [](const Value& of, Arguments&) { return text_or_refuse(lower(of.as_text()), "lower"); }},
    {"title",
     [](const Value& of, Arguments&) { return text_or_refuse(title(of.as_text()), "title"); }},
    {"capitalize",
     [](const Value& of, Arguments&) {
       return text_or_refuse(capitalize(of.as_text()), "capitalize");
     }},
    {"replace",
     [](const Value& of, Arguments& arguments) -> Result<Value> {
       ArgumentReader reader("replace", arguments, 0);
       const Text old = reader.take_text("old");
       const Text with = reader.take_text("new");
       const int64_t n = reader.take_integer("count", -1);
       KINGLET_TRY(reader.check_end());
       return Value::text(replace(of.as_text(), old.bytes(), with, n));
     }},
    {"join",
     [](const Value& of, Arguments& arguments) -> Result<Value> {
       ArgumentReader reader("join", arguments, 0);
       const Value* parts = reader.take("iterable");
       KINGLET_TRY(reader.check_end());
       if (parts == nullptr) return refusal("join: expected a list");
       KINGLET_ASSIGN(const Value through, elements(*parts));
       const List& items = through.items();
       for (const Value& item : items) {
         if (!item.is(Kind::text)) return refusal(cat("join: ", item.type_name(), " is no str"));
       }
       return Value::text(join(items, of.as_text()));
     }},
    {"find", find_in_text<false>},
    {"rfind", find_in_text<true>},
    {"index",
     [](const Value& of, Arguments& arguments) -> Result<Value> {
       KINGLET_ASSIGN(const int64_t at, place_of<false>(of, arguments));
       return at < 0 ? Result<Value>(refusal("index: not found")) : Value::integer(at);
     }},
    {"count",
     [](const Value& of, Arguments& arguments) -> Result<Value> {
       ArgumentReader reader("count", arguments, 0);
       const Text wanted = reader.take_text("sub");
       KINGLET_TRY(reader.check_end());
       if (wanted.empty()) return Value::integer(length(of.as_text()) + 1);
       return Value::integer(static_cast<int64_t>(split(of.as_text(), &wanted, -1).size()) - 1);
     }},
    {"rindex",
     [](const Value& of, Arguments& arguments) -> Result<Value> {
       KINGLET_ASSIGN(const int64_t at, place_of<true>(of, arguments));
       return at < 0 ? Result<Value>(refusal("rindex: not found")) : Value::integer(at);
     }},
    {"format", format_method},
    {"ljust", justify_method<Place::left>},
    {"rjust", justify_method<Place::right>},
    {"center", justify_method<Place::middle>},
    {"zfill", zfill_method},
    {"partition", partition_method<false>},
    {"rpartition", partition_method<true>},
    {"isupper", is_case<true>},
    {"islower", is_case<false>},
    {"casefold",
     [](const Value& of, Arguments&) { return text_or_refuse(lower(of.as_text()), "casefold"); }},
    {"isdecimal", [](const Value& of, Arguments&) { return all_characters(of, is_digit); }},
    {"isnumeric", [](const Value& of, Arguments&) { return all_characters(of, is_digit); }},
    {"isdigit", [](const Value& of, Arguments&) { return all_characters(of, is_digit); }},
    {"isalpha", [](const Value& of, Arguments&) { return all_characters(of, is_letter); }},
    {"isalnum",
     [](const Value& of, Arguments&) {
       return all_characters(of, [](char c) { return is_digit(c) || is_letter(c); });
     }},
    {"isspace",
     [](const Value& of, Arguments&) {
       return all_characters(of, [](char c) { return is_blank({&c, 1}); });
     }},
    {"removeprefix",
     [](const Value& of, Arguments& arguments) -> Result<Value> {
       ArgumentReader reader("removeprefix", arguments, 0);
       const Text start = reader.take_text("prefix");
       KINGLET_TRY(reader.check_end());
       const Text& text = of.as_text();
       return text.bytes().starts_with(start.bytes())
                  ? Value::text(text.cut(start.size(), text.size()))
                  : of;
     }},
    {"removesuffix",
     [](const Value& of, Arguments& arguments) -> Result<Value> {
       ArgumentReader reader("removesuffix", arguments, 0);
       const Text end = reader.take_text("suffix");
       KINGLET_TRY(reader.check_end());
       const Text& text = of.as_text();
       return text.bytes().ends_with(end.bytes())
                  ? Value::text(text.cut(0, text.size() - end.size()))
                  : of;
     }},
};

Value pair(const std::pair<Value, Value>& entry) {
  return Value::tuple({entry.first, entry.second});
}

constexpr NamedFunction kDictMethods[] = {
    {"items",
     [](const Value& of, Arguments&) -> Result<Value> {
       List pairs;
       for (const auto& entry : of.entries().entries) pairs.push_back(pair(entry));
       return Value::view("dict_items", std::move(pairs));
     }},
    {"keys",
     [](const Value& of, Arguments&) -> Result<Value> {
       KINGLET_ASSIGN(const Value keys, elements(of));
       return Value::view("dict_keys", keys.items());
     }},
    {"values",
     [](const Value& of, Arguments&) -> Result<Value> {
       List values;
       for (const auto& [key, value] : of.entries().entries) values.push_back(value);
       return Value::view("dict_values", std::move(values));
     }},
    {"get",
     [](const Value& of, Arguments& arguments) -> Result<Value> {
       ArgumentReader reader("get", arguments, 0);
       const Value* key = reader.take("key");
       const Value* otherwise = reader.take("default");
       KINGLET_TRY(reader.check_end());
       if (key == nullptr) return refusal("get: expected a key");
       if (const Value* found = of.entries().find(*key)) return *found;
       return otherwise == nullptr ? Value::none() : *otherwise;
     }},
    {"copy", [](const Value& of, Arguments&) -> Result<Value> { return of; }},
};

constexpr NamedFunction kListMethods[] = {
    {"index",
     [](const Value& of, Arguments& arguments) -> Result<Value> {
       ArgumentReader reader("index", arguments, 0);
       const Value* wanted = reader.take("value");
       KINGLET_TRY(reader.check_end());
       for (size_t i = 0; wanted != nullptr && i < of.items().size(); ++i) {
         if (of.items()[i] == *wanted) return Value::integer(static_cast<int64_t>(i));
       }
       return refusal("index: not found");
     }},
    {"count",
     [](const Value& of, Arguments& arguments) -> Result<Value> {
       ArgumentReader reader("count", arguments, 0);
       const Value* wanted = reader.take("value");
       KINGLET_TRY(reader.check_end());
       int64_t n = 0;
       for (const Value& item : of.items()) n += wanted != nullptr && item == *wanted ? 1 : 0;
       return Value::integer(n);
     }},
    {"copy", [](const Value& of, Arguments&) -> Result<Value> { return of; }},
};

constexpr NamedFunction kGlobals[] = {
    {"range", range},
    {"dict", make_dict},
    {"namespace", make_namespace},
    {"joiner", make_joiner},
    {"raise_exception", raise_exception},
};

Value find_in(std::span<const NamedFunction> functions, const Value& self, std::string_view name) {
  for (const NamedFunction& row : functions) {
    if (row.name == name) return Value::function(row.function, self);
  }
  return Value::undefined(quoted(name));
}

}  // namespace

Value find_method(const Value& of, std::string_view name) {
  if (of.is(Kind::text)) return find_in(kTextMethods, of, name);
  if (of.is(Kind::dict)) return find_in(kDictMethods, of, name);
  if (of.is_sequence()) return find_in(kListMethods, of, name);
  return Value::undefined(quoted(name));
}

Value find_global(std::string_view name, const Now& now) {
  if (name != "strftime_now") return find_in(kGlobals, Value(), name);
  List numbers;
  for (const int number : {now.year, now.month, now.day, now.hour, now.minute, now.second}) {
    numbers.push_back(Value::integer(number));
  }
  return Value::function(tell_time, Value::tuple(std::move(numbers)));
}

Result<Value> attribute(const Value& of, std::string_view name) {
  if (of.is_undefined()) return refusal(cat(of.type_name(), " has no attribute ", quoted(name)));
  if (of.is(Kind::space)) {
    const Value* found = of.entries().find(name);
    return found == nullptr ? Value::undefined(quoted(name)) : *found;
  }
  Value method = find_method(of, name);
  if (!method.is_undefined() || !(of.is(Kind::dict) || of.is(Kind::tuple))) return method;
  const Value* found = of.entries().find(name);
  return found == nullptr ? method : *found;
}

Result<Value> element(const Value& of, const Value& index) {
  if (of.is_undefined()) return refusal(cat(of.type_name(), " has no elements"));
  if (of.is(Kind::dict) || of.is(Kind::space)) {
    if (const Value* found = of.entries().find(index)) return *found;
  }
  if ((of.is_sequence() || of.is(Kind::text)) && index.is_whole()) {
    const int64_t given = index.as_integer();
    const auto missing = [&] { return Value::undefined(cat("element ", given)); };
    if (of.is(Kind::text)) {
      const Text& text = of.as_text();
      const int64_t at = given < 0 ? given + length(text) : given;
      const size_t begin = at < 0 ? text.size() : byte_of(text, at);
      if (begin >= text.size()) return missing();
      const size_t n = decode_utf8(std::string_view(text.bytes()).substr(begin)).n_bytes;
      return Value::text(text.cut(begin, begin + n));
    }
    const auto n = static_cast<int64_t>(of.items().size());
    const int64_t at = given < 0 ? given + n : given;
    return at < 0 || at >= n ? missing() : of.items()[static_cast<size_t>(at)];
  }
  if (index.is(Kind::text)) return attribute(of, index.as_bytes());
  return Value::undefined(cat("element ", index.to_repr().bytes()));
}

}  // namespace kinglet::jinja
