#include "text/jinja/functions.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/ascii.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "base/utf8.h"
#include "text/jinja/arguments.h"
#include "text/jinja/format.h"
#include "text/jinja/search.h"
#include "text/jinja/strings.h"
#include "text/jinja/syntax.h"
#include "text/jinja/text_filters.h"
#include "text/jinja/work.h"

namespace kinglet::jinja {
namespace {

// The limit of the sandbox of transformers.
constexpr size_t kMostRange = 100000;

Result<Value> range(const Value&, Arguments& arguments) {
  int64_t bounds[3] = {0, 0, 1};
  const List& given = arguments.positional;
  if (given.empty() || given.size() > 3 || !arguments.named.empty()) {
    return refusal("range: expected one to three whole numbers");
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i].is_whole()) return refusal(cat("range() takes int, not ", given[i].type_name()));
    bounds[given.size() == 1 ? 1 : i] = given[i].as_integer();
  }
  const auto [begin, end, step] = bounds;
  if (step == 0) return refusal("range: the step must not be 0");
  // Computed with unsigned numbers, which do not overflow.
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(end) - static_cast<uint64_t>(begin)
                                     : static_cast<uint64_t>(begin) - static_cast<uint64_t>(end);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const bool is_empty = step > 0 ? begin >= end : begin <= end;
  if (!is_empty && (distance - 1) / stride >= kMostRange) {
    return refusal(cat("range: more than ", kMostRange, " numbers are not supported"));
  }
  return Value::range({begin, end, step});
}

Result<Value> make_dict(const Value&, Arguments& arguments) {
  constexpr size_t kMostPairs = 5000;  // every pair is compared with all others
  const List& given = arguments.positional;
  Dict dict;
  if (given.size() > 1) return refusal("dict() takes one mapping or list of pairs");
  if (given.size() == 1 && given.front().is_undefined()) {
    return refusal(
        cat("dict() takes a mapping or a list of pairs, not ", given.front().type_name()));
  }
  if (given.size() == 1 && given.front().is(Kind::dict)) {
    dict = given.front().entries();
  } else if (given.size() == 1) {
    KINGLET_ASSIGN(const Value pairs, elements(given.front()));
    if (pairs.items().size() > kMostPairs)
      return refusal(cat("dict: more than ", kMostPairs, " pairs are not supported"));
    for (const Value& item : pairs.items()) {
      KINGLET_ASSIGN(const Value through, elements(item));
      const List& pair = through.items();
      if (pair.size() != 2) return refusal("dict() takes a mapping or a list of pairs");
      KINGLET_TRY(check_key(pair[0]));
      dict.set(pair[0], pair[1]);
    }
  }
  for (auto& [name, value] : arguments.named) dict.set(Value::text(name), value);
  return Value::dict(std::move(dict));
}

Result<Value> make_namespace(const Value& self, Arguments& arguments) {
  KINGLET_ASSIGN(Value dict, make_dict(self, arguments));
  if (dict.holds_space()) return refusal("namespace: a namespace cannot contain another one");
  return Value::space(std::move(dict.entries()));
}

Result<Value> raise_exception(const Value&, Arguments& arguments) {
  ArgumentReader reader("raise_exception", arguments, 0);
  const Value* message = reader.take("message");
  return refusal(message == nullptr ? "" : message->to_text().bytes());
}

// Returns the separator from the second call on. `self`: a namespace with the separator.
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
    const bool is_bare = format[i + 1] == '-' && i + 2 < format.size();  // %-d: no leading zeros
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
        return refusal(cat("strftime_now: %", format.substr(i, 1), " is not supported"));
    }
  }
  return out;
}

// `self`: the numbers of the time, from the year to the second.
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
  Function function = nullptr;
  Getter getter = nullptr;  // instead of `function`
};

Result<Value> in_case(const Value& of, std::optional<Text> (*map)(const Text&)) {
  std::optional<Text> text = map(of.as_text());
  if (text) return Value::text(std::move(*text));
  return refusal("changing the case of these letters is not supported");
}

Result<Value> strip_method(const Value& of, Arguments& arguments, Ends ends) {
  ArgumentReader reader("strip", arguments, 0);
  const Value* characters = reader.take("chars");
  KINGLET_TRY(reader.check_end());
  const bool is_default = characters == nullptr || characters->is(Kind::none);
  if (!is_default && !characters->is(Kind::text)) return refusal("strip: expected str");
  if (!is_default && characters->as_text().empty()) return of;
  return Value::text(strip(of.as_text(), is_default ? "" : characters->as_bytes(), ends));
}

