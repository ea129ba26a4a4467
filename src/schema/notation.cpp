#include "schema/notation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/format.h"
#include "grammar/expression.h"

namespace kinglet::schema {
namespace {

// In Python, "#" begins a comment.
bool is_plain_in(const CallNotation& pieces, char c) {
  return is_plain(c) && !(c == '#' && pieces.has_python_strings);
}

}  // namespace

const Notation& Notation::json() {
  static constexpr CallNotation kCompact = {.separator = ",", .colon = ":"};
  static const std::vector<MarkToken> kNoMarks;
  static const Notation notation = {kCompact, kNoMarks, true};
  return notation;
}

Expression Spelling::enclose(const Expression& inside) const {
  return begin.empty() ? inside : sequence({begin, inside, end});
}

Expression Spelling::write(std::string_view text) const {
  const bool has_escapes = characters.quote != '\0';
  return has_escapes ? literal(quoted(text, characters.quote)) : enclose(literal(text));
}

std::vector<Spelling> quoted_spellings(const Notation& notation, Languages& languages) {
  const auto& [pieces, marks, is_json] = notation;
  if (!pieces.text_quote.empty()) {
    const Expression quote = piece(pieces.text_quote, marks);
    return {
        {.begin = quote, .end = quote, .language = texts_without(pieces.text_quote, languages)}};
  }
  std::vector<Spelling> spellings;
  for (const char quote : pieces.quotes) {
    const Expression mark = literal({&quote, 1});
    spellings.push_back({.begin = mark, .end = mark, .characters = {quote}});
  }
  return spellings;
}

std::vector<Spelling> text_spellings(const Notation& notation, Languages& languages) {
  const CallNotation& pieces = notation.pieces;
  Languages::Parts texts = {texts_without(pieces.text_end, languages)};
  if (!pieces.text_mark.empty()) texts.push_back(texts_without(pieces.text_mark, languages));
  std::vector<Spelling> spellings = {{.language = languages.intersection(std::move(texts))}};
  if (!pieces.cdata_end.empty()) {
    spellings.push_back({.begin = piece(pieces.cdata_begin, notation.marks),
                         .end = piece(pieces.cdata_end, notation.marks),
                         .language = texts_without(pieces.cdata_end, languages)});
  }
  return spellings;
}

const Language* texts_without(std::string_view mark, Languages& languages) {
  const Language* any = languages.any_text();
  const Language* from_mark = languages.concatenation(languages.text(mark), any);
  return languages.complement(languages.concatenation(any, from_mark));
}

Expression word(std::string_view name, const Notation& notation) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kPython = {
      {{"true", "True"}, {"false", "False"}, {"null", "None"}}};
  std::vector<Expression> spellings = {literal(name)};
  for (const auto& [json, python] : kPython) {
    if (json == name && notation.pieces.has_python_words) spellings.push_back(literal(python));
  }
  return alternatives(spellings);
}

CharacterSet plain_name_characters(const CallNotation& pieces) {
  CharacterSet others;
  for (char32_t c = 0; c < 0x80; ++c) {
    if (!is_plain_in(pieces, static_cast<char>(c))) others.push_back({c, c});
  }
  return complement(std::move(others));
}

bool is_plain_name(std::string_view name, const CallNotation& pieces) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_plain_in(pieces, c); });
}

Expression piece(std::string_view text, const std::vector<MarkToken>& marks) {
  size_t at = text.npos;
  const MarkToken* first = nullptr;
  for (const MarkToken& mark : marks) {
    const size_t found = text.find(mark.mark);
    if (found >= at) continue;
    at = found;
    first = &mark;
  }
  if (first == nullptr) return literal(text);
  const std::string_view rest = text.substr(at + first->mark.size());
  return sequence({literal(text.substr(0, at)), whole_token(static_cast<uint32_t>(first->token)),
                   piece(rest, marks)});
}

}  // namespace kinglet::schema
