#include "schema/language.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/hash.h"
#include "base/utf8.h"

namespace kinglet::schema {
namespace {

using Parts = Languages::Parts;

// The most parts of expressions that may be made before a language counts as too large.
constexpr size_t kMaxWork = 300'000;

// The limit for derivatives inside derivatives, because of the stack.
constexpr int kMaxDerivativeDepth = 400;

bool by_id(const Language* a, const Language* b) { return a->id < b->id; }

// Returns the languages, each once, with the parts of those of this kind in their place.
Parts flat(Language::Kind kind, const Parts& languages) {
  Parts parts;
  for (const Language* language : languages) {
    if (language->kind == kind) {
      parts.insert(parts.end(), language->parts.begin(), language->parts.end());
    } else {
      parts.push_back(language);
    }
  }
  std::sort(parts.begin(), parts.end(), by_id);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return parts;
}

bool holds(const Parts& parts, const Language* part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

// Returns those that are sets, and leaves the others.
Parts take_sets(Parts& parts) {
  const auto sets = std::partition(parts.begin(), parts.end(), [](const Language* part) {
    return part->kind != Language::Kind::set;
  });
  Parts taken(sets, parts.end());
  parts.erase(sets, parts.end());
  return taken;
}

bool is_chain(const Language* language) {
  return language->kind == Language::Kind::concatenation && !language->parts.empty();
}

bool begins_with_set(const Language* language) {
  return language->kind == Language::Kind::set ||
         (is_chain(language) && language->parts[0]->kind == Language::Kind::set);
}

template <class T>
uint64_t hash_of(const std::vector<T>& values, uint64_t seed) {
  return hash_bytes(std::as_bytes(std::span(values)), seed);
}

}  // namespace

size_t Languages::Hash::operator()(const Language* language) const {
  uint64_t hash = hash_of(language->parts, static_cast<uint64_t>(language->kind));
  hash = hash_of(language->characters, hash);
  const uint64_t bounds[] = {language->least, language->most};
  return static_cast<size_t>(hash_bytes(std::as_bytes(std::span(bounds)), hash));
}

bool Languages::Equal::operator()(const Language* a, const Language* b) const {
  return a->kind == b->kind && a->parts == b->parts && a->characters == b->characters &&
         a->least == b->least && a->most == b->most;
}

size_t Languages::StepHash::operator()(const Step& step) const {
  const uint64_t key[] = {step.from->id, step.code_point};
  return static_cast<size_t>(hash_bytes(std::as_bytes(std::span(key))));
}

Languages::Languages()
    : none_(set({})),
      empty_text_(make({.kind = Language::Kind::concatenation, .has_empty_text = true})),
      any_character_(set({kAnyCodePoint})),
      any_text_(repetition(any_character_, 0, kUnlimited)) {}

void Languages::count_work(size_t n) {
  work_ += n;
  is_exhausted_ = is_exhausted_ || work_ > kMaxWork;
}

const Language* Languages::make(Language language) {
  count_work(1 + language.parts.size());
  if (is_exhausted_) return none_;
  if (const auto found = known_.find(&language); found != known_.end()) return *found;
  language.id = static_cast<uint32_t>(languages_.size());
  const Language* made = &languages_.emplace_back(std::move(language));
  known_.insert(made);
  return made;
}

const Language* Languages::set(const CharacterSet& characters) {
  return make(
      {.kind = Language::Kind::set, .has_empty_text = false, .characters = normalized(characters)});
}

const Language* Languages::text(std::string_view text) {
  std::vector<char32_t> code_points;
  while (!text.empty()) {
    const Utf8Char character = decode_utf8(text);
    code_points.push_back(character.code_point);
    text.remove_prefix(character.n_bytes);
  }
  const Language* language = empty_text_;
  for (size_t i = code_points.size(); i-- > 0;) {
    language = concatenated(set({{code_points[i], code_points[i]}}), language);
  }
  return language;
}

// The first part of a concatenation is never a concatenation itself.
const Language* Languages::concatenation(const Language* first, const Language* rest) {
  if (rest == empty_text_) return first;
  Parts heads;
  for (; is_chain(first); first = first->parts[1]) heads.push_back(first->parts[0]);
  const Language* language = concatenated(first, rest);
  for (size_t i = heads.size(); i-- > 0;) language = concatenated(heads[i], language);
  return language;
}

const Language* Languages::concatenated(const Language* first, const Language* rest) {
  if (first == none_ || rest == none_) return none_;
  if (first == empty_text_) return rest;
  if (rest == empty_text_ || (first == any_text_ && rest == first)) return first;
  return make({.kind = Language::Kind::concatenation,
               .has_empty_text = first->has_empty_text && rest->has_empty_text,
               .parts = {first, rest}});
}

const Language* Languages::alternation(Parts parts) {
  parts = flat(Language::Kind::alternation, parts);
  if (holds(parts, any_text_)) return any_text_;
  CharacterSet characters;
  for (const Language* part : take_sets(parts)) {
    characters.insert(characters.end(), part->characters.begin(), part->characters.end());
  }
  const Language* one = set(characters);
  if (one != none_) parts.push_back(one);
  return parts.empty() ? none_ : joined(Language::Kind::alternation, std::move(parts));
}

const Language* Languages::intersection(Parts parts) {
  parts = flat(Language::Kind::intersection, parts);
  std::erase(parts, any_text_);
  if (holds(parts, none_)) return none_;
  if (holds(parts, empty_text_)) {
    const bool all_have_it = std::all_of(parts.begin(), parts.end(),
                                         [](const Language* part) { return part->has_empty_text; });
    return all_have_it ? empty_text_ : none_;
  }
  if (const Parts sets = take_sets(parts); !sets.empty()) {
    CharacterSet characters = {kAnyCodePoint};
    for (const Language* part : sets)
      characters = kinglet::intersection(characters, part->characters);
    const Language* one = set(characters);
    if (one == none_) return none_;
    parts.push_back(one);
  }
  return parts.empty() ? any_text_ : joined(Language::Kind::intersection, std::move(parts));
}

const Language* Languages::joined(Language::Kind kind, Parts parts) {
  if (parts.size() == 1) return parts[0];
  std::sort(parts.begin(), parts.end(), by_id);
  const auto has_it = [](const Language* part) { return part->has_empty_text; };
  const bool has_empty_text = kind == Language::Kind::alternation
                                  ? std::any_of(parts.begin(), parts.end(), has_it)
                                  : std::all_of(parts.begin(), parts.end(), has_it);
  return make({.kind = kind, .has_empty_text = has_empty_text, .parts = std::move(parts)});
}

const Language* Languages::complement(const Language* part) {
  if (part == none_) return any_text_;
  if (part == any_text_) return none_;
  if (part->kind == Language::Kind::complement) return part->parts[0];
  return make({.kind = Language::Kind::complement,
               .has_empty_text = !part->has_empty_text,
               .parts = {part}});
}

const Language* Languages::repetition(const Language* part, uint64_t least, uint64_t most) {
  if (most == 0 || part == empty_text_) return empty_text_;
  if (part == none_) return least == 0 ? empty_text_ : none_;
  if (least == 1 && most == 1) return part;
  if (part->has_empty_text) least = 0;
  return make({.kind = Language::Kind::repetition,
               .has_empty_text = least == 0,
               .parts = {part},
               .least = least,
               .most = most});
}

const Language* Languages::derivative(const Language* language, char32_t code_point) {
  // Most languages begin with a set: these need no table.
  const auto is_known = [&](const Language* one) {
    return begins_with_set(one) || derivatives_.contains({one, code_point});
  };
  if (begins_with_set(language)) {
    const bool is_set = language->kind == Language::Kind::set;
    const Language* first = is_set ? language : language->parts[0];
    if (!kinglet::contains(first->characters, code_point)) return none_;
    return is_set ? empty_text_ : language->parts[1];
  }
  // The derivative of a long concatenation may need those of all its ends.
  Parts chain;
  for (const Language* end = language; !is_known(end); end = end->parts[1]) {
    chain.push_back(end);
    if (!is_chain(end) || !end->parts[0]->has_empty_text) break;
  }
  for (size_t i = chain.size(); i-- > 0 && !is_exhausted_;) {
    const Language* made = compute_derivative(chain[i], code_point);
    derivatives_.emplace(Step{chain[i], code_point}, made);
  }
  return is_exhausted_ ? none_ : derivatives_.find({language, code_point})->second;
}

const Language* Languages::compute_derivative(const Language* language, char32_t code_point) {
  if (language == empty_text_) return none_;
  if (depth_ == kMaxDerivativeDepth) is_exhausted_ = true;
  if (is_exhausted_) return none_;
  ++depth_;
  Parts parts;
  const size_t n_parts =
      language->kind == Language::Kind::concatenation ? 1 : language->parts.size();
  for (size_t i = 0; i < n_parts; ++i) {
    parts.push_back(derivative(language->parts[i], code_point));
  }
  --depth_;
  switch (language->kind) {
    case Language::Kind::set:
      break;
    case Language::Kind::alternation:
      return alternation(std::move(parts));
    case Language::Kind::intersection:
      return intersection(std::move(parts));
    case Language::Kind::complement:
      return complement(parts[0]);
    case Language::Kind::repetition: {
      const uint64_t least = language->least == 0 ? 0 : language->least - 1;
      const uint64_t most = language->most == kUnlimited ? kUnlimited : language->most - 1;
      return concatenation(parts[0], repetition(language->parts[0], least, most));
    }
    case Language::Kind::concatenation: {
      const Language* rest = language->parts[1];
      const Language* in_first = concatenation(parts[0], rest);
      if (!language->parts[0]->has_empty_text) return in_first;
      return alternation({in_first, derivative(rest, code_point)});
    }
  }
  return none_;
}

bool Languages::contains(const Language* language, std::string_view text) {
  while (!text.empty()) {
    const Utf8Char character = decode_utf8(text);
    language = derivative(language, character.code_point);
    text.remove_prefix(character.n_bytes);
  }
  return language->has_empty_text;
}

namespace {

// The sets that occur in a language.
Parts sets_of(const Language* language) {
  Parts sets;
  std::unordered_set<const Language*> seen = {language};
  Parts todo = {language};
  while (!todo.empty()) {
    const Language* next = todo.back();
    todo.pop_back();
    if (next->kind == Language::Kind::set) sets.push_back(next);
    for (const Language* part : next->parts) {
      if (seen.insert(part).second) todo.push_back(part);
    }
  }
  return sets;
}

}  // namespace

// Cuts the code points wherever a set begins or ends. Pieces are in one class until a set has only
// one of them.
std::vector<CharacterSet> alphabet_of(const Language* language) {
  const Parts sets = sets_of(language);
  std::vector<char32_t> borders = {0, kLastCodePoint + 1};
  for (const Language* set : sets) {
    for (const auto [first, last] : set->characters) {
      borders.push_back(first);
      borders.push_back(last + 1);
    }
  }
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  const size_t n_pieces = borders.size() - 1;
  std::vector<uint32_t> classes(n_pieces);
  uint32_t n_classes = 1;
  for (const Language* set : sets) {
    std::unordered_map<uint32_t, uint32_t> split;  // the new class of what is both in it and here
    for (const auto [first, last] : set->characters) {
      auto piece = static_cast<size_t>(std::lower_bound(borders.begin(), borders.end(), first) -
                                       borders.begin());
      for (; piece < n_pieces && borders[piece] <= last; ++piece) {
        const auto [found, is_new] = split.try_emplace(classes[piece], n_classes);
        n_classes += is_new ? 1 : 0;
        classes[piece] = found->second;
      }
    }
  }
  std::vector<CharacterSet> alphabet;
  std::unordered_map<uint32_t, size_t> places;
  for (size_t piece = 0; piece < n_pieces; ++piece) {
    const auto [found, is_new] = places.try_emplace(classes[piece], alphabet.size());
    if (is_new) alphabet.emplace_back();
    alphabet[found->second].push_back({borders[piece], borders[piece + 1] - 1});
  }
  return alphabet;
}

}  // namespace kinglet::schema
