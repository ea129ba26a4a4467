// Filters and tests. Source: Jinja's documentation, "List of Builtin Filters" and "… Tests"; tojson
// is the one of transformers.
#include <algorithm>
#include <iterator>
#include <optional>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/format.h"
#include "base/in_quotes.h"
#include "text/jinja/arguments.h"
#include "text/jinja/functions.h"
#include "text/jinja/json.h"
#include "text/jinja/number_filters.h"
#include "text/jinja/operations.h"
#include "text/jinja/strings.h"
#include "text/jinja/strip_tags.h"
#include "text/jinja/text_filters.h"
#include "text/jinja/word_wrap.h"
#include "text/jinja/work.h"

namespace kinglet::jinja {
namespace {

// Returns a text unchanged, also markup; other values as they are printed.
Result<Value> text_value(const Value& value) {
  return value.is(Kind::text) ? value : Value::text(value.to_text());
}

// Calls the text's method of that name.
Result<Value> by_method(Arguments& arguments, const char* name) {
  KINGLET_ASSIGN(const Value text, text_value(filtered(arguments)));
  arguments.positional.erase(arguments.positional.begin());
  return find_method(text, name).call(arguments);
}

// Returns `width` spaces, or `width` itself if it is a text.
Result<Text> indentation(std::string_view filter, const Value& width) {
  constexpr int64_t kMostIndent = 1000;
  if (width.is(Kind::text)) return width.as_text();
  if (!width.is_whole() || width.as_integer() > kMostIndent) {
    return refusal(cat(filter, ": expected an indent that is a str or an int up to ", kMostIndent));
  }
  return Text(std::string(static_cast<size_t>(std::max<int64_t>(width.as_integer(), 0)), ' '));
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
  if (indent != nullptr && !indent->is(Kind::none)) {
    KINGLET_ASSIGN(style.indent, indentation("tojson", *indent));
    style.item_separator = Text(",");
  }
  if (separators != nullptr && !separators->is(Kind::none)) {
    const bool is_pair = separators->is_sequence() && separators->items().size() == 2;
    for (size_t i = 0; i < 2; ++i) {
      if (!is_pair || !separators->items()[i].is(Kind::text)) {
        return refusal("tojson: expected two strings as separators");
      }
      (i == 0 ? style.item_separator : style.key_separator) = separators->items()[i].as_text();
    }
  }
  KINGLET_ASSIGN(Text text, print_json(filtered(arguments), style));
  return Value::text(std::move(text));
}

Result<Value> length_of(const Value& of) {
  if (of.is(Kind::text)) return Value::integer(length(of.as_text()));
  const bool has_length =
      of.is_undefined() || of.has_places() || of.is(Kind::dict) || of.is(Kind::view);
  if (!has_length) return refusal(cat("length: ", of.type_name(), " has no length"));
  KINGLET_ASSIGN(const Value through, elements(of));
  return Value::integer(static_cast<int64_t>(through.items().size()));
}

// Follows a path such as "a.b.0" of attributes of attributes, where a number is an element.
// Anything missing on the way becomes `otherwise`, unless that is null or None. If the path is null
// or None, returns the value itself.
Result<Value> deep_attribute(const Value& of, const Value* path, const Value* otherwise = nullptr) {
  if (path == nullptr || path->is(Kind::none)) return of;
  constexpr size_t kOfPart = 8 * kOfItem;  // the work of making it and following it
  const Text dot(".");
  const List parts = path->is(Kind::text) ? split(path->as_text(), &dot, -1) : List{*path};
  Value value = of;
  for (const Value& part : parts) {
    if (!Work::spend(kOfPart)) break;
    const bool is_number = part.is(Kind::text) && is_digit(part.as_bytes()[0]);
    const auto number = is_number ? read_whole(part.as_bytes()) : std::nullopt;
    KINGLET_ASSIGN(value, element(value, number ? Value::integer(*number) : part));
    const bool has_other = otherwise != nullptr && !otherwise->is(Kind::none);
    if (value.is_undefined() && has_other) value = *otherwise;
  }
  return value;
}

// Returns the attribute at `path` of each element.
Result<List> attributes_of(const Value& value, const Value* path) {
  KINGLET_ASSIGN(const Value through, elements(value));
  List items = through.items();
  for (Value& item : items) {
    KINGLET_ASSIGN(item, deep_attribute(item, path));
  }
  return items;
}

Result<Value> join_filter(Arguments& arguments) {
  ArgumentReader reader("join", arguments);
  const Value* separator = reader.take("d");
  const Value* path = reader.take("attribute");
  KINGLET_TRY(reader.check_end());
  KINGLET_ASSIGN(const List items, attributes_of(filtered(arguments), path));
  return Value::text(join(items, separator == nullptr ? Text() : separator->to_text()));
}

Result<Value> map_filter(Arguments& arguments) {
  if (!filtered(arguments).is_true()) return Value::generator({});  // None, too
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  List items = through.items();
  const bool by_attribute =
      arguments.positional.size() == 1 &&
      std::any_of(arguments.named.begin(), arguments.named.end(),
                  [](const auto& argument) { return argument.first == "attribute"; });
  if (by_attribute) {
    ArgumentReader reader("map", arguments);
    const Value* path = reader.take("attribute");
    const Value* otherwise = reader.take("default");
    KINGLET_TRY(reader.check_end());
    for (Value& item : items) {
      if (!Work::spend(kOfItem)) break;
      KINGLET_ASSIGN(item, deep_attribute(item, path, otherwise));
    }
    return Value::generator(std::move(items));
  }
  if (arguments.positional.size() < 2 || !arguments.positional[1].is(Kind::text)) {
    return refusal("map: expected the name of a filter, or an attribute");
  }
  const std::string& name = arguments.positional[1].as_bytes();
  const Filter* filter = find_filter(name);
  if (filter == nullptr) return refusal(cat("map: filter ", in_quotes(name), " is not supported"));
  for (Value& item : items) {
    if (!Work::spend(kOfItem)) break;
    Arguments of_item = {{item}, arguments.named};
    of_item.positional.insert(of_item.positional.end(), arguments.positional.begin() + 2,
                              arguments.positional.end());
    KINGLET_ASSIGN(item, (*filter)(of_item));
    if (!Work::make(item.n_own_bytes())) break;
  }
  return Value::generator(std::move(items));
}

// The filters select, reject, selectattr and rejectattr.
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
    if (test == nullptr) return refusal(cat("select: test ", in_quotes(name), " is not supported"));
  }
  List kept;
  for (const Value& item : items) {
    if (!Work::spend(kOfItem)) break;
    Value tested = item;
    if (by_attribute) {
      KINGLET_ASSIGN(tested, deep_attribute(item, &given[1]));
    }
    bool holds = tested.is_true();
    if (test != nullptr) {
      List of_test = {tested};
      of_test.insert(of_test.end(), given.begin() + static_cast<ptrdiff_t>(name_at + 1),
                     given.end());
      spend_on_texts(of_test);
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

Result<Value> end_of(const Value& value, bool is_last) {
  if (is_last && value.is(Kind::generator)) return refusal("last: a generator has no last item");
  KINGLET_ASSIGN(const Value through, elements(value));
  const List& items = through.items();
  if (items.empty()) return Value::undefined("item of an empty list");
  return is_last ? items.back() : items.front();
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
  const Value* old = reader.take("old");
  const Value* with = reader.take("new");
  const auto n = reader.take_place("count");
  KINGLET_TRY(reader.check_end());
  if (old == nullptr || with == nullptr) return refusal("replace: expected two strings");
  return Value::text(replace(characters_of(filtered(arguments)), old->to_text().bytes(),
                             with->to_text(), n.value_or(-1)));
}

Result<Value> indent_filter(Arguments& arguments) {
  ArgumentReader reader("indent", arguments);
  const Value* width = reader.take("width");
  const bool indents_first = reader.take_truth("first", false);
  const bool indents_blank = reader.take_truth("blank", false);
  KINGLET_TRY(reader.check_end());
  KINGLET_ASSIGN(const Text space,
                 indentation("indent", width == nullptr ? Value::integer(4) : *width));
  const Value& value = filtered(arguments);
  if (!value.is(Kind::text)) return refusal(cat("indent: expected str, found ", value.type_name()));
  Text text = value.as_text();
  text.append("\n");  // as in Jinja, where splitlines() needs it
  const List lines = split_lines(text, false);
  Text out;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Text& line = lines[i].as_text();
    if (i > 0) out.append("\n");
    if ((i > 0 && (indents_blank || !line.empty())) || (i == 0 && indents_first)) out.append(space);
    out.append(line);
  }
  return value.with_text(std::move(out));
}

// Returns the key for sorting a value: a text in lower case, unless `case_counts`.
Result<Value> sort_key(const Value& value, bool case_counts) {
  if (case_counts || !value.is(Kind::text)) return value;
  Work::spend(8 * kOfItem);
  Arguments none;
  return find_method(value, "lower").call(none);
}

// Returns the attributes of an item that a path such as "a,b.c" names, as a list. Attributes that
// are missing in both of two items count as equal.
Result<Value> sort_keys(const Value& item, const Value* path, bool case_counts) {
  List paths = {path == nullptr ? Value::none() : *path};
  const Text comma(",");
  if (paths.front().is(Kind::text)) paths = split(path->as_text(), &comma, -1);
  for (Value& place : paths) {
    KINGLET_ASSIGN(place, deep_attribute(item, &place));
    KINGLET_ASSIGN(place, sort_key(place, case_counts));
  }
  return Value::list(std::move(paths));
}

// Returns the values, sorted by their keys.
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

// Returns [(key, values)]; the two are also attributes, `grouper` and `list`.
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
    KINGLET_ASSIGN(Value name, deep_attribute(item, path, otherwise));
    KINGLET_ASSIGN(Value key, sort_key(name, case_counts));
    names.push_back(std::move(name));
    keys.push_back(std::move(key));
  }
  KINGLET_ASSIGN(const std::vector<size_t> places, sorted_places(keys, false));
  List groups;
  for (size_t at = 0; at < places.size();) {
    const size_t first = places[at];
    if (!Work::spend(16 * kOfItem)) break;
    List values;
    for (; at < places.size() && keys[places[at]] == keys[first]; ++at) {
      values.push_back(items[places[at]]);
    }
    groups.push_back(Value::group(names[first], Value::list(std::move(values))));
  }
  return Value::list(std::move(groups));
}