using Split = List (*)(const Text& text, const Text* separator, int64_t n);

Result<Value> split_method(const Value& of, Arguments& arguments, Split split) {
  ArgumentReader reader("split", arguments, 0);
  const Value* separator = reader.take("sep");
  const int64_t n = reader.take_integer("maxsplit", -1);
  KINGLET_TRY(reader.check_end());
  const bool is_default = separator == nullptr || separator->is(Kind::none);
  if (is_default) return Value::list(split(of.as_text(), nullptr, n));
  if (!separator->is(Kind::text) || separator->as_text().empty()) {
    return refusal("split: expected a separator that is not empty");
  }
  return Value::list(split(of.as_text(), &separator->as_text(), n));
}

// The part of a text between two places.
struct Part {
  std::string_view bytes;
  size_t begin = 0;
  bool exists = true;  // false if the begin is after the end
};

// Returns the part that the next two arguments select.
Part take_part(const Text& text, ArgumentReader& reader) {
  const auto start = reader.take_place("start");
  const auto end = reader.take_place("end");
  if (!start && !end) return {.bytes = text.bytes()};
  const int64_t n = length(text);
  const auto place = [&](int64_t at) { return at < 0 ? std::max<int64_t>(at + n, 0) : at; };
  const int64_t first = place(start.value_or(0));
  const int64_t last = std::min(place(end.value_or(n)), n);
  if (first > last) return {.bytes = {}, .exists = false};
  const size_t begin = byte_of(text, first);
  return {std::string_view(text.bytes()).substr(begin, byte_of(text, last) - begin), begin};
}

// Returns whether the text, or a part of it, starts or ends with the argument, or with one of them
// if the argument is a tuple.
Result<Value> has_at_end(const Value& of, Arguments& arguments, bool at_start) {
  ArgumentReader reader(at_start ? "startswith" : "endswith", arguments, 0);
  const Value* given = reader.take("affix");
  const Part part = take_part(of.as_text(), reader);
  KINGLET_TRY(reader.check_end());
  const List all = given == nullptr         ? List{Value()}
                   : given->is(Kind::tuple) ? given->items()
                                            : List{*given};
  bool found = false;
  for (const Value& one : all) {
    if (!one.is(Kind::text))
      return refusal(cat("startswith and endswith take str, not ", one.type_name()));
    const std::string& bytes = one.as_bytes();
    found = found || (part.exists &&
                      (at_start ? part.bytes.starts_with(bytes) : part.bytes.ends_with(bytes)));
  }
  return Value::boolean(found);
}

// Returns the position of the argument in the text, in characters; if it is not there, -1, or an
// error with `must_exist`.
Result<Value> find_in_text(const Value& of, Arguments& arguments, bool from_right,
                           bool must_exist) {
  ArgumentReader reader("find", arguments, 0);
  const Text wanted = reader.take_text("sub");
  const Part part = take_part(of.as_text(), reader);
  KINGLET_TRY(reader.check_end());
  const size_t at = !part.exists ? std::string::npos
                    : from_right ? find_last_text(part.bytes, wanted.bytes())
                                 : find_text(part.bytes, wanted.bytes());
  if (at != std::string::npos) {
    return Value::integer(length(of.as_text().cut(0, part.begin + at)));
  }
  return must_exist ? Result<Value>(refusal("index: not found")) : Value::integer(-1);
}

bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

bool is_beyond_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }

Result<Value> all_characters(const Value& of, bool (*holds)(char)) {
  const std::string& bytes = of.as_bytes();
  const bool is_ascii = std::none_of(bytes.begin(), bytes.end(), is_beyond_ascii);
  const bool may_hold = std::all_of(bytes.begin(), bytes.end(),
                                    [&](char c) { return is_beyond_ascii(c) || holds(c); });
  if (may_hold && !is_ascii) return refusal("non-ASCII characters are not supported");
  return Value::boolean(may_hold && !bytes.empty());
}

Result<Value> is_all_blank(const Value& of) {
  return Value::boolean(!of.as_bytes().empty() && strip(of.as_text(), "", Ends::both).empty());
}

Result<Value> is_ascii(const Value& of) {
  const std::string& bytes = of.as_bytes();
  return Value::boolean(std::none_of(bytes.begin(), bytes.end(), is_beyond_ascii));
}

