// The notations of values: JSON, or that of a family of models in calls of tools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/language.h"
#include "schema/strings.h"
#include "text/answer/answer_format.h"
#include "text/answer/call_notation.h"

namespace kinglet::schema {

// Does not own its parts.
struct Notation {
  const CallNotation& pieces;
  const std::vector<MarkToken>& marks;
  bool is_json = false;  // and compact, without any space

  // Whether the arguments of a call are written differently from other objects, and whether those
  // that are strings are written without quotes.
  bool has_arguments() const { return !pieces.key_end.empty(); }
  bool has_texts() const { return !pieces.text_end.empty(); }

  static const Notation& json();
};

// One of the ways to write a string.
struct Spelling {
  // Before and after the text; may be empty.
  Expression begin = {};
  Expression end = {};
  Characters characters = {};
  const Language* language = nullptr;  // the texts that may be between both; null: any text

  // Puts the marks around an expression.
  Expression enclose(const Expression& inside) const;

  // Returns the whole string with a text of the language.
  Expression write(std::string_view text) const;
};

// Returns the ways to write any string.
std::vector<Spelling> quoted_spellings(const Notation& notation, Languages& languages);

// Returns the ways to write an argument that is a string without quotes.
std::vector<Spelling> text_spellings(const Notation& notation, Languages& languages);

// Returns the texts that do not contain the mark.
const Language* texts_without(std::string_view mark, Languages& languages);

// Returns how true, false or null is written.
Expression word(std::string_view name, const Notation& notation);

// The characters of names without quotes.
CharacterSet plain_name_characters(const CallNotation& pieces);

bool is_plain_name(std::string_view name, const CallNotation& pieces);

// Returns a piece of a notation, in which marks are tokens.
Expression piece(std::string_view text, const std::vector<MarkToken>& marks);

}  // namespace kinglet::schema