// Returns the items in lists of `linecount`; `fill_with`, if given, fills up the last list.
// A list inside the result of a filter, which counts only its own items.
Value inner_list(List items) {
  Work::make(items.size() * sizeof(Value));
  return Value::list(std::move(items));
}

Result<Value> batch_filter(Arguments& arguments) {
  ArgumentReader reader("batch", arguments);
  const int64_t size = reader.take_integer("linecount", 0);
  const Value* fill = reader.take("fill_with");
  KINGLET_TRY(reader.check_end());
  const bool fills = fill != nullptr && !fill->is(Kind::none);
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  if (size < 1 || (fills && size > static_cast<int64_t>(kMostItems))) {
    return refusal("batch: expected the number of items in each list");
  }
  List batches;
  List batch;
  for (const Value& item : through.items()) {
    if (batch.size() == static_cast<size_t>(size)) {
      batches.push_back(inner_list(std::exchange(batch, {})));
    }
    batch.push_back(item);
  }
  if (batch.empty()) return Value::generator(std::move(batches));
  if (fills) batch.resize(static_cast<size_t>(size), *fill);
  batches.push_back(inner_list(std::move(batch)));
  return Value::generator(std::move(batches));
}

// Returns the items in `slices` lists of nearly the same size.
Result<Value> slice_filter(Arguments& arguments) {
  ArgumentReader reader("slice", arguments);
  const int64_t given = reader.take_integer("slices", 0);
  const Value* fill = reader.take("fill_with");
  KINGLET_TRY(reader.check_end());
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  if (given < 1 || given > static_cast<int64_t>(kMostItems)) {
    return refusal("slice: expected the number of lists");
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
    slices.push_back(inner_list(std::move(slice)));
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
  if (by.bytes() != "key" && by.bytes() != "value")
    return refusal("dictsort: expected \"key\" or \"value\" for by");
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
  constexpr size_t kMostCompared = 5000;  // every item is compared with all others
  if (items.size() > kMostCompared)
    return refusal(cat("unique: more than ", kMostCompared, " items are not supported"));
  List keys;
  List kept;
  for (const Value& item : items) {
    KINGLET_ASSIGN(Value key, deep_attribute(item, path));
    KINGLET_ASSIGN(key, sort_key(key, case_counts));
    KINGLET_TRY(check_key(key));
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    keys.push_back(key);
    kept.push_back(item);
  }
  return Value::generator(std::move(kept));
}

Result<Value> reversed(const Value& value) {
  KINGLET_ASSIGN(const Value through, elements(value));
  List items = through.items();
  std::reverse(items.begin(), items.end());
  if (value.is(Kind::text)) return value.with_text(join(items, Text()));
  return value.is(Kind::generator) ? Value::list(std::move(items))
                                   : Value::generator(std::move(items));
}

// Returns the smallest item if `sign` is -1, the largest if it is 1; the first one of equal items.
Result<Value> extreme(Arguments& arguments, int sign) {
  ArgumentReader reader("min or max", arguments);
  const bool case_counts = reader.take_truth("case_sensitive", false);
  const Value* path = reader.take("attribute");
  KINGLET_TRY(reader.check_end());
  KINGLET_ASSIGN(const Value through, elements(filtered(arguments)));
  const List& items = through.items();
  Value best = Value::undefined("smallest or largest item of an empty list");
  Value best_key;
  for (size_t i = 0; i < items.size(); ++i) {
    KINGLET_ASSIGN(Value key, deep_attribute(items[i], path));
    KINGLET_ASSIGN(key, sort_key(key, case_counts));
    if (i > 0) {
      KINGLET_ASSIGN(const int order, compare(key, best_key));
      if (order != sign) continue;
    }
    best = items[i];
    best_key = key;
  }
  return best;
}

Result<Value> sum(Arguments& arguments) {
  ArgumentReader reader("sum", arguments);
  const Value* path = reader.take("attribute");
  const Value* start = reader.take("start");
  KINGLET_TRY(reader.check_end());
  KINGLET_ASSIGN(const List items, attributes_of(filtered(arguments), path));
  return sum_of(items, start == nullptr ? Value::integer(0) : *start);
}

Result<Value> escape(const Value& value) { return escaped(value); }

Result<Value> escape_again(const Value& value) { return escaped(Value::text(value.to_text())); }

Result<Value> safe(const Value& value) { return Value::markup(value.to_text()); }

Result<Value> items_if_any(const Value& value) {
  if (value.is_undefined()) return Value::generator({});
  if (!value.is(Kind::dict)) return refusal(cat("items: expected dict, found ", value.type_name()));
  Arguments none;
  KINGLET_ASSIGN(const Value view, find_method(value, "items").call(none));
  return Value::generator(view.items());
}

Result<Value> list_of(const Value& value) {
  KINGLET_ASSIGN(const Value through, elements(value));
  return Value::list(through.items());
}

Result<Value> title_of(const Value& value) {
  std::optional<Text> text = words_up(characters_of(value));
  if (text) return Value::text(std::move(*text));
  return refusal("title: changing the case of these letters is not supported");
}

Result<Value> center_filter(Arguments& arguments) {
  constexpr int64_t kUsualWidth = 80;
  const bool has_width = arguments.positional.size() > 1 || !arguments.named.empty();
  if (!has_width) arguments.positional.push_back(Value::integer(kUsualWidth));
  return by_method(arguments, "center");
}

constexpr Filter kFilters[] = {
    {"tojson", to_json},
    {"length", nullptr, length_of},
    {"count", nullptr, length_of},
    {"join", join_filter},
    {"map", map_filter},
    {"select", select_filter<false, true>},
    {"reject", select_filter<false, false>},
    {"selectattr", select_filter<true, true>},
    {"rejectattr", select_filter<true, false>},
    {"first", nullptr, [](const Value& value) { return end_of(value, false); }},
    {"last", nullptr, [](const Value& value) { return end_of(value, true); }},
    {"default", default_filter},
    {"d", default_filter},
    {"replace", replace_filter},
    {"indent", indent_filter},
    {"int", integer_filter},
    {"float", real_filter},
    {"sort", sort_filter},
    {"dictsort", sort_dict},
    {"unique", unique},
    {"reverse", nullptr, reversed},
    {"min", [](Arguments& a) { return extreme(a, -1); }},
    {"max", [](Arguments& a) { return extreme(a, 1); }},
    {"sum", sum},
    {"abs", absolute_filter},
    {"round", round_filter},
    {"escape", nullptr, escape},
    {"e", nullptr, escape},
    {"forceescape", nullptr, escape_again},
    {"items", nullptr, items_if_any},
    {"groupby", group_filter},
    {"batch", batch_filter},
    {"slice", slice_filter},
    {"center", center_filter},
    {"format", format_filter},
    {"pprint", pprint_filter},
    {"truncate", truncate_filter},
    {"urlencode", urlencode_filter},
    {"wordcount", wordcount_filter},
    {"wordwrap", wordwrap_filter},
    {"striptags", striptags_filter},
    {"filesizeformat", filesize_filter},
    {"safe", nullptr, safe},
    {"string", nullptr, text_value},
    {"list", nullptr, list_of},
    {"upper", [](Arguments& a) { return by_method(a, "upper"); }},
    {"lower", [](Arguments& a) { return by_method(a, "lower"); }},
    {"capitalize", [](Arguments& a) { return by_method(a, "capitalize"); }},
    {"trim", [](Arguments& a) { return by_method(a, "strip"); }},
    {"title", nullptr, title_of},
    {"attr",
     [](Arguments& arguments) -> Result<Value> {
       ArgumentReader reader("attr", arguments);
       const Text name = reader.take_text("name");
       KINGLET_TRY(reader.check_end());
       const Value& of = filtered(arguments);
       if (of.is_undefined()) return refusal(cat("attr: ", of.type_name(), " has no attributes"));
       // The entries of a dict are not attributes.
       return of.is(Kind::dict) ? find_method(of, name.bytes()) : attribute(of, name.bytes());
     }},
};

// --- Tests

const Value& tested(const List& arguments) { return arguments.front(); }

template <Kind kKind>
Result<bool> is_kind(const List& arguments) {
  return tested(arguments).is(kKind);
}

// Whether compare(tested, argument) is kOrder, or 0 if kOrEqual is set.
template <int kOrder, bool kOrEqual>
Result<bool> is_ordered(const List& arguments) {
  if (arguments.size() != 2) return refusal("a comparison expects one argument");
  KINGLET_ASSIGN(const int order, compare(arguments[0], arguments[1]));
  return order == kOrder || (kOrEqual && order == 0);
}

template <bool kEqual>
Result<bool> is_equal(const List& arguments) {
  if (arguments.size() != 2) return refusal("a comparison expects one argument");
  KINGLET_TRY(check_equality(arguments[0], arguments[1]));
  return (arguments[0] == arguments[1]) == kEqual;
}

// The test `sameas`, for None and truth values: each is a single object in Python. Other
// values are refused.
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

// Whether the remainder of value / by is `rest`.
Result<bool> leaves(const Value& value, const Value& by, double rest) {
  if (!value.is_number() || !by.is_number()) {
    return refusal(cat("cannot divide ", value.type_name(), " by ", by.type_name()));
  }
  KINGLET_ASSIGN(const Value left, operate("%", value, by));
  return left.as_real() == rest;
}

template <int kRest>
Result<bool> is_rest_of_two(const List& arguments) {
  return leaves(tested(arguments), Value::integer(2), kRest);
}

Result<bool> is_divisible(const List& arguments) {
  if (arguments.size() != 2) return refusal("divisibleby: expected one argument");
  return leaves(arguments[0], arguments[1], 0);
}

Result<bool> is_in(const List& arguments) {
  if (arguments.size() != 2) return refusal("in: expected one argument");
  return contains(arguments[1], arguments[0]);
}

template <bool kTruth>
Result<bool> is_truth(const List& arguments) {
  return tested(arguments).is(Kind::boolean) && tested(arguments).as_boolean() == kTruth;
}

bool is_sequence(const Value& value) {
  return value.is_undefined() || value.is(Kind::text) || value.has_places() || value.is(Kind::dict);
}

// Whether the value is the name of a filter in Jinja.
Result<bool> is_filter(const List& arguments) {
  const Value& name = tested(arguments);
  KINGLET_TRY(check_key(name));
  if (!name.is(Kind::text)) return false;
  if (find_filter(name.as_bytes()) != nullptr) return true;
  constexpr std::string_view kNotHere = " random urlize xmlattr ";
  return kNotHere.find(cat(" ", name.as_bytes(), " ")) != std::string_view::npos;
}

Result<bool> is_test(const List& arguments) {
  const Value& name = tested(arguments);
  KINGLET_TRY(check_key(name));
  return name.is(Kind::text) && find_test(name.as_bytes()) != nullptr;
}

template <Case kCase>
Result<bool> is_of_case(const List& arguments) {
  const auto holds = is_case(characters_of(tested(arguments)), kCase);
  if (holds) return *holds;
  return refusal("changing the case of these letters is not supported");
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
    {"integer",
     [](const List& a) -> Result<bool> {
       return tested(a).is(Kind::integer) || tested(a).is(Kind::long_integer);
     }},
    {"float", is_kind<Kind::real>},
    {"string", is_kind<Kind::text>},
    {"mapping", is_kind<Kind::dict>},
    {"callable",
     [](const List& a) -> Result<bool> {
       const Value& value = tested(a);
       return value.is(Kind::function) || value.is(Kind::macro) || value.is_undefined();
     }},
    {"number",
     [](const List& a) -> Result<bool> {
       return tested(a).is_number() || tested(a).is(Kind::long_integer);
     }},
    {"filter", is_filter},
    {"test", is_test},
    {"escaped", [](const List& a) -> Result<bool> { return tested(a).is_markup(); }},
    {"iterable",
     [](const List& a) -> Result<bool> { return is_sequence(tested(a)) || tested(a).has_items(); }},
    {"sequence", [](const List& a) -> Result<bool> { return is_sequence(tested(a)); }},
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
    {"upper", is_of_case<Case::upper>},
    {"lower", is_of_case<Case::lower>},
};

}  // namespace

Result<Value> Filter::operator()(Arguments& arguments) const {
  spend_on_texts(arguments.positional);
  if (getter == nullptr) return filter(arguments);
  if (arguments.positional.size() == 1 && arguments.named.empty()) {
    return getter(filtered(arguments));
  }
  return refusal(cat(name, ": this filter takes no arguments"));
}

const Filter* find_filter(std::string_view name) {
  const auto* row = std::find_if(std::begin(kFilters), std::end(kFilters),
                                 [&](const Filter& known) { return known.name == name; });
  return row == std::end(kFilters) ? nullptr : row;
}

Test find_test(std::string_view name) {
  const auto* row = std::find_if(std::begin(kTests), std::end(kTests),
                                 [&](const NamedTest& known) { return known.name == name; });
  return row == std::end(kTests) ? nullptr : row->test;
}

}  // namespace kinglet::jinja