Result<Value> fold_case(const Value& of) {
  if (of.as_bytes().find("\u00df") != std::string::npos)
    return refusal("casefold: the letter ß is not supported");
  return in_case(of, lower);
}

Result<Value> format_method(const Value& of, Arguments& arguments) {
  KINGLET_ASSIGN(Text text, format_braces(of.as_text(), arguments));
  return Value::text(std::move(text));
}

// The place of the text in the width: for ljust, rjust, center.
enum class Place : uint8_t { left, right, middle };

Result<Value> justify_method(const Value& of, Arguments& arguments, Place place) {
  ArgumentReader reader("justify", arguments, 0);
  const int64_t width = reader.take_integer("width", -1);
  const Text fill = reader.take_text("fillchar", " ");
  KINGLET_TRY(reader.check_end());
  if (width > kMostWidth || length(fill) != 1)
    return refusal(cat("expected a width of at most ", kMostWidth, " and one character"));
  if (place == Place::middle) return Value::text(centered(of.as_text(), width, fill.bytes()));
  Text filled;
  for (int64_t n = width - length(of.as_text()); n > 0; --n) filled.append(fill);
  Text out = place == Place::left ? of.as_text() : filled;
  out.append(place == Place::left ? filled : of.as_text());
  return Value::text(std::move(out));
}

// Replaces tabs by spaces up to the next column that is a multiple of the argument.
Result<Value> expandtabs_method(const Value& of, Arguments& arguments) {
  ArgumentReader reader("expandtabs", arguments, 0);
  const int64_t size = reader.take_integer("tabsize", 8);
  KINGLET_TRY(reader.check_end());
  if (size > kMostWidth)
    return refusal(cat("expandtabs: a tab size of more than ", kMostWidth, " is not supported"));
  const Text& text = of.as_text();
  const std::string_view bytes = text.bytes();
  Text out;
  size_t at = 0;
  int64_t column = 0;
  for (size_t i = 0; i < bytes.size() && !out.is_full(); ++i) {
    if (bytes[i] == '\t') {
      out.append(text.cut(at, i));
      at = i + 1;
      const int64_t n = size > 0 ? size - column % size : 0;
      out.append(std::string(static_cast<size_t>(n), ' '), text.is_said(i));
      column += n;
    } else if (bytes[i] == '\n' || bytes[i] == '\r') {
      column = 0;
    } else if ((static_cast<unsigned char>(bytes[i]) & 0xc0) != 0x80) {
      ++column;
    }
  }
  out.append(text.cut(at, text.size()));
  return Value::text(std::move(out));
}

Result<Value> zfill_method(const Value& of, Arguments& arguments) {
  ArgumentReader reader("zfill", arguments, 0);
  const int64_t width = reader.take_integer("width", -1);
  KINGLET_TRY(reader.check_end());
  if (width > kMostWidth)
    return refusal(cat("zfill: a width of more than ", kMostWidth, " is not supported"));
  const Text& text = of.as_text();
  const bool has_sign = text.bytes().starts_with('-') || text.bytes().starts_with('+');
  Text out = text.cut(0, has_sign ? 1 : 0);
  for (int64_t n = width - length(text); n > 0; --n) out.append("0");
  out.append(text.cut(has_sign ? 1 : 0, text.size()));
  return Value::text(std::move(out));
}

// Returns the text in front of the separator, the separator, and the text after it.
Result<Value> partition_method(const Value& of, Arguments& arguments, bool from_right) {
  ArgumentReader reader("partition", arguments, 0);
  const Text between = reader.take_text("sep");
  KINGLET_TRY(reader.check_end());
  if (between.empty()) return refusal("partition: expected a separator that is not empty");
  const Text& text = of.as_text();
  const size_t at = from_right ? find_last_text(text.bytes(), between.bytes())
                               : find_text(text.bytes(), between.bytes());
  // If there is no separator, all of the text is in the first part, or with `from_right` in the
  // last.
  const bool is_there = at != std::string::npos;
  const size_t end = is_there ? at + between.size() : from_right ? 0 : text.size();
  return Value::tuple({Value::text(text.cut(0, is_there ? at : end)),
                       Value::text(is_there ? between : Text()),
                       Value::text(text.cut(end, text.size()))});
}

