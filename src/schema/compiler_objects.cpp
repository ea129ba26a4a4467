// The part of SchemaCompiler that converts objects.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "base/utf8.h"
#include "grammar/expression.h"
#include "schema/compiler.h"
#include "schema/other_names.h"
#include "text/character_map.h"

namespace kinglet::schema {
namespace {

// The most properties that may come in any order where several schemas name them.
constexpr size_t kMostShuffledMembers = 6;

// Sorts names as Jinja's dictsort does.
void sort_like_dictsort(std::vector<std::string_view>& names) {
  std::vector<std::pair<std::u32string, size_t>> keys;
  for (std::string_view rest : names) {
    std::u32string lower;
    while (!rest.empty()) {
      const Utf8Char character = decode_utf8(rest);
      append_lower_case(character.code_point, lower);
      rest.remove_prefix(character.n_bytes);
    }
    keys.emplace_back(std::move(lower), keys.size());
  }
  std::sort(keys.begin(), keys.end());
  const std::vector<std::string_view> unsorted = std::exchange(names, {});
  for (const auto& [lower, place] : keys) names.push_back(unsorted[place]);
}

bool is_json(const Content& content, const Json& value) {
  return content.json != nullptr && *content.json == value;
}

// Whether one of the properties may be there.
bool allows_some(const std::vector<Property>& properties) {
  return std::any_of(properties.begin(), properties.end(), [](const Property& property) {
    return !is_json(property.schema, Json(false));
  });
}

}  // namespace

Expression SchemaCompiler::object(const PlainSchema& schema, std::string_view at) {
  const std::vector<Content> some = list_of(schema, kSomeProperty, at, refusal_);
  if (some.empty()) return object_of(schema, nullptr, at);
  PlainSchema rest = schema;
  rest.remove(kSomeProperty);
  std::vector<Expression> objects;
  object_with_some(rest, some, nullptr, at, objects);
  return alternatives(objects);
}

// Adds the objects with "some property", whose names and values are the pairs in `left`: a property
// that is named has the value, or `other` does.
void SchemaCompiler::object_with_some(const PlainSchema& schema, std::span<const Content> left,
                                      const OtherProperties* other, std::string_view at,
                                      std::vector<Expression>& objects) {
  constexpr size_t kMostObjects = 100;
  if (objects.size() > kMostObjects)
    refuse(at, cat("its properties combine in more than ", kMostObjects, " ways"));
  if (refusal_.is_set()) return;
  if (left.empty()) {
    objects.push_back(object_of(schema, other, at));
    return;
  }
  const Language* names = names_of(left[0], at).language;
  for (const std::string_view name : object_parts(schema, at).declared) {
    if (refusal_.is_set()) return;
    if (!languages_.contains(names, name)) continue;
    if (const auto with = resolver_.with_property(schema, {name, left[1]}, at)) {
      object_with_some(*with, left.subspan(2), other, at, objects);
    }
  }
  OtherProperties both{names, left[1], std::string(at)};
  if (other != nullptr) {
    both.names = languages_.intersection({names, other->names});
    both.schema = resolver_.all_of({left[1], other->schema});
  }
  object_with_some(schema, left.subspan(2), &both, at, objects);
}

// `some`: of these properties, the object must have one that it does not declare.
Expression SchemaCompiler::object_of(const PlainSchema& schema, const OtherProperties* some,
                                     std::string_view at) {
  constexpr size_t kSteps = 200;
  refusal_.count(kSteps);
  ObjectParts parts = object_parts(schema, at);
  std::vector<Member> members;
  for (const std::string_view name : parts.declared) {
    refusal_.count(1 + parts.patterns.size() * (1 + name.size()));
    if (refusal_.is_set()) return {};
    const bool is_required = parts.required.contains(name);
    Expression value = property(name, parts, at);
    if (value.empty() && is_required) return {};
    if (value.empty()) continue;
    const std::string place = below(at, "properties", name);
    const Expression text = member(key(name, place), std::move(value));
    members.push_back({rules_.add(text), is_required});
  }
  Expression pair = other_properties(parts, nullptr, at);
  const bool needs_more = some != nullptr || (pair.empty() && parts.limits.least > members.size());
  if (parts.is_narrowed && needs_more) {
    parts.is_open = true;
    if (some == nullptr) parts.limits.most = std::min(parts.limits.most, parts.limits.least);
    pair = other_properties(parts, nullptr, at);
  }
  const Expression one = some == nullptr ? Expression() : other_properties(parts, some, at);
  if (some != nullptr && one.empty()) return {};
  const Expression written = braces({members, pair, one, parts.limits, parts.is_combined}, at);
  return written.empty() ? Expression() : rules_.add(written);
}

SchemaCompiler::ObjectParts SchemaCompiler::object_parts(const PlainSchema& schema,
                                                         std::string_view at) {
  static const Json anything = true;
  const std::vector<Property> properties = properties_of(schema, "properties", at, refusal_);
  const std::vector<Property> patterns = properties_of(schema, "patternProperties", at, refusal_);
  const Names required = required_of(schema, at, refusal_);
  ObjectParts parts;
  parts.is_combined = schema.is_combined;
  parts.limits = limits_of(schema, "minProperties", "maxProperties", at, refusal_);
  for (const Content& value : list_of(schema, kNotEnum, at, refusal_)) {
    if (!value.json->is_object()) continue;
    if (value.json->size() > 0) {
      refusal_.set(at, "\"not\" cannot exclude one object, except {}");
    }
    parts.limits.least = std::max<uint64_t>(parts.limits.least, 1);
  }
  parts.names = property_names(schema, at);
  for (const auto& [pattern, value] : patterns) {
    parts.patterns.push_back(
        {pattern_texts(std::string(pattern), at), value, below(at, "patternProperties", pattern)});
  }
  const Content* others = schema.find("additionalProperties");
  if (others != nullptr && is_json(*others, Json())) others = nullptr;
  // Names that must be absent name nothing.
  const bool names_some = !required.empty() || allows_some(patterns) || allows_some(properties) ||
                          (schema.has("properties") && properties.empty());
  parts.is_narrowed = !are_objects_open_ && names_some && others == nullptr && !parts.names.all &&
                      !schema.has("propertyNames");
  parts.is_open = !parts.names.all && !parts.is_narrowed &&
                  (others == nullptr || !is_json(*others, Json(false)));
  parts.undeclared = others == nullptr ? Schema{&anything} : *others;

  std::unordered_set<std::string_view> seen;
  const auto declare = [&](std::string_view name) {
    if (seen.insert(name).second) parts.declared.push_back(name);
  };
  for (const Property& property : properties) {
    declare(property.name);
    parts.properties.emplace(property.name, property.schema);
  }
  for (const std::string_view name : parts.names.all.value_or(Names())) declare(name);
  for (const std::string_view name : required) declare(name);
  parts.required = {required.begin(), required.end()};
  if (notation_.pieces.sorts_keys) sort_like_dictsort(parts.declared);
  return parts;
}

// Returns the names that "propertyNames" allows.
SchemaCompiler::PropertyNames SchemaCompiler::property_names(const PlainSchema& schema,
                                                             std::string_view at) {
  const Content* demanded = schema.find("propertyNames");
  if (demanded == nullptr) return {languages_.any_text()};
  return names_of(*demanded, below(at, "propertyNames"));
}

// Returns the names that are valid under a schema.
SchemaCompiler::PropertyNames SchemaCompiler::names_of(Schema schema, std::string_view place) {
  static const Json string = {{"type", "string"}};
  PropertyNames names{.language = nullptr, .all = Names()};
  Languages::Parts languages;
  for (const PlainSchema& variant :
       resolver_.variants(resolver_.all_of({{&string}, schema}), place)) {
    if (!variant.has("enum")) {
      languages.push_back(texts(variant, place));
      names.all.reset();
    }
    ValueRules rules = rules_for_values(variant, place);
    for (const Content& value : list_of(variant, "enum", place, refusal_)) {
      if (!value.json->is_string() || !allows(rules, *value.json, place)) continue;
      languages.push_back(languages_.text(value.json->as_string()));
      if (names.all) names.all->push_back(value.json->as_string());
    }
  }
  names.language = languages_.alternation(std::move(languages));
  check_work();
  return names;
}

// Converts the value of a property whose name is known.
Expression SchemaCompiler::property(std::string_view name, const ObjectParts& parts,
                                    std::string_view at) {
  const auto may_be_named = [&](const Language* names) {
    return names == languages_.any_text() || languages_.contains(names, name);
  };
  const bool is_named = may_be_named(parts.names.language);
  std::vector<Schema> demands;
  std::string place;
  const auto demand = [&](Schema schema, std::string schema_at) {
    if (demands.empty()) place = std::move(schema_at);
    demands.push_back(schema);
  };
  if (const auto own = parts.properties.find(name); own != parts.properties.end()) {
    demand(own->second, below(at, "properties", name));
  }
  for (const auto& [names, schema, pattern_at] : parts.patterns) {
    if (is_named && may_be_named(names)) demand(schema, pattern_at);
  }
  check_work();
  if (!is_named) return {};
  if (demands.empty()) demand(parts.undeclared, below(at, "additionalProperties"));
  Place inside = Place::value;
  if (are_tagged()) {
    inside = notation_.has_texts() && text_names_.contains(name) ? Place::text : Place::argument;
  }
  return convert_inside(
      inside, demands.size() == 1 ? demands[0] : resolver_.all_of(std::move(demands)), place);
}

// Converts the properties that are not declared by name, or only `some` of them; empty if there can
// be none.
Expression SchemaCompiler::other_properties(const ObjectParts& parts, const OtherProperties* some,
                                            std::string_view at) {
  std::vector<OtherProperties> kinds = parts.patterns;
  if (parts.is_open) {
    kinds.push_back({parts.names.language, parts.undeclared, below(at, "additionalProperties")});
  }
  const bool is_plain =
      notation_.is_json && parts.patterns.empty() && parts.names.language == languages_.any_text();
  if (is_plain && parts.is_open && some == nullptr) {
    Expression value = convert_inside(Place::value, kinds[0].schema, kinds[0].at);
    if (value.empty()) return {};
    for (const std::string_view declared : parts.declared) check_name(declared, at);
    if (refusal_.is_set()) return {};
    const Expression name = other_names(parts.declared, rules_);
    return rules_.add(member({name, colon()}, std::move(value)));
  }
  std::vector<Expression> pairs;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const OtherProperties& kind = kinds[i];
    Languages::Parts taken;
    for (size_t j = 0; j < parts.patterns.size(); ++j) {
      if (j != i) taken.push_back(parts.patterns[j].names);
    }
    for (const std::string_view name : parts.declared) taken.push_back(languages_.text(name));
    if (languages_.is_exhausted()) break;
    const Language* free = languages_.complement(languages_.alternation(std::move(taken)));
    Languages::Parts demanded = {parts.names.language, kind.names, free};
    if (some != nullptr) demanded.push_back(some->names);
    const Language* names = languages_.intersection(std::move(demanded));
    check_work();
    const Schema schema =
        some == nullptr ? kind.schema : resolver_.all_of({kind.schema, some->schema});
    pairs.push_back(pair(names, schema, kind.at));
  }
  return alternatives(pairs);
}

