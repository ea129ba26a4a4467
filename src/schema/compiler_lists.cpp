// The part of SchemaCompiler that converts lists.
#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

#include "base/format.h"
#include "grammar/expression.h"
#include "schema/compiler.h"

namespace kinglet::schema {
namespace {

// The most states of a list whose items are counted by kind. Each state is a rule.
constexpr uint64_t kMostStates = 4000;
// The most different items that "uniqueItems" lets come in any order.
constexpr size_t kMostShuffledItems = 8;
// The most different items that "uniqueItems" tells apart.
constexpr size_t kMostDifferent = 500;

// Writes the rest of a list of different items, state by state.
class Different {
 public:
  Different(const std::vector<Expression>& items, uint64_t least, uint64_t most,
            Expression separator, GrammarRules& rules)
      : items_(items),
        least_(least),
        most_(std::min<uint64_t>(most, items.size())),
        separator_(std::move(separator)),
        rules_(rules) {}

  // Returns what may follow the items in `used`, a set of bits.
  Expression shuffled(uint32_t used) {
    Expression& known = shuffled_[used];
    if (!known.empty()) return known;
    const auto n = static_cast<uint64_t>(std::popcount(used));
    std::vector<Expression> branches;
    for (uint32_t i = 0; i < items_.size() && n < most_; ++i) {
      if ((used >> i & 1) == 0) branches.push_back(then(used == 0, i, shuffled(used | 1u << i)));
    }
    return known = state(branches, n);
  }

  // Returns what may follow when the items from `next` on are left, and `n` have been written.
  Expression in_order(size_t next, uint64_t n) {
    const uint64_t counted =
        most_ == items_.size() ? std::min(n, std::max<uint64_t>(least_, 1)) : n;
    Expression& known = in_order_[{next, counted}];
    if (!known.empty()) return known;
    std::vector<Expression> branches;
    for (size_t i = next; i < items_.size() && n < most_; ++i) {
      if (n + (items_.size() - i) < least_) break;
      branches.push_back(then(n == 0, i, in_order(i + 1, n + 1)));
    }
    return in_order_[{next, counted}] = state(branches, n);
  }

 private:
  Expression then(bool is_first, size_t item, const Expression& rest) const {
    return rest.empty() ? Expression()
                        : sequence({is_first ? Expression() : separator_, items_[item], rest});
  }

  // Leaves out the empty list: brackets stand around it.
  Expression state(std::vector<Expression>& branches, uint64_t n) {
    if (n > 0 && n >= least_) branches.push_back(empty_text());
    const Expression all = alternatives(branches);
    return all.empty() || all == empty_text() || n == 0 ? all : rules_.add(all);
  }

