// GBNF rules for values in an answer: written as JSON, or in the notation in which a family of
// models writes calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"
#include "text/answer/answer_format.h"

namespace kinglet::server {

// Returns the text as a literal of GBNF.
std::string literal(std::string_view text);

// Joins the parts, in a group if there are several.
std::string joined(const std::vector<std::string>& parts, std::string_view separator);

// Returns GBNF that matches a piece of a notation, in which marks are tokens.
std::string piece(std::string_view text, const std::vector<MarkToken>& marks);

// The GBNF expressions around and between the members of an object or the items of a list.
struct ObjectStyle {
  std::string begin;
  std::string separator;
  std::string end;
  std::string value_end;  // of each member
};

// Whether a name can be written without quotes.
bool is_plain_name(std::string_view name);

class ValueStyle {
 public:
  // JSON, with the white space that models usually write.
  ValueStyle();

  // `notation` must outlive the style.
  ValueStyle(const CallNotation& notation, const std::vector<MarkToken>& marks);

  const ObjectStyle& object() const { return object_; }
  const ObjectStyle& list() const { return list_; }
  const ObjectStyle& arguments() const { return arguments_; }

  // Whether the arguments of a call are written differently from other objects, and whether string
  // arguments are written without quotes.
  bool has_arguments() const { return notation_ != nullptr && !notation_->key_end.empty(); }
  bool has_texts() const { return notation_ != nullptr && !notation_->text_end.empty(); }
  // The rule of an argument of any type, which is read as a value if possible, else as a string.
  std::string any_argument() const { return has_texts() ? "text" : "value"; }
  bool sorts_keys() const { return notation_ != nullptr && notation_->sorts_keys; }

  bool can_be_key(std::string_view name) const;

  // GBNF of a member's name and of the text between it and the value.
  std::string key(const std::string& name) const;
  std::string argument_key(std::string_view name) const;

  // GBNF of a value. Empty if the notation cannot write the value.
  std::string spell(const Json& value) const;
  std::string word(std::string_view name) const;  // of true, false and null

  // GBNF of a string argument without quotes. Empty if the notation cannot write it.
  std::string spell_text(const std::string& text) const;

  // The rules that expressions may refer to: value, object, array, string, number, integer, and if
  // the notation has them, arguments and text.
  const std::string& rules() const { return rules_; }

 private:
  std::string spell_string(const std::string& text) const;
  std::string string_rules() const;
  std::string argument_rules() const;

  const CallNotation* notation_ = nullptr;  // null: JSON
  ObjectStyle object_;
  ObjectStyle list_;
  ObjectStyle arguments_;
  std::string colon_;
  std::string text_quote_;
  std::string rules_;
};

// Returns rules for any text without `mark`; the first rule is `name`. The text has no control
// characters other than tabs and line feeds.
std::string rules_of_text(const std::string& name, std::string_view mark);

}  // namespace kinglet::server