// Refuses a name that is too long for a grammar of the other names, in which each character is a
// branch.
void SchemaCompiler::check_name(std::string_view name, std::string_view at) {
  constexpr size_t kLongest = 1000;
  constexpr size_t kSteps = 20;
  refusal_.count(kSteps * name.size());
  if (name.size() <= kLongest) return;
  refuse(at, cat("a property name has ", name.size(), " bytes, expected at most ", kLongest,
                 " where other properties are allowed, too"));
}

// Converts a property with any of these names.
Expression SchemaCompiler::pair(const Language* names, Schema schema, std::string_view at) {
  Expression value = convert_inside(are_tagged() ? Place::argument : Place::value, schema, at);
  if (value.empty()) return {};
  std::vector<Expression> begin = any_key(names, are_tagged(), at);
  if (begin.empty()) return {};
  return rules_.add(member(std::move(begin), std::move(value)));
}

// Returns a member's name, and what is between the name and the value.
std::vector<Expression> SchemaCompiler::key(std::string_view name, std::string_view at) {
  const CallNotation& pieces = notation_.pieces;
  if ((are_tagged() || pieces.has_plain_keys) && !is_plain_name(name, pieces)) {
    refusal_.set(at, cat("calls of this model cannot contain the parameter name ", shown(name)));
  }
  if (are_tagged())
    return {piece(cat(pieces.argument_begin, name, pieces.key_end), notation_.marks)};
  if (pieces.has_plain_keys) return {literal(name), colon()};
  std::vector<Expression> parts;
  for (const Spelling& spelling : quoted_) parts.push_back(spelling.write(name));
  return {alternatives(parts), colon()};
}

