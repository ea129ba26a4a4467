#include "schema/texts.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/format.h"
#include "grammar/expression.h"
#include "schema/automaton.h"

namespace kinglet::schema {
namespace {

// The most states of an automaton while it is made.
constexpr size_t kMaxTextStates = 20'000;
// The most moves of the finished automaton. They become rules and branches.
constexpr size_t kMaxMoves = 10'000;
// The most copies of a part that looks around.
constexpr uint64_t kMaxCopies = 50;

Error pattern_refusal(std::string reason) {
  return {ErrorCode::invalid_argument, std::move(reason)};
}

bool looks_around(const Pattern& pattern) {
  if (pattern.kind == Pattern::Kind::start || pattern.kind == Pattern::Kind::end ||
      pattern.kind == Pattern::Kind::look_ahead) {
    return true;
  }
  return std::any_of(pattern.parts.begin(), pattern.parts.end(), looks_around);
}

// Writes a pattern that does not look around.
Result<Expression> simple_expression(const Pattern& pattern, Characters characters) {
  std::vector<Expression> parts;
  for (const Pattern& part : pattern.parts) {
    KINGLET_ASSIGN(Expression text, simple_expression(part, characters));
    parts.push_back(std::move(text));
  }
  switch (pattern.kind) {
    case Pattern::Kind::sequence:
      return sequence(parts);
    case Pattern::Kind::choice:
      return alternatives(parts);
    case Pattern::Kind::repeat:
      return repeat(parts[0], pattern.least, pattern.most);
    default: {
      Expression text = characters.spell(pattern.characters);
      if (text.empty()) return pattern_refusal("a part of it matches no character");
      return text;
    }
  }
}

// A pattern matches anywhere in a text: without an anchor, any text may be before or after it.
Result<std::optional<Expression>> branch_expression(const Pattern& branch, Characters characters) {
  const Expression anything = repeat(characters.spell({kAnyCodePoint}), 0, kUnlimited);
  const bool is_sequence = branch.kind == Pattern::Kind::sequence;
  const Pattern* part = is_sequence ? branch.parts.data() : &branch;
  const Pattern* end = part + (is_sequence ? branch.parts.size() : 1);
  const bool begins = part != end && part->kind == Pattern::Kind::start;
  const bool ends = part != end && (end - 1)->kind == Pattern::Kind::end;
  if (begins) ++part;
  const Pattern* const inner_end = ends && part != end ? end - 1 : end;
  if (std::any_of(part, inner_end, looks_around)) return std::optional<Expression>();
  std::vector<Expression> written = {begins ? Expression() : anything};
  for (; part != inner_end; ++part) {
    KINGLET_ASSIGN(Expression text, simple_expression(*part, characters));
    written.push_back(std::move(text));
  }
  if (!ends) written.push_back(anything);
  return std::optional(sequence(written));
}

// Whether a place is the start of the text.
enum class AtStart : uint8_t { yes, no, maybe };

// What a pattern can match: only the empty text, never the empty text, or both kinds.
struct Lengths {
  bool may_be_empty;
  bool may_be_more;
};

Lengths lengths_of(const Pattern& pattern) {
  switch (pattern.kind) {
    case Pattern::Kind::set:
      return {false, true};
    case Pattern::Kind::sequence:
    case Pattern::Kind::choice: {
      const bool is_choice = pattern.kind == Pattern::Kind::choice;
      Lengths all{!is_choice, false};
      for (const Pattern& part : pattern.parts) {
        const auto [may_be_empty, may_be_more] = lengths_of(part);
        all.may_be_empty =
            is_choice ? all.may_be_empty || may_be_empty : all.may_be_empty && may_be_empty;
        all.may_be_more = all.may_be_more || may_be_more;
      }
      return all;
    }
    case Pattern::Kind::repeat: {
      const auto [may_be_empty, may_be_more] = lengths_of(pattern.parts[0]);
      return {may_be_empty || pattern.least == 0, may_be_more && pattern.most > 0};
    }
    default:
      return {true, false};
  }
}

AtStart place_after(const Pattern& pattern, AtStart place) {
  if (place == AtStart::no) return place;
  const auto [may_be_empty, may_be_more] = lengths_of(pattern);
  if (!may_be_more) return place;
  return may_be_empty ? AtStart::maybe : AtStart::no;
}

class PatternConverter {
 public:
  explicit PatternConverter(Languages& languages) : languages_(languages) {}

  // Returns the texts whose beginning matches the pattern and whose remainder is in `rest`.
  const Language* before(const Pattern& pattern, const Language* rest, AtStart at_start) {
    languages_.count_work(1);
    if (languages_.is_exhausted()) return rest;
    switch (pattern.kind) {
      case Pattern::Kind::set:
        return languages_.concatenation(languages_.set(pattern.characters), rest);
      case Pattern::Kind::sequence: {
        std::vector<AtStart> places = {at_start};
        for (const Pattern& part : pattern.parts)
          places.push_back(place_after(part, places.back()));
        for (size_t i = pattern.parts.size(); i-- > 0;) {
          rest = before(pattern.parts[i], rest, places[i]);
        }
        return rest;
      }
      case Pattern::Kind::choice: {
        Languages::Parts branches;
        for (const Pattern& part : pattern.parts) branches.push_back(before(part, rest, at_start));
        return languages_.alternation(std::move(branches));
      }
      case Pattern::Kind::repeat:
        return before_repeated(pattern, rest, at_start);
      case Pattern::Kind::start:
        if (at_start == AtStart::maybe)
          refuse("\"^\" is in a place that may or may not be the beginning");
        return at_start == AtStart::yes ? rest : languages_.none();
      case Pattern::Kind::end:
        return languages_.intersection({languages_.empty_text(), rest});
      case Pattern::Kind::look_ahead: {
        const Language* seen = before(pattern.parts[0], languages_.any_text(), at_start);
        if (pattern.is_negated) seen = languages_.complement(seen);
        return languages_.intersection({seen, rest});
      }
    }
    return rest;
  }

