#include "schema/compiler.h"

#include <algorithm>
#include <utility>

#include "base/format.h"
#include "grammar/expression.h"
#include "schema/numbers.h"
#include "schema/text_tree.h"

namespace kinglet::schema {
namespace {

// How many levels are indented. Each needs its own rules, and schemas may refer to themselves.
constexpr size_t kMaxLevels = 12;

// The longest text of a value that is listed, in bytes.
constexpr size_t kLongestValue = 500'000;

constexpr std::string_view kNoValue = "no value is valid";
constexpr std::string_view kOfNumbers = "this combination of limits on a number";

// Returns the tighter of an inclusive and an exclusive bound. `sign` is 1 for the lower bound.
std::optional<Bound> tighter(const Json* closed, const Json* open, int sign) {
  if (open != nullptr &&
      (closed == nullptr || sign * open->as_double() >= sign * closed->as_double())) {
    return Bound{open->spelling(), true};
  }
  if (closed == nullptr) return std::nullopt;
  return Bound{closed->spelling(), false};
}

NumberRange number_range(const PlainSchema& schema, std::string_view at, Refusal& refusal) {
  const auto read = [&](std::string_view keyword) {
    return number_of(schema, keyword, at, refusal);
  };
  NumberRange range;
  const Json* const minimum = read("minimum");
  range.least = tighter(minimum, read("exclusiveMinimum"), 1);
  const Json* const maximum = read("maximum");
  range.most = tighter(maximum, read("exclusiveMaximum"), -1);
  const Json* const step = read("multipleOf");
  if (step == nullptr) return range;
  range.step = step->spelling();
  if (!(step->as_double() > 0)) {
    refusal.set(at, cat("\"multipleOf\" is ", range.step, ", expected a number above 0"));
  }
  return range;
}

// Returns the types that the keywords apply to. A schema with only keywords for objects means
// objects, although other values are valid, too.
std::vector<std::string_view> implied_types(const PlainSchema& schema) {
  std::vector<std::string_view> types;
  for (const std::string_view type : kTypeNames) {
    const bool speaks =
        std::any_of(schema.keywords.begin(), schema.keywords.end(),
                    [type](const auto& own) { return type_of_keyword(own.first) == type; });
    if (speaks) types.push_back(type);
  }
  return types;
}

}  // namespace

Result<Expression> schema_expression(const Json& schema, GrammarRules& rules,
                                     const SchemaOptions& options) {
  KINGLET_ASSIGN(Expression root,
                 SchemaCompiler(schema, Notation::json(), rules, options).compile());
  if (!root.empty()) return root;
  Refusal refusal;
  refusal.set("#", kNoValue);
  return refusal.error();
}

SchemaCompiler::SchemaCompiler(const Json& schema, const Notation& notation, GrammarRules& rules,
                               const SchemaOptions& options)
    : schema_(schema),
      notation_(notation),
      rules_(rules),
      indent_(options.indent),
      n_levels_(options.indent > 0 ? kMaxLevels : 0),
      are_objects_open_(options.open_objects),
      refusal_(options.cancellation),
      resolver_(schema, refusal_),
      quoted_(quoted_spellings(notation, languages_)) {}

Result<Expression> SchemaCompiler::compile() {
  check_is_schema(schema_, refusal_);
  check_size(schema_, refusal_);
  Expression compiled = convert({&schema_}, "#");
  check_work();
  if (refusal_.is_set()) return refusal_.error();
  return compiled;
}

Result<Expression> SchemaCompiler::compile_arguments(const std::vector<std::string>& texts) {
  place_ = Place::arguments;
  text_names_ = {texts.begin(), texts.end()};
  return compile();
}

Expression SchemaCompiler::refuse(std::string_view at, std::string_view message) {
  refusal_.set(at, message);
  return {};
}

Expression SchemaCompiler::convert(Schema schema, std::string_view at) {
  if (depth_ == kMaxSchemaDepth) refuse_depth(at, refusal_);
  if (refusal_.is_set()) return {};
  constexpr size_t kSteps = 100;
  refusal_.count(kSteps);
  const CheckedSchema checked = check_schema(schema, at, refusal_);
  ++depth_;
  Expression found = convert_checked(checked, schema, at);
  --depth_;
  return found;
}

// Converts a value inside another one.
Expression SchemaCompiler::convert_inside(Place place, Schema schema, std::string_view at) {
  const Place outer_place = std::exchange(place_, place);
  const size_t outer_level = std::exchange(level_, std::min(level_ + 1, n_levels_));
  auto outer_open = std::exchange(open_, {});
  Expression found = convert_once(schema, at);
  place_ = outer_place;
  level_ = outer_level;
  open_ = std::move(outer_open);
  return found;
}

// Schemas that several alternatives share are converted once: otherwise, their number could double
// from level to level. Where references do not end a circle, a schema in it becomes a rule.
Expression SchemaCompiler::convert_once(Schema schema, std::string_view at) {
  constexpr int kMostOpen = 2;
  const void* key = schema.json;
  if (schema.json == nullptr) key = schema.merged;
  Inside& inside = inside_[{key, place_, level_}];
  if (!inside.converted.empty() || inside.is_empty) return inside.converted;
  if (inside.n_open == kMostOpen) {
    if (inside.rule.empty()) inside.rule = rules_.declare();
    return inside.rule;
  }
  ++inside.n_open;
  Expression converted = convert(schema, at);
  --inside.n_open;
  if (!inside.rule.empty() && inside.converted.empty()) {
    if (converted.empty()) return refuse(at, kNoValue);
    rules_.define(inside.rule, std::move(converted));
    converted = inside.rule;
  }
  inside.is_empty = converted.empty() && inside.n_open == 0;
  inside.converted = std::move(converted);
  return inside.converted;
}

Expression SchemaCompiler::convert_checked(const CheckedSchema& checked, Schema schema,
                                           std::string_view at) {
  const auto is_only = [&](std::string_view keyword) {
    return schema.json != nullptr && checked.keywords.size() == 1 && checked.keywords[0] == keyword;
  };
  if (is_only("$ref")) return reference(*schema.json->find("$ref"), at);
  std::vector<Expression> parts;
  if (is_only("anyOf")) {
    const PlainSchema combination = {{{"anyOf", {schema.json->find("anyOf")}}}};
    for (const Schema& branch : list_of(combination, "anyOf", at, refusal_)) {
      parts.push_back(convert(branch, below(at, "anyOf", parts.size())));
    }
  } else {
    for (const PlainSchema& variant : resolver_.variants(schema, at)) {
      parts.push_back(plain(variant, at));
    }
  }
  return alternatives(parts);
}

// Makes a rule for the schema that is referred to. The rule may refer to itself.
Expression SchemaCompiler::reference(const Json& reference, std::string_view at) {
  const Schema target = resolver_.resolve(reference, at);
  if (refusal_.is_set()) return {};
  const std::string& pointer = reference.as_string();
  const std::string key = cat(level_, " ", static_cast<int>(place_), " ", pointer);
  if (open_.contains(key))
    return refuse(at, cat("the reference ", shown(pointer), " leads back to itself"));
  if (empty_references_.contains(key)) return {};
  Reference& known = references_[key];
  if (!known.rule.empty()) {
    known.is_used = true;
    return known.rule;
  }
  known.rule = rules_.declare();
  open_.insert(key);
  Expression body = convert(target, pointer);
  open_.erase(key);
  if (!body.empty()) {
    rules_.define(known.rule, std::move(body));
  } else if (known.is_used) {
    refuse(pointer, kNoValue);
  } else {
    empty_references_.insert(key);
    return {};
  }
  return known.rule;
}

Expression SchemaCompiler::plain(const PlainSchema& schema, std::string_view at) {
  if (schema.has("enum")) return enumeration(schema, at);
  if (schema.keywords.empty()) return anything(at);
  const Names types = schema.has("type") ? types_of(schema, at, refusal_) : implied_types(schema);
  const bool has_number = std::find(types.begin(), types.end(), "number") != types.end();
  std::vector<Expression> parts;
  for (const std::string_view type : types) {
    if (type != "integer" || !has_number) parts.push_back(of_type(type, schema, at));
  }
  return alternatives(parts);
}

Expression SchemaCompiler::of_type(std::string_view type, const PlainSchema& schema,
                                   std::string_view at) {
  if (refusal_.is_set()) return {};
  if (type == "object") return object(schema, at);
  if (place_ == Place::arguments) return {};
  if (type == "array") return list(schema, at);
  if (type == "string") return string(schema, place_ == Place::text, at);
  if (type == "integer" || type == "number") return number(type, schema, at);
  std::vector<Expression> words;
  for (const char* name : {"null", "true", "false"}) {
    if ((std::string_view(name) == "null") != (type == "null")) continue;
    const std::vector<Content> excluded = list_of(schema, kNotEnum, at, refusal_);
    refusal_.count(excluded.size());
    const bool is_excluded =
        std::any_of(excluded.begin(), excluded.end(),
                    [name](const Content& value) { return print(*value.json) == name; });
    if (!is_excluded) words.push_back(word(name, notation_));
  }
  return alternatives(words);
}

Expression SchemaCompiler::enumeration(const PlainSchema& schema, std::string_view at) {
  if (place_ == Place::arguments) return {};
  const std::vector<const Json*> values = enumerated(schema, at);
  // Many texts have a tree: few of them can go on at each step.
  constexpr size_t kFew = 64;
  const bool has_tree = values.size() > kFew && notation_.is_json && !is_indented();
  std::vector<std::string> texts;
  std::vector<Expression> branches;
  for (const Json* value : values) {
    std::string text = print(*value);
    if (text.size() > kLongestValue) {
      return refuse(at, cat("a value of \"enum\" or \"const\" has ", text.size(),
                            " bytes, expected at most ", kLongestValue));
    }
    if (has_tree) {
      texts.push_back(std::move(text));
    } else {
      branches.push_back(spelled(*value, place_ == Place::text, at));
    }
  }
  return rules_.shared(has_tree ? tree_of_texts(std::move(texts), rules_) : alternatives(branches));
}

// Returns the values of "enum" that the other keywords allow.
std::vector<const Json*> SchemaCompiler::enumerated(const PlainSchema& schema,
                                                    std::string_view at) {
  std::vector<const Json*> values;
  ValueRules rules = rules_for_values(schema, at);
  for (const Content& content : list_of(schema, "enum", at, refusal_)) {
    if (refusal_.is_set()) return {};
    if (allows(rules, *content.json, at)) values.push_back(content.json);
  }
  return values;
}

bool SchemaCompiler::allows_number(const PlainSchema& schema, const Json& value,
                                   std::string_view at) {
  NumberRange range = number_range(schema, at, refusal_);
  range.not_steps = texts_of(schema, kNotMultipleOf, at, refusal_);
  if (refusal_.is_set()) return false;
  const auto is_inside = contains(range, value.spelling());
  if (is_inside.ok()) return is_inside.value();
  refusal_.set(at, kOfNumbers, is_inside.error());
  return false;
}

// Returns an expression of the value; empty if it cannot be written as a text.
Expression SchemaCompiler::spelled(const Json& value, bool is_text, std::string_view at) {
  if (is_indented()) {
    std::string lines;
    for (const char c : print(value, std::string(indent_, ' '))) {
      if (c == '\n') {
        lines += line_break(0);
      } else {
        lines += c;
      }
    }
    return literal(lines);
  }
  if (notation_.is_json) return literal(print(value));
  if (value.is_string()) return spelled_string(value.as_string(), is_text, at);
  if (is_text) return {};
  if (value.is_array() || value.is_object()) return spelled_parts(value, at);
  return value.is_number() ? literal(value.spelling()) : word(print(value), notation_);
}

Expression SchemaCompiler::spelled_string(std::string_view text, bool is_text,
                                          std::string_view at) {
  std::vector<Expression> parts;
  for (const Spelling& spelling : spellings(is_text)) {
    const bool can_hold =
        spelling.language == nullptr || languages_.contains(spelling.language, text);
    if (can_hold) parts.push_back(spelling.write(text));
  }
  check_work();
  if (!parts.empty()) return alternatives(parts);
  return refuse(at, cat("calls of this model cannot contain the value ", shown(text)));
}

// Writes a list or an object.
Expression SchemaCompiler::spelled_parts(const Json& value, std::string_view at) {
  const bool is_list = value.is_array();
  std::vector<Expression> parts = {literal(is_list ? "[" : "{")};
  const auto add = [&](Expression part) {
    if (parts.size() > 1) parts.push_back(comma());
    parts.push_back(std::move(part));
  };
  if (is_list) {
    for (const Json& item : value.as_array()) add(spelled(item, false, at));
  } else {
    for (const auto& [name, item] : value.as_object()) {
      Expression text = spelled(item, false, at);
      std::vector<Expression> member = key(name, at);
      member.push_back(std::move(text));
      add(sequence(member));
    }
  }
  parts.push_back(literal(is_list ? "]" : "}"));
  return sequence(parts);
}

// Puts brackets around `inside`. If lines are indented, `inside` has its own line.
Expression SchemaCompiler::enclosed(char open, const Expression& inside, char close,
                                    bool may_be_empty) const {
  Expression empty = literal(std::string{open, close});
  if (inside.empty()) return empty;
  const Expression full =
      sequence({literal(open + line_break(1)), inside, literal(line_break(0) + close)});
  return may_be_empty ? alternatives({std::move(empty), full}) : full;
}

// Returns a line break with the indentation of this level, or of a deeper one.
std::string SchemaCompiler::line_break(size_t n_deeper) const {
  if (!is_indented()) return {};
  return '\n' + std::string(indent_ * (level_ + n_deeper), ' ');
}

// Returns the separator between members.
Expression SchemaCompiler::comma() const {
  return literal(is_indented() ? cat(",", line_break(1)) : notation_.pieces.separator);
}

Expression SchemaCompiler::colon() const {
  return literal(is_indented() ? ": " : notation_.pieces.colon);
}

Expression SchemaCompiler::anything(std::string_view at) {
  if (place_ == Place::arguments) return object({}, at);
  // Any text is possible, because the argument is read as a value or else as a string.
  const bool is_text = notation_.has_texts() && place_ != Place::value;
  return is_text ? string({}, true, at) : any_value();
}

Expression SchemaCompiler::any_value() {
  Expression& known = any_values_[level_];
  if (!known.empty()) return known;
  const Expression value = known = rules_.declare();
  const size_t level = std::exchange(level_, std::min(level_ + 1, n_levels_));
  const Expression inner = any_value();
  level_ = level;
  const auto several = [&](const Expression& item) {
    return sequence({item, repeat(sequence({comma(), item}), 0, kUnlimited)});
  };
  std::vector<Expression> member = any_key(languages_.any_text(), false, "#");
  member.push_back(inner);
  const Expression pair = rules_.add(sequence(member));
  std::vector<Expression> kinds;
  kinds.push_back(rules_.add(enclosed('{', several(pair), '}', true)));
  kinds.push_back(rules_.add(enclosed('[', several(inner), ']', true)));
  for (const Spelling& spelling : quoted_) kinds.push_back(any_text(spelling));
  kinds.push_back(rules_.common(CommonRule::number));
  for (const char* name : {"true", "false", "null"}) kinds.push_back(word(name, notation_));
  rules_.define(value, alternatives(kinds));
  return value;
}

// Converts numbers. Those of "not enum" are the borders of parts.
Expression SchemaCompiler::number(std::string_view type, const PlainSchema& schema,
                                  std::string_view at) {
  NumberRange range = number_range(schema, at, refusal_);
  range.is_whole = type == "integer";
  range.not_steps = texts_of(schema, kNotMultipleOf, at, refusal_);
  if (refusal_.is_set()) return {};
  std::vector<const Json*> holes;
  for (const Content& value : list_of(schema, kNotEnum, at, refusal_)) {
    if (value.json->is_number()) holes.push_back(value.json);
  }
  if (holes.empty() && !range.least && !range.most && range.step.empty() &&
      range.not_steps.empty()) {
    return rules_.common(range.is_whole ? CommonRule::integer : CommonRule::number);
  }
  constexpr size_t kStepsOfHole = 100;
  refusal_.count(kStepsOfHole * holes.size());
  if (refusal_.is_set()) return {};
  std::sort(holes.begin(), holes.end(),
            [](const Json* a, const Json* b) { return a->as_double() < b->as_double(); });
  std::vector<Expression> parts;
  const auto add = [&](const NumberRange& part) {
    constexpr size_t kSteps = 500;
    refusal_.count(kSteps);
    if (refusal_.is_set()) return;
    const auto numbers = numbers_expression(part, rules_);
    if (!numbers.ok()) refusal_.set(at, kOfNumbers, numbers.error());
    if (numbers.ok() && !numbers.value().empty()) parts.push_back(rules_.add(numbers.value()));
  };
  for (const Json* hole : holes) {
    if (refusal_.is_set()) return {};
    const auto is_inside = contains(range, hole->spelling());
    if (!is_inside.ok() || !is_inside.value()) continue;
    NumberRange below_it = range;
    below_it.most = Bound{hole->spelling(), true};
    add(below_it);
    range.least = Bound{hole->spelling(), true};
  }
  add(range);
  return alternatives(parts);
}

}  // namespace kinglet::schema