// Returns what key() returns, for any of these names; empty if there are none.
std::vector<Expression> SchemaCompiler::any_key(const Language* names, bool is_argument,
                                                std::string_view at) {
  const CallNotation& pieces = notation_.pieces;
  Expression name;
  if (!is_argument && !pieces.has_plain_keys) {
    std::vector<Expression> parts;
    for (const Spelling& spelling : quoted_) {
      const bool is_any = names == languages_.any_text();
      parts.push_back(is_any ? any_text(spelling) : of_language(spelling, names, at));
    }
    name = alternatives(parts);
  } else {
    const Language* plain =
        languages_.repetition(languages_.set(plain_name_characters(pieces)), 1, kUnlimited);
    name = of_language(Spelling(), languages_.intersection({names, plain}), at);
  }
  if (name.empty()) return {};
  if (!is_argument) return {name, colon()};
  return {piece(pieces.argument_begin, notation_.marks), name,
          piece(pieces.key_end, notation_.marks)};
}

Expression SchemaCompiler::member(std::vector<Expression> key, Expression value) const {
  key.push_back(std::move(value));
  const std::string_view end = notation_.pieces.value_end;
  if (are_tagged() && !end.empty()) key.push_back(piece(end, notation_.marks));
  return sequence(key);
}

// Writes the members in their order, then any number of `pair`. From a given member on, `firsts`
// match the rest if nothing has been written yet, and `next` if something has.
Expression SchemaCompiler::braces(const Members& parts, std::string_view at) {
  const auto& [members, pair, some, limits, may_be_shuffled] = parts;
  const CallNotation& pieces = notation_.pieces;
  const auto n_required = static_cast<uint64_t>(std::count_if(
      members.begin(), members.end(), [](const Member& one) { return one.is_required; }));
  const uint64_t n_most = pair.empty() ? members.size() : kUnlimited;
  const bool is_counted = limits.least > std::max<uint64_t>(n_required, 1) || limits.most < n_most;
  if (is_counted && !some.empty()) {
    return refuse(at,
                  "\"minProperties\" and \"maxProperties\" are not supported beside a \"not\" that "
                  "asks for some property");
  }
  if (limits.least > std::min(n_most, limits.most) || n_required > limits.most) return {};
  const auto enclose = [&](const Expression& inside, bool may_be_empty) {
    if (!are_tagged()) return enclosed('{', inside, '}', may_be_empty);
    return sequence({piece(pieces.arguments_begin, notation_.marks),
                     inside.empty() ? empty_text()
                     : may_be_empty ? repeat(inside, 0, 1)
                                    : inside,
                     piece(pieces.arguments_end, notation_.marks)});
  };
  if (is_counted) {
    const Expression inside = counted_members(members, pair, limits, at);
    const bool may_be_empty = limits.least == 0 && n_required == 0;
    return inside.empty() && !may_be_empty ? Expression() : enclose(inside, may_be_empty);
  }
  if (may_be_shuffled && members.size() > 1 && members.size() <= kMostShuffledMembers &&
      some.empty() && notation_.is_json) {
    const bool may_be_empty = limits.least == 0 && n_required == 0;
    return enclose(shuffled_members(members, pair), may_be_empty);
  }
  const Expression separator =
      are_tagged() ? piece(pieces.argument_separator, notation_.marks) : comma();
  Expression next;
  std::vector<Expression> firsts;  // the last one first
  if (!pair.empty()) {
    next = repeat(sequence({separator, pair}), 0, kUnlimited);
    firsts.push_back(sequence({pair, next}));
  }
  bool may_be_empty = limits.least == 0 && some.empty();
  if (!some.empty()) {
    const Expression before = repeat(sequence({pair, separator}), 0, kUnlimited);
    const Expression with_some = sequence({before, some, next});
    next = sequence({separator, with_some});
    firsts = {with_some};
  }
  for (size_t i = members.size(); i-- > 0;) {
    const auto& [text, is_required] = members[i];
    const Expression after = next.empty() ? Expression() : rules_.add(next);
    const Expression another = sequence({separator, text, after});
    if (is_required) {
      next = another;
      firsts.clear();
      may_be_empty = false;
    } else {
      next = after.empty() ? repeat(another, 0, 1) : alternatives({another, after});
    }
    firsts.push_back(sequence({text, after}));
  }
  std::reverse(firsts.begin(), firsts.end());
  const Expression first = alternatives(firsts);
  return enclose(first, may_be_empty);
}

