// Filters and tests. Source: Jinja's documentation, "List of Builtin Filters" and "… Tests"; tojson
// as transformers replaces it.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "base/ascii.h"
#include "base/format.h"
#include "base/quoted.h"
#include "text/jinja/arguments.h"
#include "text/jinja/functions.h"
#include "text/jinja/json.h"
#include "text/jinja/numbers.h"
#include "text/jinja/search.h"
#include "text/jinja/strings.h"
#include "text/jinja/text_filters.h"

namespace kinglet::jinja {
namespace {

const Value& filtered(const Arguments& arguments) { return arguments.positional.front(); }

// Texts as they are, others as they are printed.
Text text_of(const Arguments& arguments) { return filtered(arguments).to_text(); }

Result<Value> text_or_refuse(std::optional<Text> text, std::string_view name) {
  if (text) return Value::text(std::move(*text));
  return refusal(cat(name, ": letters beyond ASCII are not changed here"));
}

Result<Value> to_json(Arguments& arguments) {
  ArgumentReader reader("tojson", arguments);
  JsonStyle style;
  const Value* ascii = reader.take("ensure_ascii");
  const Value* indent = reader.take("indent");
  const Value* separators = reader.take("separators");
  style.sort_keys = reader.take_truth("sort_keys", false);
  KINGLET_TRY(reader.check_end());
  style.ascii = ascii != nullptr && ascii->is_true();
  if (indent != nullptr && indent->is_whole()) {
    style.indent = static_cast<size_t>(std::clamp<int64_t>(indent->as_integer(), 0, 16));
  }
  if (separators != nullptr && separators->is_sequence() && separators->items().size() == 2) {
    style.item_separator = separators->items()[0].to_text();
    style.key_separator = separators->items()[1].to_text();
  }
  KINGLET_ASSIGN(Text text, print_json(filtered(arguments), style));
  return Value::text(std::move(text));
}

Result<Value> trim(Arguments& arguments) {
  ArgumentReader reader("trim", arguments);
  const Value* characters = reader.take("chars");
  KINGLET_TRY(reader.check_end());
  const bool is_default = characters == nullptr || !characters->is(Kind::text);
  return Value::text(
      strip(text_of(arguments), is_default ? "" : characters->as_bytes(), Ends::both));
}

Result<Value> count(Arguments& arguments) {
  const Value& of = filtered(arguments);
  if (of.is(Kind::text)) return Value::integer(length(of.as_text()));
  if (!of.is_undefined() && !of.is_sequence() && !of.is(Kind::dict) && !of.is(Kind::view)) {
    return refusal(cat("length: ", of.type_name(), " has none"));
  }
  KINGLET_ASSIGN(const Value through, elements(of));
  return Value::integer(static_cast<int64_t>(through.items().size()));
}

// "a.b.0": attributes of attributes; a number is an element.
Result<Value> deep_attribute(const Value& of, const Value& path) {
  if (!path.is(Kind::text)) return element(of, path);
  const Text dot(".");
  Value value = of;
  for (const Value& part : split(path.as_text(), &dot, -1)) {
    const std::string& name = part.as_bytes();
    const auto number = read_whole(name);
    const Value index = number && is_digit(name.front()) ? Value::integer(*number) : part;
    KINGLET_ASSIGN(value, element(value, index));
  }
  return value;
}

Result<Value> join_filter(Arguments& arguments) {
  ArgumentReader reader("join", arguments);
  const Text separator = reader.take_text("d");
  const Value* path = reader.take("attribute");
  KINGLET_TRY(reader.check_end());
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  List items = through.items();
  for (Value& item : items) {
    if (path == nullptr || path->is(Kind::none)) continue;
    KINGLET_ASSIGN(item, deep_attribute(item, *path));
  }
  return Value::text(join(items, separator));
}

Result<Value> map_filter(Arguments& arguments) {
  if (!filtered(arguments).is_true()) return Value::generator({});  // None, too
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  List items = through.items();
  const auto named = [&](std::string_view name) -> const Value* {
    for (const auto& [known, value] : arguments.named) {
      if (known == name) return &value;
    }
    return nullptr;
  };
  if (const Value* path = named("attribute")) {
    const Value* otherwise = named("default");
    for (Value& item : items) {
      KINGLET_ASSIGN(item, deep_attribute(item, *path));
      if (item.is_undefined() && otherwise != nullptr) item = *otherwise;
    }
    return Value::generator(std::move(items));
  }
  if (arguments.positional.size() < 2 || !arguments.positional[1].is(Kind::text)) {
    return refusal("map: expected the name of a filter, or an attribute");
  }
  const std::string& name = arguments.positional[1].as_bytes();
  const Filter filter = find_filter(name);
  if (filter == nullptr) return refusal(cat("map: filter ", quoted(name), " is unknown here"));
  for (Value& item : items) {
    Arguments of_item = {{item}, arguments.named};
    of_item.positional.insert(of_item.positional.end(), arguments.positional.begin() + 2,
                              arguments.positional.end());
    KINGLET_ASSIGN(item, filter(of_item));
  }
  return Value::generator(std::move(items));
}

// select, reject, selectattr and rejectattr.
Result<Value> select_by(const Arguments& arguments, bool by_attribute, bool selects) {
  if (!filtered(arguments).is_true()) return Value::generator({});  // None, too
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  const List& items = through.items();
  const List& given = arguments.positional;
  const size_t name_at = by_attribute ? 2 : 1;
  if (by_attribute && given.size() < 2) return refusal("selectattr: expected an attribute");
  Test test = nullptr;
  if (given.size() > name_at) {
    const std::string name = given[name_at].to_text().bytes();
    test = find_test(name);
    if (test == nullptr) return refusal(cat("select: test ", quoted(name), " is unknown here"));
  }
  List kept;
  for (const Value& item : items) {
    Value tested = item;
    if (by_attribute) {
      KINGLET_ASSIGN(tested, deep_attribute(item, given[1]));
    }
    bool holds = tested.is_true();
    if (test != nullptr) {
      List of_test = {tested};
      of_test.insert(of_test.end(), given.begin() + static_cast<ptrdiff_t>(name_at + 1),
                     given.end());
      KINGLET_ASSIGN(holds, test(of_test));
    }
    if (holds == selects) kept.push_back(item);
  }
  return Value::generator(std::move(kept));
}

template <bool kByAttribute, bool kSelects>
Result<Value> select_filter(Arguments& arguments) {
  return select_by(arguments, kByAttribute, kSelects);
}

template <bool kLast>
Result<Value> end_filter(Arguments& arguments) {
  if (kLast && filtered(arguments).is(Kind::generator)) return refusal("last: of a generator");
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  const List& items = through.items();
  if (items.empty()) return Value::undefined("the end of nothing");
  return kLast ? items.back() : items.front();
}

Result<Value> default_filter(Arguments& arguments) {
  ArgumentReader reader("default", arguments);
  const Value* otherwise = reader.take("default_value");
  const bool looks_at_truth = reader.take_truth("boolean", false);
  KINGLET_TRY(reader.check_end());
  const Value& value = filtered(arguments);
  const bool is_missing = value.is_undefined() || (looks_at_truth && !value.is_true());
  if (!is_missing) return value;
  return otherwise == nullptr ? Value::text("") : *otherwise;
}

Result<Value> replace_filter(Arguments& arguments) {
  ArgumentReader reader("replace", arguments);
  const Text old = reader.take_text("old");
  const Text with = reader.take_text("new");
  const Value* n = reader.take("count");
  KINGLET_TRY(reader.check_end());
  const bool has_count = n != nullptr && n->is_whole();
  return Value::text(
      replace(text_of(arguments), old.bytes(), with, has_count ? n->as_integer() : -1));
}

Result<Value> indent_filter(Arguments& arguments) {
  ArgumentReader reader("indent", arguments);
  const Value* width = reader.take("width");
  const bool indents_first = reader.take_truth("first", false);
  const bool indents_blank = reader.take_truth("blank", false);
  KINGLET_TRY(reader.check_end());
  Text space("    ");
  if (width != nullptr && width->is(Kind::text)) space = width->as_text();
  if (width != nullptr && width->is_whole()) {
    space = Text(
        std::string(static_cast<size_t>(std::clamp<int64_t>(width->as_integer(), 0, 1000)), ' '));
  }
  const Value& value = filtered(arguments);
  if (!value.is(Kind::text)) return refusal(cat("indent: ", value.type_name(), " is no str"));
  Text text = value.as_text();
  text.append("\n");  // this quirk is necessary for splitlines, as there
  const List lines = split_lines(text, false);
  Text out;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Text& line = lines[i].as_text();
    if (i > 0) out.append("\n");
    if ((i > 0 && (indents_blank || !line.empty())) || (i == 0 && indents_first)) out.append(space);
    out.append(line);
  }
  return Value::text(std::move(out));
}

Result<Value> to_integer(Arguments& arguments) {
  ArgumentReader reader("int", arguments);
  const int64_t otherwise = reader.take_integer("default", 0);
  const int64_t base = reader.take_integer("base", 10);
  KINGLET_TRY(reader.check_end());
  if (base != 10) return refusal("int: only base 10 is known here");
  const Value& value = filtered(arguments);
  if (value.is_undefined()) return refusal(cat("int: ", value.type_name(), " is no number"));
  if (value.is_whole()) return Value::integer(value.as_integer());
  std::optional<double> real;
  if (value.is(Kind::real)) real = value.as_real();
  if (value.is(Kind::text)) {
    const std::string digits = strip(value.as_text(), "", Ends::both).bytes();
    if (const auto whole = read_whole(digits)) return Value::integer(*whole);
    real = read_number(digits);
  }
  const bool fits = real && std::fabs(*real) < 0x1p62;
  return Value::integer(fits ? static_cast<int64_t>(*real) : otherwise);
}

Result<Value> to_real(Arguments& arguments) {
  ArgumentReader reader("float", arguments);
  const Value* otherwise = reader.take("default");
  KINGLET_TRY(reader.check_end());
  const Value& value = filtered(arguments);
  if (value.is_undefined()) return refusal(cat("float: ", value.type_name(), " is no number"));
  if (value.is_number()) return Value::real(value.as_real());
  std::optional<double> real;
  if (value.is(Kind::text)) {
    real = read_number(strip(value.as_text(), "", Ends::both).bytes());
  }
  if (real) return Value::real(*real);
  return otherwise == nullptr ? Value::real(0) : *otherwise;
}

// Texts without regard to case, unless that counts.
Result<Value> sort_key(const Value& value, bool case_counts) {
  if (case_counts || !value.is(Kind::text)) return value;
  return text_or_refuse(lower(value.as_text()), "sort");
}

// What "a,b.c" names of an item, as a list: attributes that are missing in both are equal.
Result<Value> sort_keys(const Value& item, const Value* path, bool case_counts) {
  List paths = {path == nullptr ? Value::none() : *path};
  const Text comma(",");
  if (paths.front().is(Kind::text)) paths = split(path->as_text(), &comma, -1);
  for (Value& place : paths) {
    if (place.is(Kind::none)) {
      place = item;
    } else {
      KINGLET_ASSIGN(place, deep_attribute(item, place));
    }
    KINGLET_ASSIGN(place, sort_key(place, case_counts));
  }
  return Value::list(std::move(paths));
}

// The values in the order of their keys.
Result<Value> sorted(const List& keys, const List& values, bool reverse) {
  KINGLET_ASSIGN(const std::vector<size_t> places, sorted_places(keys, reverse));
  List in_order;
  for (const size_t place : places) in_order.push_back(values[place]);
  return Value::list(std::move(in_order));
}

Result<Value> sort_filter(Arguments& arguments) {
  ArgumentReader reader("sort", arguments);
  const bool reverse = reader.take_truth("reverse", false);
  const bool case_counts = reader.take_truth("case_sensitive", false);
  const Value* path = reader.take("attribute");
  KINGLET_TRY(reader.check_end());
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  const List& items = through.items();
  List keys;
  for (const Value& item : items) {
    KINGLET_ASSIGN(Value key, sort_keys(item, path, case_counts));
    keys.push_back(std::move(key));
  }
  return sorted(keys, items, reverse);
}

// [(key, values)], each also by the names `grouper` and `list`.
Result<Value> group_filter(Arguments& arguments) {
  ArgumentReader reader("groupby", arguments);
  const Value* path = reader.take("attribute");
  const Value* otherwise = reader.take("default");
  const bool case_counts = reader.take_truth("case_sensitive", false);
  KINGLET_TRY(reader.check_end());
  if (path == nullptr) return refusal("groupby: expected an attribute");
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  const List& items = through.items();
  List names;
  List keys;
  for (const Value& item : items) {
    KINGLET_ASSIGN(Value name, deep_attribute(item, *path));
    if (name.is_undefined() && otherwise != nullptr) name = *otherwise;
    KINGLET_ASSIGN(Value key, sort_key(name, case_counts));
    names.push_back(std::move(name));
    keys.push_back(std::move(key));
  }
  KINGLET_ASSIGN(const std::vector<size_t> places, sorted_places(keys, false));
  List groups;
  for (size_t at = 0; at < places.size();) {
    const size_t first = places[at];
    List values;
    for (; at < places.size() && keys[places[at]] == keys[first]; ++at) {
      values.push_back(items[places[at]]);
    }
    groups.push_back(Value::group(names[first], Value::list(std::move(values))));
  }
  return Value::list(std::move(groups));
}

// In lists of so many, the last one filled up where a value is given for it.
Result<Value> batch_filter(Arguments& arguments) {
  ArgumentReader reader("batch", arguments);
  const int64_t size = reader.take_integer("linecount", 0);
  const Value* fill = reader.take("fill_with");
  KINGLET_TRY(reader.check_end());
  const bool fills = fill != nullptr && !fill->is(Kind::none);
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  if (size < 1 || (fills && size > static_cast<int64_t>(kMostItems))) {
    return refusal("batch: expected how many belong together");
  }
  List batches;
  List batch;
  for (const Value& item : through.items()) {
    if (batch.size() == static_cast<size_t>(size)) {
      batches.push_back(Value::list(std::exchange(batch, {})));
    }
    batch.push_back(item);
  }
  if (batch.empty()) return Value::generator(std::move(batches));
  if (fills) batch.resize(static_cast<size_t>(size), *fill);
  batches.push_back(Value::list(std::move(batch)));
  return Value::generator(std::move(batches));
}

// In so many lists of nearly the same size.
Result<Value> slice_filter(Arguments& arguments) {
  ArgumentReader reader("slice", arguments);
  const int64_t given = reader.take_integer("slices", 0);
  const Value* fill = reader.take("fill_with");
  KINGLET_TRY(reader.check_end());
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  if (given < 1 || given > static_cast<int64_t>(kMostItems)) {
    return refusal("slice: expected a number of lists");
  }
  const List& items = through.items();
  const auto n = static_cast<size_t>(given);
  List slices;
  auto at = items.begin();
  for (size_t i = 0; i < n; ++i) {
    const bool is_longer = i < items.size() % n;
    const auto end = at + static_cast<ptrdiff_t>(items.size() / n + (is_longer ? 1 : 0));
    List slice(at, end);
    if (fill != nullptr && !fill->is(Kind::none) && !is_longer) slice.push_back(*fill);
    slices.push_back(Value::list(std::move(slice)));
    at = end;
  }
  return Value::generator(std::move(slices));
}

Result<Value> sort_dict(Arguments& arguments) {
  ArgumentReader reader("dictsort", arguments);
  const bool case_counts = reader.take_truth("case_sensitive", false);
  const Text by = reader.take_text("by", "key");
  const bool reverse = reader.take_truth("reverse", false);
  KINGLET_TRY(reader.check_end());
  if (!filtered(arguments).is(Kind::dict)) return refusal("dictsort: expected a dict");
  List keys;
  List pairs;
  for (const auto& [key, value] : filtered(arguments).entries().entries) {
    KINGLET_ASSIGN(Value wanted, sort_key(by.bytes() == "value" ? value : key, case_counts));
    keys.push_back(std::move(wanted));
    pairs.push_back(Value::tuple({key, value}));
  }
  return sorted(keys, pairs, reverse);
}

Result<Value> unique(Arguments& arguments) {
  ArgumentReader reader("unique", arguments);
  const bool case_counts = reader.take_truth("case_sensitive", false);
  const Value* path = reader.take("attribute");
  KINGLET_TRY(reader.check_end());
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  const List& items = through.items();
  constexpr size_t kMostCompared = 5000;  // each with each
  if (items.size() > kMostCompared) return refusal(cat("unique: more than ", kMostCompared));
  List keys;
  List kept;
  for (const Value& item : items) {
    Value key = item;
    if (path != nullptr && !path->is(Kind::none)) {
      KINGLET_ASSIGN(key, deep_attribute(item, *path));
    }
    KINGLET_ASSIGN(key, sort_key(key, case_counts));
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    keys.push_back(key);
    kept.push_back(item);
  }
  return Value::generator(std::move(kept));
}

Result<Value> reverse_filter(Arguments& arguments) {
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  List items = through.items();
  std::reverse(items.begin(), items.end());
  if (filtered(arguments).is(Kind::text)) return Value::text(join(items, Text()));
  return Value::generator(std::move(items));
}

template <int kSign>
Result<Value> extreme(Arguments& arguments) {
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  const List& items = through.items();
  if (items.empty()) return Value::undefined("the extreme of nothing");
  Value best = items.front();
  for (const Value& item : items) {
    KINGLET_ASSIGN(const Value key, sort_key(item, false));
    KINGLET_ASSIGN(const Value best_key, sort_key(best, false));
    KINGLET_ASSIGN(const int order, compare(key, best_key));
    if (order == kSign) best = item;
  }
  return best;
}

Result<Value> sum(Arguments& arguments) {
  ArgumentReader reader("sum", arguments);
  const Value* path = reader.take("attribute");
  KINGLET_TRY(reader.check_end());
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  const List& items = through.items();
  double total = 0;
  bool is_whole = true;
  for (const Value& item : items) {
    Value number = item;
    if (path != nullptr && !path->is(Kind::none)) {
      KINGLET_ASSIGN(number, deep_attribute(item, *path));
    }
    if (!number.is_number()) return refusal(cat("sum: ", number.type_name(), " is no number"));
    is_whole = is_whole && number.is_whole();
    total += number.as_real();
  }
  return is_whole ? Value::integer(static_cast<int64_t>(total)) : Value::real(total);
}

Result<Value> absolute(Arguments& arguments) {
  const Value& value = filtered(arguments);
  if (value.is_whole()) return Value::integer(std::abs(value.as_integer()));
  if (value.is(Kind::real)) return Value::real(std::fabs(value.as_real()));
  return refusal(cat("abs: ", value.type_name(), " is no number"));
}

Result<Value> round_filter(Arguments& arguments) {
  ArgumentReader reader("round", arguments);
  const int64_t precision = reader.take_integer("precision", 0);
  const Text method = reader.take_text("method", "common");
  KINGLET_TRY(reader.check_end());
  const Value& value = filtered(arguments);
  if (!value.is_number()) return refusal(cat("round: ", value.type_name(), " is no number"));
  if (precision < 0 || precision > 15) return refusal("round: a precision from 0 to 15");
  const double number = value.as_real();
  const bool is_up = method.bytes() == "ceil";
  if (!is_up && method.bytes() != "floor") {
    if (method.bytes() != "common") return refusal("round: the method is common, ceil or floor");
    if (value.is_whole()) return Value::integer(value.as_integer());
    if (!std::isfinite(number)) return value;
    const std::string rounded = fixed_text(number, static_cast<size_t>(precision));
    return Value::real(read_number(rounded).value_or(number));
  }
  double scale = 1;
  for (int64_t n = 0; n < precision; ++n) scale *= 10;
  const double scaled = number * scale;
  return Value::real((is_up ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Result<Value> escape(Arguments& arguments) {
  const Text text = text_of(arguments);
  Text out;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text.bytes()[at];
    const std::string_view name = c == '&'    ? "&amp;"
                                  : c == '<'  ? "&lt;"
                                  : c == '>'  ? "&gt;"
                                  : c == '"'  ? "&#34;"
                                  : c == '\'' ? "&#39;"
                                              : "";
    if (name.empty()) {
      out.append(text.cut(at, at + 1));
    } else {
      out.append(name, text.is_said(at));
    }
  }
  return Value::text(std::move(out));
}

Result<Value> items_filter(Arguments& arguments) {
  const Value& value = filtered(arguments);
  if (value.is_undefined()) return Value::generator({});
  if (!value.is(Kind::dict)) return refusal(cat("items: ", value.type_name(), " is no dict"));
  Arguments none;
  KINGLET_ASSIGN(const Value view, find_method(value, "items").call(none));
  return Value::generator(view.items());
}

// Each first letter large: of the text, and after blanks and opening brackets.
std::optional<Text> words_up(const Text& text) {
  const std::optional<Text> small = lower(text);
  if (!small) return std::nullopt;
  Text out;
  bool is_first = true;
  for (size_t at = 0; at < small->size(); ++at) {
    const std::string_view c = std::string_view(small->bytes()).substr(at, 1);
    const bool is_small = is_letter(c.front());
    const char large = static_cast<char>(c.front() - (is_first && is_small ? 32 : 0));
    out.append(std::string_view(&large, 1), small->is_said(at));
    is_first = is_blank(c) || c.find_first_of("-({[<") == 0;
  }
  return out;
}

struct NamedFilter {
  std::string_view name;
  Filter filter;
};

constexpr NamedFilter kFilters[] = {
    {"tojson", to_json},
    {"trim", trim},
    {"length", count},
    {"count", count},
    {"join", join_filter},
    {"map", map_filter},
    {"select", select_filter<false, true>},
    {"reject", select_filter<false, false>},
    {"selectattr", select_filter<true, true>},
    {"rejectattr", select_filter<true, false>},
    {"first", end_filter<false>},
    {"last", end_filter<true>},
    {"default", default_filter},
    {"d", default_filter},
    {"replace", replace_filter},
    {"indent", indent_filter},
    {"int", to_integer},
    {"float", to_real},
    {"sort", sort_filter},
    {"dictsort", sort_dict},
    {"unique", unique},
    {"reverse", reverse_filter},
    {"min", extreme<-1>},
    {"max", extreme<1>},
    {"sum", sum},
    {"abs", absolute},
    {"round", round_filter},
    {"escape", escape},
    {"e", escape},
    {"items", items_filter},
    {"groupby", group_filter},
    {"batch", batch_filter},
    {"slice", slice_filter},
    {"center", center_filter},
    {"format", format_filter},
    {"pprint", pprint_filter},
    {"truncate", truncate_filter},
    {"urlencode", urlencode_filter},
    {"wordcount", wordcount_filter},
    {"filesizeformat", filesize_filter},
    {"safe", [](Arguments& arguments) -> Result<Value> { return Value::text(text_of(arguments)); }},
    {"string",
     [](Arguments& arguments) -> Result<Value> { return Value::text(text_of(arguments)); }},
    {"list",
     [](Arguments& arguments) -> Result<Value> {
       KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
       return Value::list(through.items());
     }},
    {"upper",
     [](Arguments& arguments) { return text_or_refuse(upper(text_of(arguments)), "upper"); }},
    {"lower",
     [](Arguments& arguments) { return text_or_refuse(lower(text_of(arguments)), "lower"); }},
    {"title",
     [](Arguments& arguments) { return text_or_refuse(words_up(text_of(arguments)), "title"); }},
    {"capitalize",
     [](Arguments& arguments) {
       return text_or_refuse(capitalize(text_of(arguments)), "capitalize");
     }},
    {"attr",
     [](Arguments& arguments) -> Result<Value> {
       ArgumentReader reader("attr", arguments);
       const Text name = reader.take_text("name");
       KINGLET_TRY(reader.check_end());
       const Value& of = filtered(arguments);
       if (of.is_undefined()) return refusal(cat("attr: ", of.type_name(), " has none"));
       return find_method(filtered(arguments), name.bytes());
     }},
};

// --- Tests

const Value& tested(const List& arguments) { return arguments.front(); }

template <Kind kKind>
Result<bool> is_kind(const List& arguments) {
  return tested(arguments).is(kKind);
}

// compare(tested, argument) is this, or 0.
template <int kOrder, bool kOrEqual>
Result<bool> is_ordered(const List& arguments) {
  if (arguments.size() != 2) return refusal("a comparison expects one argument");
  KINGLET_ASSIGN(const int order, compare(arguments[0], arguments[1]));
  return order == kOrder || (kOrEqual && order == 0);
}

template <bool kEqual>
Result<bool> is_equal(const List& arguments) {
  if (arguments.size() != 2) return refusal("a comparison expects one argument");
  return (arguments[0] == arguments[1]) == kEqual;
}

// None and truth values are each one; of others nobody should ask.
Result<bool> is_same(const List& arguments) {
  if (arguments.size() != 2) return refusal("sameas: expected one argument");
  const auto is_single = [](const Value& value) {
    return value.is(Kind::none) || value.is(Kind::boolean);
  };
  if (!is_single(arguments[0]) && !is_single(arguments[1])) {
    return refusal("sameas: expected None, True or False");
  }
  return arguments[0].kind() == arguments[1].kind() && arguments[0] == arguments[1];
}

template <int64_t kRest>
Result<bool> is_rest_of_two(const List& arguments) {
  const Value& value = tested(arguments);
  if (!value.is_whole()) return refusal(cat("odd or even: ", value.type_name(), " is no int"));
  return (value.as_integer() & 1) == kRest;
}

Result<bool> is_divisible(const List& arguments) {
  if (arguments.size() != 2 || !arguments[0].is_whole() || !arguments[1].is_whole() ||
      arguments[1].as_integer() == 0) {
    return refusal("divisibleby: expected two whole numbers");
  }
  return arguments[0].as_integer() % arguments[1].as_integer() == 0;
}

Result<bool> is_in(const List& arguments) {
  if (arguments.size() != 2) return refusal("in: expected one argument");
  const Value& whole = arguments[1];
  if (whole.is(Kind::text)) {
    if (!arguments[0].is(Kind::text)) {
      return refusal(cat(arguments[0].type_name(), " cannot be in a str"));
    }
    return find_text(whole.as_bytes(), arguments[0].as_bytes()) != std::string_view::npos;
  }
  KINGLET_ASSIGN(const Value through, elements(whole));
  const List& items = through.items();
  return std::find(items.begin(), items.end(), arguments[0]) != items.end();
}

template <bool kTruth>
Result<bool> is_truth(const List& arguments) {
  return tested(arguments).is(Kind::boolean) && tested(arguments).as_boolean() == kTruth;
}

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.is(Kind::text) || value.is_sequence() ||
         value.is(Kind::dict);
}

// Whether the value is the name of one.
template <auto kFind>
Result<bool> is_known(const List& arguments) {
  const Value& name = tested(arguments);
  return name.is(Kind::text) && kFind(name.as_bytes()) != nullptr;
}

struct NamedTest {
  std::string_view name;
  Test test;
};

constexpr NamedTest kTests[] = {
    {"defined", [](const List& a) -> Result<bool> { return !tested(a).is_undefined(); }},
    {"undefined", is_kind<Kind::undefined>},
    {"none", is_kind<Kind::none>},
    {"boolean", is_kind<Kind::boolean>},
    {"integer", is_kind<Kind::integer>},
    {"float", is_kind<Kind::real>},
    {"string", is_kind<Kind::text>},
    {"mapping", is_kind<Kind::dict>},
    {"callable",
     [](const List& a) -> Result<bool> {
       return tested(a).is(Kind::function) || tested(a).is(Kind::macro);
     }},
    {"number", [](const List& a) -> Result<bool> { return tested(a).is_number(); }},
    {"filter", [](const List& a) { return is_known<find_filter>(a); }},
    {"test", [](const List& a) { return is_known<find_test>(a); }},
    {"escaped", [](const List&) -> Result<bool> { return false; }},
    {"iterable",
     [](const List& a) -> Result<bool> {
       return is_iterable(tested(a)) || tested(a).is(Kind::view) || tested(a).is(Kind::generator);
     }},
    {"sequence", [](const List& a) -> Result<bool> { return is_iterable(tested(a)); }},
    {"true", is_truth<true>},
    {"false", is_truth<false>},
    {"odd", is_rest_of_two<1>},
    {"even", is_rest_of_two<0>},
    {"divisibleby", is_divisible},
    {"in", is_in},
    {"eq", is_equal<true>},
    {"equalto", is_equal<true>},
    {"==", is_equal<true>},
    {"sameas", is_same},
    {"ne", is_equal<false>},
    {"!=", is_equal<false>},
    {"lt", is_ordered<-1, false>},
    {"lessthan", is_ordered<-1, false>},
    {"<", is_ordered<-1, false>},
    {"le", is_ordered<-1, true>},
    {"<=", is_ordered<-1, true>},
    {"gt", is_ordered<1, false>},
    {"greaterthan", is_ordered<1, false>},
    {">", is_ordered<1, false>},
    {"ge", is_ordered<1, true>},
    {">=", is_ordered<1, true>},
    {"upper",
     [](const List& a) -> Result<bool> {
       const auto text = upper(tested(a).to_text());
       if (!text) return refusal("upper: letters beyond ASCII are not told apart here");
       return text->bytes() == tested(a).to_text().bytes() &&
              lower(*text)->bytes() != text->bytes();
     }},
    {"lower",
     [](const List& a) -> Result<bool> {
       const auto text = lower(tested(a).to_text());
       if (!text) return refusal("lower: letters beyond ASCII are not told apart here");
       return text->bytes() == tested(a).to_text().bytes() &&
              upper(*text)->bytes() != text->bytes();
     }},
};

}  // namespace

Filter find_filter(std::string_view name) {
  const auto* row = std::find_if(std::begin(kFilters), std::end(kFilters),
                                 [&](const NamedFilter& known) { return known.name == name; });
  return row == std::end(kFilters) ? nullptr : row->filter;
}

Test find_test(std::string_view name) {
  const auto* row = std::find_if(std::begin(kTests), std::end(kTests),
                                 [&](const NamedTest& known) { return known.name == name; });
  return row == std::end(kTests) ? nullptr : row->test;
}

}  // namespace kinglet::jinja