Result<Value> has_case(const Value& of, Case wanted) {
  const auto holds = is_case(of.as_text(), wanted);
  if (holds) return Value::boolean(*holds);
  return refusal("changing the case of these letters is not supported");
}

Result<Value> is_digits(const Value& of) { return all_characters(of, is_digit); }

constexpr NamedFunction kTextMethods[] = {
    {"strip", [](const Value& of, Arguments& a) { return strip_method(of, a, Ends::both); }},
    {"lstrip", [](const Value& of, Arguments& a) { return strip_method(of, a, Ends::left); }},
    {"rstrip", [](const Value& of, Arguments& a) { return strip_method(of, a, Ends::right); }},
    {"split", [](const Value& of, Arguments& a) { return split_method(of, a, split); }},
    {"rsplit", [](const Value& of, Arguments& a) { return split_method(of, a, split_from_right); }},
    {"splitlines",
     [](const Value& of, Arguments& arguments) -> Result<Value> {
       ArgumentReader reader("splitlines", arguments, 0);
       const bool keeps_ends = reader.take_truth("keepends", false);
       KINGLET_TRY(reader.check_end());
       return Value::list(split_lines(of.as_text(), keeps_ends));
     }},
    {"startswith", [](const Value& of, Arguments& a) { return has_at_end(of, a, true); }},
    {"endswith", [](const Value& of, Arguments& a) { return has_at_end(of, a, false); }},
    {"upper", nullptr, [](const Value& of) { return in_case(of, upper); }},
    {"lower", nullptr, [](const Value& of) { return in_case(of, lower); }},
    {"title", nullptr, [](const Value& of) { return in_case(of, title); }},
    {"capitalize", nullptr, [](const Value& of) { return in_case(of, capitalize); }},
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
         if (!item.is(Kind::text))
           return refusal(cat("join: expected str, found ", item.type_name()));
       }
       return Value::text(join(items, of.as_text()));
     }},
    {"find", [](const Value& of, Arguments& a) { return find_in_text(of, a, false, false); }},
    {"rfind", [](const Value& of, Arguments& a) { return find_in_text(of, a, true, false); }},
    {"index", [](const Value& of, Arguments& a) { return find_in_text(of, a, false, true); }},
    {"rindex", [](const Value& of, Arguments& a) { return find_in_text(of, a, true, true); }},
    {"count",
     [](const Value& of, Arguments& arguments) -> Result<Value> {
       ArgumentReader reader("count", arguments, 0);
       const Text wanted = reader.take_text("sub");
       const Part part = take_part(of.as_text(), reader);
       KINGLET_TRY(reader.check_end());
       if (!part.exists) return Value::integer(0);
       const Text text(part.bytes);
       if (wanted.empty()) return Value::integer(length(text) + 1);
       return Value::integer(static_cast<int64_t>(split(text, &wanted, -1).size()) - 1);
     }},
    {"format", format_method},
    {"ljust", [](const Value& of, Arguments& a) { return justify_method(of, a, Place::left); }},
    {"rjust", [](const Value& of, Arguments& a) { return justify_method(of, a, Place::right); }},
    {"center", [](const Value& of, Arguments& a) { return justify_method(of, a, Place::middle); }},
    {"zfill", zfill_method},
    {"expandtabs", expandtabs_method},
    {"partition", [](const Value& of, Arguments& a) { return partition_method(of, a, false); }},
    {"rpartition", [](const Value& of, Arguments& a) { return partition_method(of, a, true); }},
    {"isupper", nullptr, [](const Value& of) { return has_case(of, Case::upper); }},
    {"islower", nullptr, [](const Value& of) { return has_case(of, Case::lower); }},
    {"casefold", nullptr, fold_case},
    {"isdecimal", nullptr, is_digits},
    {"isnumeric", nullptr, is_digits},
    {"isdigit", nullptr, is_digits},
    {"isalpha", nullptr, [](const Value& of) { return all_characters(of, is_letter); }},
    {"isalnum", nullptr, [](const Value& of) { return all_characters(of, is_letter_or_digit); }},
    {"isspace", nullptr, is_all_blank},
    {"isascii", nullptr, is_ascii},
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

Result<Value> items_of(const Value& of) {
  List pairs;
  Work::spend(of.entries().entries.size() * 2 * kOfItem);
  for (const auto& [key, value] : of.entries().entries) pairs.push_back(Value::tuple({key, value}));
  return Value::view("dict_items", std::move(pairs));
}

