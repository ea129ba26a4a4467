#include "schema/rules.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/format.h"
#include "schema/gbnf.h"
#include "schema/numbers.h"
#include "schema/strings.h"

namespace kinglet::schema {
namespace {

struct CommonRule {
  std::string_view name;
  std::string_view body;
};

constexpr auto kCommonRules = std::to_array<CommonRule>({{"string", R"("\"" char* "\"")"},
                                                         {"char", kAnyJsonCharacter},
                                                         {"rest", R"(char* "\"")"},
                                                         {"other", kOtherJsonCharacter},
                                                         {"number", kAnyNumber},
                                                         {"integer", kAnyInteger}});

bool is_reserved(std::string_view name) {
  return name == "root" ||
         std::any_of(kCommonRules.begin(), kCommonRules.end(),
                     [name](const CommonRule& rule) { return rule.name == name; });
}

// Returns the last two parts of a place, with a hyphen for what cannot be in a name.
std::string stem_of(std::string_view at) {
  constexpr std::string_view kProperties = "properties-";
  constexpr size_t kLongest = 100;
  const size_t last = at.rfind('/');
  const size_t begin = last == at.npos || last == 0 ? at.npos : at.rfind('/', last - 1);
  std::string stem;
  for (const char c : at.substr(begin == at.npos ? 0 : begin + 1)) {
    if (stem.size() > kLongest) break;
    if (is_letter(c) || is_digit(c)) {
      stem += c;
    } else if (!stem.empty() && !stem.ends_with('-')) {
      stem += '-';
    }
  }
  if (stem.ends_with('-')) stem.pop_back();
  if (stem.starts_with(kProperties)) stem.erase(0, kProperties.size());
  return stem.empty() ? "schema" : stem;
}

}  // namespace

void GrammarRules::define(std::string_view name, std::string body) {
  if (const auto known = by_name_.find(name); known != by_name_.end()) {
    known->second->body = std::move(body);
    return;
  }
  Rule& rule = rules_.emplace_back(Rule{std::string(name), std::move(body)});
  by_name_.emplace(rule.name, &rule);
}

GrammarRules::Rule& GrammarRules::make(std::string_view at) {
  const std::string stem = stem_of(at);
  size_t& n = n_names_.try_emplace(stem, 1).first->second;
  std::string name = stem;
  while (is_reserved(name) || has(name)) name = cat(stem, "-", ++n);
  define(name, "");
  return rules_.back();
}

std::string GrammarRules::add(std::string_view at, const std::string& body) {
  if (const auto known = by_body_.find(body); known != by_body_.end()) {
    return std::string(known->second);
  }
  Rule& rule = make(at);
  rule.body = body;
  by_body_.emplace(rule.body, rule.name);
  return rule.name;
}

std::string GrammarRules::repeated(std::string_view at, const std::string& part, uint64_t least,
                                   uint64_t most) {
  constexpr uint64_t kFew = 600;
  const uint64_t more = most == kUnlimited ? 0 : most - least;
  if (least <= kFew && more <= kFew) return repeat(part, least, most);
  uint64_t size = 1;
  while (size * size < std::max(least, more)) size *= 2;
  const std::string block = add(at, repeat(part, size, size));
  std::vector<std::string> parts;
  if (least > 0) {
    parts.push_back(repeat(block, least / size, least / size));
    parts.push_back(repeat(part, least % size, least % size));
  }
  if (most == kUnlimited) {
    parts.push_back(repeat(part, 0, most));
  } else if (more < size) {
    parts.push_back(repeat(part, 0, more));
  } else {
    // The rest behind the blocks may be as long as one of them, so that no number is left out.
    parts.push_back(repeat(block, 0, more / size - 1));
    parts.push_back(repeat(part, 0, size + more % size));
  }
  std::erase(parts, kEmptyText);
  return sequence(parts);
}

void GrammarRules::drop(const std::string& name) {
  by_name_.erase(name);
  std::erase_if(rules_, [&](const Rule& rule) { return rule.name == name; });
}

std::string GrammarRules::common(std::string_view name) {
  if (!has(name)) {
    const auto* rule = std::find_if(kCommonRules.begin(), kCommonRules.end(),
                                    [name](const CommonRule& one) { return one.name == name; });
    define(name, std::string(rule->body));
    if (name == "string" || name == "rest") common("char");
  }
  return std::string(name);
}

std::string GrammarRules::grammar(std::string_view root) const {
  std::string out = cat("root ::= ", root, "\n");
  for (const Rule& rule : rules_) out += cat(rule.name, " ::= ", rule.body, "\n");
  return out;
}

}  // namespace kinglet::schema