  const std::vector<Expression>& items_;
  const uint64_t least_;
  const uint64_t most_;
  const Expression separator_;
  GrammarRules& rules_;
  std::map<uint32_t, Expression> shuffled_;
  std::map<std::pair<size_t, uint64_t>, Expression> in_order_;
};

}  // namespace

Expression SchemaCompiler::list(const PlainSchema& schema, std::string_view at) {
  static const Json anything = true;
  static const Json nothing = false;
  const auto [least, most] = limits_of(schema, "minItems", "maxItems", at, refusal_);
  ListParts parts{.least = least, .most = most};
  for (const Content& value : list_of(schema, kNotEnum, at, refusal_)) {
    if (!value.json->is_array()) continue;
    if (value.json->size() > 0) refuse(at, "\"not\" cannot exclude one array, except []");
    parts.least = std::max<uint64_t>(parts.least, 1);
  }
  const std::vector<Schema> prefix = list_of(schema, "prefixItems", at, refusal_);
  constexpr size_t kSteps = 20;
  refusal_.count(kSteps * prefix.size());
  if (refusal_.is_set()) return {};
  for (size_t i = 0; i < prefix.size(); ++i) {
    parts.prefix.emplace_back(prefix[i], below(at, "prefixItems", i));
  }
  // Without another word, a tuple is whole.
  if (!schema.has("minItems")) parts.least = std::max<uint64_t>(parts.least, prefix.size());
  const Content* items = schema.find("items");
  const bool may_be_more = prefix.empty() || schema.has("minItems") || schema.has("maxItems");
  parts.items = items != nullptr ? *items : Schema{may_be_more ? &anything : &nothing};
  parts.items_at = below(at, "items");
  if (schema.has(kContainsEach)) return counted_list(schema, parts, at);
  const Content* is_unique = schema.find("uniqueItems");
  if (is_unique != nullptr && is_unique->json->is_boolean() && is_unique->json->as_boolean() &&
      prefix.empty()) {
    const auto values = values_of(parts.items, parts.items_at);
    if (values) return unique_list(*values, parts, at);
  }
  return plain_list(parts);
}

Expression SchemaCompiler::plain_list(const ListParts& parts) {
  uint64_t most = parts.most;
  std::vector<Expression> tuple;
  for (size_t i = 0; i < parts.prefix.size() && i < most; ++i) {
    Expression text = convert_inside(Place::value, parts.prefix[i].first, parts.prefix[i].second);
    if (text.empty()) {
      most = i;
    } else {
      tuple.push_back(std::move(text));
    }
  }
  Expression item;
  if (most > tuple.size()) item = convert_inside(Place::value, parts.items, parts.items_at);
  if (item.empty()) most = std::min<uint64_t>(most, tuple.size());
  if (parts.least > most) return {};
  return rules_.add(brackets(tuple, item, parts.least, most));
}

Expression SchemaCompiler::brackets(const std::vector<Expression>& tuple, const Expression& item,
                                    uint64_t least, uint64_t most) {
  const auto others = [&](uint64_t n) {
    if (item.empty()) return Expression();
    return rules_.repeated(sequence({comma(), item}), least > n ? least - n : 0,
                           most == kUnlimited ? kUnlimited : most - n);
  };
  if (tuple.empty()) {
    const Expression inside = item.empty() ? Expression() : sequence({item, others(1)});
    return enclosed('[', inside, ']', least == 0);
  }
  Expression rest = others(tuple.size());
  constexpr size_t kInOneRule = 16;  // otherwise, sequences would be nested as deep as it is long
  for (size_t i = tuple.size(); i-- > 0;) {
    if (i % kInOneRule == kInOneRule - 1 && !rest.empty()) rest = rules_.add(rest);
    rest = sequence({i == 0 ? Expression() : comma(), tuple[i], rest});
    if (i > 0 && i >= least) rest = repeat(rest, 0, 1);
  }
  return enclosed('[', rest, ']', least == 0);
}

// Converts a list of different items that are all among these.
Expression SchemaCompiler::unique_list(const std::vector<Json>& values, const ListParts& parts,
                                       std::string_view at) {
  if (parts.least > values.size() || parts.most < parts.least) return {};
  std::vector<Expression> items;
  const size_t outer_level = std::exchange(level_, std::min(level_ + 1, n_levels_));
  for (const Json& value : values) items.push_back(rules_.shared(spelled(value, false, at)));
  level_ = outer_level;
  Different writer(items, parts.least, parts.most, comma(), rules_);
  Expression inside;
  if (items.size() <= kMostShuffledItems) {
    inside = writer.shuffled(0);
  } else {
    const uint64_t n_counted = parts.most < items.size() ? parts.most : parts.least + 1;
    if (n_counted * items.size() > kMostStates) return plain_list(parts);
    inside = writer.in_order(0, 0);
  }
  return rules_.add(enclosed('[', inside, ']', parts.least == 0));
}

// Returns the values that the schema allows, if there are only a few.
std::optional<std::vector<Json>> SchemaCompiler::values_of(Schema schema, std::string_view at) {
  std::vector<Json> values;
  std::set<std::string> known;
  const auto add = [&](Json value) {
    if (known.insert(canonical_text(value)).second) values.push_back(std::move(value));
  };
  for (const PlainSchema& variant : resolver_.variants(schema, at)) {
    const Names types = types_of(variant, at, refusal_);
    if (variant.has("enum")) {
      for (const Json* value : enumerated(variant, at)) {
        add(*value);
        if (values.size() > kMostDifferent) return std::nullopt;
      }
    } else if (types.empty() || variant.has(kNotEnum)) {
      return std::nullopt;
    }
    for (const std::string_view type : types) {
      if (variant.has("enum")) break;
      if (type == "null") {
        add({});
      } else if (type == "boolean") {
        add(false);
        add(true);
      } else if (type == "integer" && variant.has("minimum") && variant.has("maximum")) {
        const auto least = number_of(variant, "minimum", at, refusal_)->as_integer();
        const auto most = number_of(variant, "maximum", at, refusal_)->as_integer();
        constexpr auto kMost = static_cast<int64_t>(kMostDifferent);
        const bool is_plain = variant.keywords.size() == 3 && least && most &&
                              std::abs(*least) <= INT32_MAX && *most - *least < kMost;
        if (!is_plain) return std::nullopt;
        for (int64_t i = *least; i <= *most; ++i) add(i);
      } else {
        return std::nullopt;
      }
    }
  }
  return values;
}

// Converts a list with "contains": counts the items for which it is true, or if there are several,
// those that have been true of an item.
Expression SchemaCompiler::counted_list(const PlainSchema& schema, const ListParts& parts,
                                        std::string_view at) {
  constexpr size_t kMostWanted = 4;
  const auto [given, most_hits] = limits_of(schema, "minContains", "maxContains", at, refusal_);
  const std::vector<Schema> wanted = list_of(schema, kContainsEach, at, refusal_);
  const bool is_limited = most_hits != kUnlimited;
  const bool is_one = wanted.size() == 1;
  if (!is_one && (wanted.size() > kMostWanted || schema.has("minContains") || is_limited)) {
    return refuse(at, cat("several \"contains\" for one array are supported up to ", kMostWanted,
                          ", without \"minContains\" and \"maxContains\""));
  }
  const uint64_t all = (uint64_t{1} << wanted.size()) - 1;
  const uint64_t least_hits = !is_one ? all : schema.has("minContains") ? given : 1;
  const uint64_t n_hits = is_limited ? most_hits : least_hits;
  const uint64_t n_items = parts.most != kUnlimited
                               ? parts.most
                               : std::max<uint64_t>({parts.prefix.size(), parts.least, 1});
  if (n_hits >= kMostStates || n_items >= kMostStates ||
      (n_hits + 1) * (n_items + 1) > kMostStates) {
    return refuse(at, "\"contains\" is not supported in an array this long: lower \"maxItems\"");
  }
  // The items at a place: under none of the wanted schemas, and under each set of them.
  std::map<uint64_t, std::vector<Expression>> kinds;
  const auto kinds_at = [&](uint64_t place) -> const std::vector<Expression>& {
    const auto key = static_cast<size_t>(std::min<uint64_t>(place, parts.prefix.size()));
    std::vector<Expression>& known = kinds[key];
    if (!known.empty()) return known;
    const bool is_in_prefix = key < parts.prefix.size();
    const Schema item = is_in_prefix ? parts.prefix[key].first : parts.items;
    for (uint64_t set = 0; set <= all; ++set) {
      std::vector<Schema> demands = {item};
      if (set == 0 && is_limited) demands.push_back(resolver_.negation_of(wanted[0]));
      for (size_t i = 0; i < wanted.size(); ++i) {
        if ((set >> i & 1) != 0) demands.push_back(wanted[i]);
      }
      known.push_back(convert_inside(
          Place::value, demands.size() == 1 ? item : resolver_.all_of(std::move(demands)),
          set == 0 && is_in_prefix ? parts.prefix[key].second : below(at, "contains")));
    }
    return known;
  };
  // The rest of the list behind `n` items with `hits`, from the last state to the first.
  std::map<std::pair<uint64_t, uint64_t>, Expression> rests;
  for (uint64_t n = n_items + 1; n-- > 0;) {
    for (uint64_t hits = n_hits + 1; hits-- > 0;) {
      if (refusal_.is_set()) return {};
      const bool is_end = n == n_items;
      std::vector<Expression> branches;
      if (n > 0 && n >= parts.least && hits >= least_hits) branches.push_back(empty_text());
      std::vector<Expression> loops;
      for (uint64_t set = 0; set <= all && (!is_end || parts.most == kUnlimited); ++set) {
        const Expression& item = kinds_at(n)[static_cast<size_t>(set)];
        const uint64_t more = is_one ? hits + set : hits | set;
        if (item.empty() || (is_limited && more > n_hits)) continue;
        const uint64_t counted = std::min(more, n_hits);
        if (is_end && counted == hits) {
          loops.push_back(item);
        } else if (const Expression& rest = rests[{is_end ? n : n + 1, counted}]; !rest.empty()) {
          branches.push_back(sequence({n == 0 ? Expression() : comma(), item, rest}));
        }
      }
      Expression rest = alternatives(branches);
      if (rest.empty()) continue;
      if (!loops.empty()) {
        rest = sequence({repeat(sequence({comma(), alternatives(loops)}), 0, kUnlimited), rest});
      }
      rests[{n, hits}] = n == 0 || rest == empty_text() ? rest : rules_.add(rest);
    }
  }
  const Expression inside = rests[{0, 0}];
  const bool may_be_empty = parts.least == 0 && least_hits == 0;
  if (inside.empty() && !may_be_empty) return {};
  return rules_.add(enclosed('[', inside, ']', may_be_empty));
}

}  // namespace kinglet::schema