Result<Value> keys_of(const Value& of) {
  KINGLET_ASSIGN(const Value keys, elements(of));
  return Value::view("dict_keys", keys.items());
}

Result<Value> values_of(const Value& of) {
  List values;
  Work::spend(of.entries().entries.size() * kOfItem);
  for (const auto& [key, value] : of.entries().entries) values.push_back(value);
  return Value::view("dict_values", std::move(values));
}

Result<Value> copy_of(const Value& of) { return of; }

// Methods that change a dict: Python has them, so they hide entries of the same name, but templates
// must not use them.
constexpr std::string_view kForbidden = " clear pop popitem setdefault update ";

constexpr NamedFunction kDictMethods[] = {
    {"items", nullptr, items_of},
    {"keys", nullptr, keys_of},
    {"values", nullptr, values_of},
    {"get",
     [](const Value& of, Arguments& arguments) -> Result<Value> {
       ArgumentReader reader("get", arguments, 0);
       const Value* key = reader.take("key");
       const Value* otherwise = reader.take("default");
       KINGLET_TRY(reader.check_end());
       if (key == nullptr) return refusal("get: expected a key");
       KINGLET_TRY(check_key(*key));
       if (const Value* found = of.entries().find(*key)) return *found;
       return otherwise == nullptr ? Value::none() : *otherwise;
     }},
    {"copy", nullptr, copy_of},
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
       if (wanted == nullptr) return refusal("count: expected a value");
       return Value::integer(std::count(of.items().begin(), of.items().end(), *wanted));
     }},
    {"copy", nullptr, copy_of},  // must be the last row: only lists have it, not tuples or ranges
};

// Other attributes of Python's types, which are not implemented. Methods are left out where calling
// them fails anyway.
struct OtherNames {
  Kind kind;
  std::string_view names;
};
constexpr OtherNames kOtherNames[] = {
    {Kind::boolean, " denominator imag numerator real "},
    {Kind::integer, " denominator imag numerator real "},
    {Kind::long_integer, " denominator imag numerator real "},
    {Kind::real, " imag real "},
    {Kind::dict, " fromkeys "},
    {Kind::range, " start step stop "},
};

bool has_word(std::string_view words, std::string_view word) {
  return words.find(cat(" ", word, " ")) != std::string_view::npos;
}

bool is_other_name(Kind kind, std::string_view name) {
  return std::any_of(std::begin(kOtherNames), std::end(kOtherNames), [&](const OtherNames& others) {
    return others.kind == kind && has_word(others.names, name);
  });
}

constexpr NamedFunction kGlobals[] = {
    {"range", range},
    {"dict", make_dict},
    {"namespace", make_namespace},
    {"joiner", make_joiner},
    {"raise_exception", raise_exception},
};

Value find_in(std::span<const NamedFunction> functions, const Value& self, std::string_view name) {
  for (const NamedFunction& row : functions) {
    if (row.name != name) continue;
    return row.getter == nullptr ? Value::function(row.function, self)
                                 : Value::getter(row.getter, self);
  }
  return Value::undefined(in_quotes(name));
}

// --- Methods of escaped texts

// Methods whose result is markup. They escape their arguments, except split() and the like. What
// other methods return, text or markup, depends on the release of MarkupSafe.
constexpr std::string_view kGivesMarkup =
    " strip lstrip rstrip upper lower title capitalize replace ljust rjust center zfill expandtabs "
    "split rsplit splitlines ";

// Calls a method of a text that is markup. `self`: the text and the method's name.
Result<Value> markup_method(const Value& self, Arguments& arguments) {
  const std::string& name = self.items()[1].as_bytes();
  const bool gives_markup = has_word(kGivesMarkup, name);
  const bool escapes = gives_markup && name.find("split") == std::string::npos;
  for (Value& argument : arguments.positional) {
    if (escapes && argument.is(Kind::text)) argument = escaped(argument);
  }
  KINGLET_ASSIGN(const Value result, find_in(kTextMethods, self.items()[0], name).call(arguments));
  if (gives_markup && result.is(Kind::text)) return Value::markup(result.as_text());
  if (result.is(Kind::boolean) || result.is(Kind::integer)) return result;
  if (!gives_markup) return refusal(cat(name, ": not supported for escaped strings"));
  List parts = result.items();
  for (Value& part : parts) part = Value::markup(part.as_text());
  return Value::list(std::move(parts));
}

}  // namespace