  // Why the pattern is not supported; empty if it is.
  const std::string& refusal() const { return refusal_; }

 private:
  void refuse(std::string reason) {
    if (refusal_.empty()) refusal_ = std::move(reason);
  }

  const Language* before_repeated(const Pattern& pattern, const Language* rest, AtStart at_start) {
    const Pattern& part = pattern.parts[0];
    const auto [least, most] = std::pair(pattern.least, pattern.most);
    if (!looks_around(part)) {
      const Language* one = before(part, languages_.empty_text(), AtStart::no);
      return languages_.concatenation(languages_.repetition(one, least, most), rest);
    }
    if (most > kMaxCopies) {
      refuse(cat("it uses lookahead in a part that is repeated more than ", kMaxCopies, " times"));
      return rest;
    }
    const Language* found = rest;
    for (uint64_t i = most; i > 0; --i) {
      const AtStart place = i == 1 || at_start == AtStart::no ? at_start : AtStart::maybe;
      const Language* once = before(part, found, place);
      found = i > least ? languages_.alternation({rest, once}) : once;
    }
    return found;
  }

  Languages& languages_;
  std::string refusal_;
};

}  // namespace

Error too_large_automaton() { return pattern_refusal("its automaton would be too large"); }

Result<std::optional<Expression>> pattern_expression(const Pattern& pattern,
                                                     Characters characters) {
  const bool is_choice = pattern.kind == Pattern::Kind::choice;
  const Pattern* branch = is_choice ? pattern.parts.data() : &pattern;
  const Pattern* end = branch + (is_choice ? pattern.parts.size() : 1);
  std::vector<Expression> written;
  bool is_plain = true;
  for (; branch != end; ++branch) {
    KINGLET_ASSIGN(std::optional<Expression> text, branch_expression(*branch, characters));
    if (!text) is_plain = false;
    written.push_back(std::move(text).value_or(Expression()));
  }
  return is_plain ? std::optional(alternatives(written)) : std::nullopt;
}

Result<const Language*> pattern_to_language(const Pattern& pattern, Languages& languages) {
  PatternConverter converter(languages);
  const Language* any = languages.any_text();
  const Language* later = languages.concatenation(
      languages.any_character(),
      languages.concatenation(any, converter.before(pattern, any, AtStart::no)));
  const Language* found =
      languages.alternation({converter.before(pattern, any, AtStart::yes), later});
  if (!converter.refusal().empty()) return pattern_refusal(converter.refusal());
  if (languages.is_exhausted()) return too_large_automaton();
  return found;
}

size_t count_states(const Language* language, size_t most, Languages& languages) {
  const std::vector<CharacterSet> alphabet = alphabet_of(language);
  Languages::Parts states = {language};
  for (size_t i = 0; i < states.size() && states.size() < most; ++i) {
    for (const CharacterSet& symbol : alphabet) {
      const Language* next = languages.derivative(states[i], symbol[0].first);
      if (std::find(states.begin(), states.end(), next) == states.end()) states.push_back(next);
    }
  }
  return std::min(states.size(), most);
}

Result<Expression> language_expression(const Language* language, Languages& languages,
                                       Characters characters, GrammarRules& rules) {
  const Expression plain = characters.spell({kAnyCodePoint});
  std::vector<CharacterSet> alphabet = alphabet_of(language);
  std::erase_if(alphabet,
                [&](const CharacterSet& symbol) { return characters.spell(symbol).empty(); });
  const auto automaton = automaton_of<const Language*, std::hash<const Language*>>(
      language, kMaxTextStates,
      [&](const Language* state, Automaton::State& described, const auto& add_move) {
        described.accepts = state->has_empty_text;
        if (languages.is_exhausted()) return;
        if (state->kind == Language::Kind::repetition &&
            state->parts[0] == languages.any_character()) {
          described.rest = repeat(plain, state->least, state->most);
          return;
        }
        for (uint32_t symbol = 0; symbol < alphabet.size(); ++symbol) {
          const Language* next = languages.derivative(state, alphabet[symbol][0].first);
          if (next != languages.none()) add_move(symbol, next);
        }
      });
  if (!automaton || languages.is_exhausted()) return too_large_automaton();
  size_t n_moves = 0;
  for (const Automaton::State& state : automaton->states) n_moves += state.moves.size();
  if (n_moves > kMaxMoves) return too_large_automaton();
  if (automaton->states.empty()) return Expression();
  const auto spell = [&](const std::vector<uint32_t>& symbols) {
    CharacterSet set;
    for (const uint32_t symbol : symbols) {
      set.insert(set.end(), alphabet[symbol].begin(), alphabet[symbol].end());
    }
    return characters.spell(set);
  };
  return automaton_expression(*automaton, spell, rules);
}

}  // namespace kinglet::schema
