// The part of SchemaCompiler that converts strings.
#include <algorithm>
#include <utility>

#include "base/format.h"
#include "grammar/expression.h"
#include "schema/compiler.h"
#include "schema/formats.h"
#include "schema/lengths.h"
#include "schema/pattern.h"
#include "schema/texts.h"

namespace kinglet::schema {
namespace {

constexpr std::string_view kOfAllStrings = "the combination of its limits on strings";

Result<std::optional<Expression>> converted(std::string_view pattern, Characters characters) {
  KINGLET_ASSIGN(const Pattern parsed, parse_pattern(pattern));
  return pattern_expression(parsed, characters);
}

Result<const Language*> pattern_language(std::string_view pattern, Languages& languages) {
  KINGLET_ASSIGN(const Pattern parsed, parse_pattern(pattern));
  return pattern_to_language(parsed, languages);
}

}  // namespace

const std::vector<Spelling>& SchemaCompiler::spellings(bool is_text) {
  if (!is_text) return quoted_;
  if (unquoted_.empty()) unquoted_ = text_spellings(notation_, languages_);
  return unquoted_;
}

Expression SchemaCompiler::string(const PlainSchema& schema, bool is_text, std::string_view at) {
  std::vector<Expression> parts;
  for (const Spelling& spelling : spellings(is_text)) {
    parts.push_back(string_as(spelling, schema, at));
  }
  return alternatives(parts);
}

Expression SchemaCompiler::string_as(const Spelling& spelling, const PlainSchema& schema,
                                     std::string_view at) {
  const std::vector<std::string> patterns = patterns_of(schema, at);
  const auto [least, most] = limits_of(schema, "minLength", "maxLength", at, refusal_);
  if (least > most || refusal_.is_set()) return {};
  const bool is_of_any_length = least == 0 && most == kUnlimited;
  const bool excludes = schema.has(kNotPattern) || schema.has(kNotEnum);
  if (excludes) return of_language(spelling, texts(schema, at), at);
  if (patterns.empty() && is_of_any_length) return any_text(spelling);
  if (patterns.empty() && spelling.language == nullptr) {
    return spelling.enclose(rules_.repeated(any_character(spelling), least, most));
  }
  if (patterns.size() == 1 && is_of_any_length && spelling.language == nullptr) {
    count_pattern(patterns[0]);
    if (refusal_.is_set()) return {};
    const auto written = converted(patterns[0], spelling.characters);
    if (!written.ok()) {
      refuse_pattern(patterns[0], written.error(), at);
      return {};
    }
    if (written.value()) return rules_.add(spelling.enclose(*written.value()));
  }
  return of_language(spelling, texts(schema, at), at);
}

Expression SchemaCompiler::any_text(const Spelling& spelling) {
  if (spelling.language == nullptr) {
    if (&spelling == quoted_.data()) return rules_.common(CommonRule::string);
    return rules_.add(spelling.enclose(repeat(any_character(spelling), 0, kUnlimited)));
  }
  Expression& rule = any_texts_[&spelling];
  if (!rule.empty()) return rule;
  const auto text = language_expression(spelling.language, languages_, spelling.characters, rules_);
  if (text.ok()) {
    rule = rules_.add(spelling.enclose(text.value()));
  } else {
    refusal_.set("#", kOfAllStrings, text.error());
  }
  return rule;
}

Expression SchemaCompiler::any_character(const Spelling& spelling) {
  if (&spelling == quoted_.data()) return rules_.common(CommonRule::character);
  return rules_.add(spelling.characters.spell({kAnyCodePoint}));
}

// Returns the patterns that "pattern" and "format" require.
std::vector<std::string> SchemaCompiler::patterns_of(const PlainSchema& schema,
                                                     std::string_view at) {
  const Names given = texts_of(schema, "pattern", at, refusal_);
  std::vector<std::string> patterns(given.begin(), given.end());
  for (const std::string_view format : texts_of(schema, "format", at, refusal_)) {
    if (const auto pattern = pattern_of_format(format)) {
      const bool is_new = std::find(patterns.begin(), patterns.end(), *pattern) == patterns.end();
      if (is_new) patterns.push_back(*pattern);
    }
  }
  return patterns;
}

// Returns the texts that satisfy all requirements on a string. Where counting the characters would
// take too large an automaton, what repeats without end is limited instead.
const Language* SchemaCompiler::texts(const PlainSchema& schema, std::string_view at) {
  const auto [least, most] = limits_of(schema, "minLength", "maxLength", at, refusal_);
  if (least > most) return languages_.none();
  const Language* found = texts_of_any_length(schema, at);
  const Limits known = lengths_of(found);
  if (least <= known.least && most >= known.most) return found;
  if (most != kUnlimited && most < known.most) {
    constexpr size_t kMostTextStates = 4000;
    const Language* shorter = shortened(found, most, languages_);
    if (shorter != nullptr && lengths_of(shorter).least >= least &&
        count_states(found, kMostTextStates / (most + 1) + 2, languages_) * most >
            kMostTextStates) {
      return shorter;
    }
  }
  return languages_.intersection(
      {found, languages_.repetition(languages_.any_character(), least <= known.least ? 0 : least,
                                    most >= known.most ? kUnlimited : most)});
}

const Language* SchemaCompiler::texts_of_any_length(const PlainSchema& schema,
                                                    std::string_view at) {
  Languages::Parts demands;
  for (const std::string& pattern : patterns_of(schema, at)) {
    demands.push_back(pattern_texts(pattern, at));
  }
  for (const std::string_view pattern : texts_of(schema, kNotPattern, at, refusal_)) {
    demands.push_back(languages_.complement(pattern_texts(std::string(pattern), at)));
  }
  for (const Content& value : list_of(schema, kNotEnum, at, refusal_)) {
    if (!value.json->is_string()) continue;
    demands.push_back(languages_.complement(languages_.text(value.json->as_string())));
  }
  return languages_.intersection(std::move(demands));
}

// Returns the texts in which the pattern matches.
const Language* SchemaCompiler::pattern_texts(const std::string& pattern, std::string_view at) {
  const Language*& texts = patterns_[pattern];
  if (texts != nullptr) return texts;
  count_pattern(pattern);
  if (refusal_.is_set()) return languages_.none();
  const auto language = pattern_language(pattern, languages_);
  if (!language.ok()) refuse_pattern(pattern, language.error(), at);
  texts = language.ok() ? language.value() : languages_.none();
  return texts;
}

// A few characters of a pattern may stand for hundreds of ranges.
void SchemaCompiler::count_pattern(std::string_view pattern) {
  constexpr size_t kSteps = 50;
  refusal_.count(kSteps * pattern.size());
}

void SchemaCompiler::refuse_pattern(std::string_view pattern, const Error& reason,
                                    std::string_view at) {
  refusal_.set(at, cat("the pattern ", shown(pattern)), reason);
}

// Returns an expression of strings whose text is in the language.
Expression SchemaCompiler::of_language(const Spelling& spelling, const Language* texts,
                                       std::string_view at) {
  if (refusal_.is_set()) return {};
  if (spelling.language != nullptr) texts = languages_.intersection({texts, spelling.language});
  constexpr uint64_t kMostCounted = 60;
  const Limits lengths = lengths_of(texts);
  const bool is_long = lengths.most > kMostCounted && lengths.most != kUnlimited;
  if (is_long && is_simple(texts)) {
    const Expression written = simple_expression(texts, spelling.characters, rules_);
    return written.empty() ? Expression() : rules_.add(spelling.enclose(written));
  }
  const auto text = language_expression(texts, languages_, spelling.characters, rules_);
  if (!text.ok()) refusal_.set(at, "this combination of limits on a string", text.error());
  return !text.ok() || text.value().empty() ? Expression()
                                            : rules_.add(spelling.enclose(text.value()));
}

// Refuses requirements on strings in several places that together take too long.
void SchemaCompiler::check_work() {
  if (languages_.is_exhausted()) refusal_.set("#", kOfAllStrings, too_large_automaton());
}

}  // namespace kinglet::schema