Value find_method(const Value& of, std::string_view name) {
  if (of.is(Kind::text)) {
    Value method = find_in(kTextMethods, of, name);
    if (!of.is_markup() || method.is_undefined()) return method;
    return Value::function(markup_method, Value::tuple({of, Value::text(name)}));
  }
  if (of.is(Kind::dict)) return find_in(kDictMethods, of, name);
  const std::span<const NamedFunction> of_lists(kListMethods);
  if (of.is(Kind::list)) return find_in(of_lists, of, name);
  if (of.has_places()) return find_in(of_lists.first(of_lists.size() - 1), of, name);
  return Value::undefined(in_quotes(name));
}

Result<Value> find_global(std::string_view name, const Now& now) {
  if (has_word(" cycler lipsum self ", name)) return refusal(cat(name, " is not supported"));
  if (name != "strftime_now") return find_in(kGlobals, Value(), name);
  List numbers;
  for (const int number : {now.year, now.month, now.day, now.hour, now.minute, now.second}) {
    numbers.push_back(Value::integer(number));
  }
  return Value::function(tell_time, Value::tuple(std::move(numbers)));
}

namespace {

Value macro_attribute(const Node& macro, std::string_view name) {
  const auto catches = [&](bool mentions, std::string_view special) {
    const auto& names = macro.names;
    return Value::boolean(mentions &&
                          std::find(names.begin(), names.end(), special) == names.end());
  };
  if (name == "name") return macro.name.empty() ? Value::none() : Value::text(macro.name);
  if (name == "catch_varargs") return catches(macro.takes_varargs, "varargs");
  if (name == "catch_kwargs") return catches(macro.takes_kwargs, "kwargs");
  if (name == "caller") return Value::boolean(macro.takes_caller);
  if (name != "arguments" && name != "explicit_caller") return Value::undefined(in_quotes(name));
  List names;
  bool has_caller = false;
  for (const std::string& parameter : macro.names) {
    names.push_back(Value::text(parameter));
    has_caller = has_caller || parameter == "caller";
  }
  return name == "arguments" ? Value::tuple(std::move(names)) : Value::boolean(has_caller);
}

}  // namespace

Result<Value> attribute(const Value& of, std::string_view name) {
  if (of.is_undefined()) return refusal(cat(of.type_name(), " has no attribute ", in_quotes(name)));
  if (of.is(Kind::space)) {
    const Value* found = of.entries().find(name);
    return found == nullptr ? Value::undefined(in_quotes(name)) : *found;
  }
  if (of.is(Kind::macro)) return macro_attribute(*of.as_macro().node, name);
  if (is_other_name(of.kind(), name)) {
    return refusal(cat("attribute ", in_quotes(name), " of ", of.type_name(), " is not supported"));
  }
  Value method = find_method(of, name);
  const bool has_entries = of.is(Kind::dict) || of.is(Kind::tuple);
  if (!method.is_undefined() || !has_entries) return method;
  if (of.is(Kind::dict) && has_word(kForbidden, name)) return method;
  const Value* found = of.entries().find(name);
  return found == nullptr ? method : *found;
}

Result<Value> element(const Value& of, const Value& index) {
  if (of.is_undefined()) return refusal(cat(of.type_name(), " has no elements"));
  if (of.is(Kind::dict) || of.is(Kind::space)) {
    if (const Value* found = of.entries().find(index)) return *found;
  }
  if ((of.has_places() || of.is(Kind::text)) && index.is_whole()) {
    const int64_t given = index.as_integer();
    const auto missing = [&] { return Value::undefined(cat("element ", given)); };
    if (of.is(Kind::text)) {
      const Text& text = of.as_text();
      const int64_t at = given < 0 ? given + length(text) : given;
      const size_t begin = at < 0 ? text.size() : byte_of(text, at);
      if (begin >= text.size()) return missing();
      const size_t n = decode_utf8(std::string_view(text.bytes()).substr(begin)).n_bytes;
      return of.with_text(text.cut(begin, begin + n));
    }
    const auto n = static_cast<int64_t>(of.items().size());
    const int64_t at = given < 0 ? given + n : given;
    return at < 0 || at >= n ? missing() : of.items()[static_cast<size_t>(at)];
  }
  if (index.is(Kind::text)) return attribute(of, index.as_bytes());
  return Value::undefined(cat("element ", index.to_repr().bytes()));
}

}  // namespace kinglet::jinja
