#include "schema/lengths.h"

#include <algorithm>
#include <vector>

#include "grammar/expression.h"

namespace kinglet::schema {
namespace {

using Kind = Language::Kind;

uint64_t sum(uint64_t a, uint64_t b) { return a > kUnlimited - b ? kUnlimited : a + b; }

uint64_t product(uint64_t a, uint64_t b) {
  return a != 0 && b > kUnlimited / a ? kUnlimited : a * b;
}

// The parts of a concatenation, which has one in the other.
std::vector<const Language*> chain_of(const Language* language) {
  std::vector<const Language*> parts;
  for (; language->kind == Kind::concatenation && !language->parts.empty();
       language = language->parts[1]) {
    parts.push_back(language->parts[0]);
  }
  if (language->kind != Kind::concatenation) parts.push_back(language);
  return parts;
}

bool is_endless(const Language* language) { return lengths_of(language).most == kUnlimited; }

}  // namespace

Limits lengths_of(const Language* language) {
  switch (language->kind) {
    case Kind::set:
      return {1, 1};
    case Kind::concatenation: {
      Limits all{0, 0};
      for (const Language* part : chain_of(language)) {
        const auto [least, most] = lengths_of(part);
        all = {sum(all.least, least), sum(all.most, most)};
      }
      return all;
    }
    case Kind::alternation: {
      Limits all{kUnlimited, 0};
      for (const Language* part : language->parts) {
        const auto [least, most] = lengths_of(part);
        all = {std::min(all.least, least), std::max(all.most, most)};
      }
      return all;
    }
    case Kind::intersection: {
      Limits all{0, kUnlimited};
      for (const Language* part : language->parts) {
        const auto [least, most] = lengths_of(part);
        all = {std::max(all.least, least), std::min(all.most, most)};
      }
      return all;
    }
    case Kind::complement:
      return {};
    case Kind::repetition: {
      const auto [least, most] = lengths_of(language->parts[0]);
      return {product(least, language->least), product(most, language->most)};
    }
  }
  return {};
}

const Language* shortened(const Language* language, uint64_t most, Languages& languages) {
  // With less room, too few of the usual texts would be left.
  constexpr uint64_t kLeastRoom = 16;
  if (lengths_of(language).most <= most) return language;
  if (most < kLeastRoom) return nullptr;
  if (language->kind == Kind::alternation) {
    Languages::Parts parts;
    for (const Language* part : language->parts) {
      const Language* shorter = shortened(part, most, languages);
      if (shorter == nullptr) return nullptr;
      parts.push_back(shorter);
    }
    return languages.alternation(std::move(parts));
  }
  if (language->kind == Kind::repetition) {
    const uint64_t each = lengths_of(language->parts[0]).most;
    if (each == kUnlimited && language->most != kUnlimited) {
      const Language* part = shortened(language->parts[0], most / language->most, languages);
      return part == nullptr ? nullptr
                             : languages.repetition(part, language->least, language->most);
    }
    if (each == kUnlimited || each == 0 || most / each < language->least) return nullptr;
    return languages.repetition(language->parts[0], language->least, most / each);
  }
  if (language->kind != Kind::concatenation) return nullptr;
  const std::vector<const Language*> parts = chain_of(language);
  uint64_t fixed = 0;
  uint64_t n_endless = 0;
  for (const Language* part : parts) {
    if (is_endless(part)) {
      ++n_endless;
    } else {
      fixed = sum(fixed, lengths_of(part).most);
    }
  }
  if (n_endless == 0 || fixed > most) return nullptr;
  const Language* found = languages.empty_text();
  for (size_t i = parts.size(); i-- > 0;) {
    const Language* part = parts[i];
    if (is_endless(part)) part = shortened(part, (most - fixed) / n_endless, languages);
    if (part == nullptr) return nullptr;
    found = languages.concatenation(part, found);
  }
  return found;
}

bool is_simple(const Language* language) {
  if (language->kind == Kind::intersection || language->kind == Kind::complement) return false;
  if (language->kind != Kind::concatenation) {
    return std::all_of(language->parts.begin(), language->parts.end(), is_simple);
  }
  const std::vector<const Language*> parts = chain_of(language);
  return std::all_of(parts.begin(), parts.end(), is_simple);
}

Expression simple_expression(const Language* language, Characters characters, GrammarRules& rules) {
  std::vector<Expression> written;
  const bool is_chain = language->kind == Kind::concatenation;
  for (const Language* part : is_chain ? chain_of(language) : language->parts) {
    written.push_back(simple_expression(part, characters, rules));
    // A sequence with a part that matches nothing matches nothing.
    if (written.back().empty() && is_chain) return {};
  }
  switch (language->kind) {
    case Kind::set:
      return characters.spell(language->characters);
    case Kind::concatenation:
      return sequence(written);
    case Kind::alternation:
      return alternatives(written);
    default:
      break;
  }
  // Each repetition is a copy: a rule makes it a short one.
  constexpr uint64_t kManyCopies = 4;
  const bool has_many = language->most != kUnlimited && language->most > kManyCopies;
  return rules.repeated(has_many ? rules.add(written[0]) : written[0], language->least,
                        language->most);
}

}  // namespace kinglet::schema