// Writes the members in any order, then any number of `pair`. Leaves out the empty object.
Expression SchemaCompiler::shuffled_members(const std::vector<Member>& members,
                                            const Expression& pair) {
  const size_t n_sets = size_t{1} << members.size();
  std::vector<Expression> rests(n_sets);  // by the set of members that were written
  const Expression others =
      pair.empty() ? Expression() : repeat(sequence({comma(), pair}), 0, kUnlimited);
  for (size_t set = n_sets; set-- > 0;) {
    std::vector<Expression> branches;
    bool may_end = true;
    for (size_t i = 0; i < members.size(); ++i) {
      if ((set >> i & 1) != 0) continue;
      may_end = may_end && !members[i].is_required;
      branches.push_back(sequence(
          {set == 0 ? Expression() : comma(), members[i].text, rests[set | size_t{1} << i]}));
    }
    if (may_end && set == 0) {
      if (!pair.empty()) branches.push_back(sequence({pair, others}));
    } else if (may_end) {
      branches.push_back(pair.empty() ? empty_text() : others);
    }
    const Expression all = alternatives(branches);
    rests[set] = set == 0 || all == empty_text() ? all : rules_.add(all);
  }
  return rests[0];
}

// Writes the members and pairs of an object whose number is limited, without its braces. Leaves out
// the empty object.
Expression SchemaCompiler::counted_members(const std::vector<Member>& members,
                                           const Expression& pair, const Limits& limits,
                                           std::string_view at) {
  constexpr uint64_t kMostRests = 20'000;
  const Expression separator =
      are_tagged() ? piece(notation_.pieces.argument_separator, notation_.marks) : comma();
  const uint64_t n_given =
      limits.most == kUnlimited ? limits.least : std::min<uint64_t>(limits.most, members.size());
  if (n_given > kMostRests || (n_given + 1) * (members.size() + 1) > kMostRests) {
    return refuse(
        at, "\"minProperties\" and \"maxProperties\" are not supported for this many properties");
  }
  const auto n_counted = static_cast<size_t>(n_given);
  // What follows the members before one, by how many of them were written.
  std::vector<Expression> rests(n_counted + 1);
  for (size_t n = 0; n <= n_counted; ++n) {
    const uint64_t least = limits.least > n ? limits.least - n : 0;
    const uint64_t most = limits.most == kUnlimited ? kUnlimited : limits.most - n;
    if (pair.empty() || most == 0) {
      if (least == 0 && n > 0) rests[n] = empty_text();
    } else if (n > 0) {
      rests[n] = rules_.repeated(sequence({separator, pair}), least, most);
    } else {
      const uint64_t more = most == kUnlimited ? most : most - 1;
      const uint64_t least_more = least > 0 ? least - 1 : 0;
      rests[n] = sequence({pair, rules_.repeated(sequence({separator, pair}), least_more, more)});
    }
  }
  for (size_t i = members.size(); i-- > 0;) {
    std::vector<Expression> earlier(n_counted + 1);
    for (size_t n = 0; n <= n_counted; ++n) {
      const size_t more = limits.most == kUnlimited ? std::min(n + 1, n_counted) : n + 1;
      const Expression behind = more <= n_counted ? rests[more] : Expression();
      std::vector<Expression> branches;
      if (!behind.empty()) {
        branches.push_back(sequence({n == 0 ? Expression() : separator, members[i].text, behind}));
      }
      if (!members[i].is_required && !rests[n].empty()) branches.push_back(rests[n]);
      earlier[n] = alternatives(branches);
      if (!earlier[n].empty() && earlier[n] != empty_text() && n > 0) {
        earlier[n] = rules_.add(earlier[n]);
      }
    }
    rests = std::move(earlier);
  }
  return rests[0];
}

}  // namespace kinglet::schema
