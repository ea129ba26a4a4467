// How values are written in an answer, as GBNF: as JSON, or as a family of models does in calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/json.h"
#include "text/answer/answer_format.h"

namespace kinglet::server {

// A literal of GBNF.
std::string literal(std::string_view text);

// In a group, where there are several.
std::string joined(const std::vector<std::string>& parts, std::string_view separator);

// A piece of a notation, with the marks in it as tokens.
std::string piece(std::string_view text, const std::vector<MarkToken>& marks);

// What a member of an object, or all of one, is put together from.
struct ObjectStyle {
  std::string begin;
  std::string separator;
  std::string end;
  std::string value_end;  // of each member
};

// Whether a name can stand where there are no quotes.
bool is_plain_name(std::string_view name);

class ValueStyle {
 public:
  // JSON, with white space as models like it.
  ValueStyle();

  // `notation` must outlive the style.
  ValueStyle(const CallNotation& notation, const std::vector<MarkToken>& marks);

  const ObjectStyle& object() const { return object_; }
  const ObjectStyle& list() const { return list_; }
  const ObjectStyle& arguments() const { return arguments_; }

  // Arguments of a call are no object as any other, and those that are strings may have no quotes.
  bool has_arguments() const { return notation_ != nullptr && !notation_->key_end.empty(); }
  bool has_texts() const { return notation_ != nullptr && !notation_->text_end.empty(); }
  // Of an argument that may be anything, which is read as a value or else as a string.
  std::string any_argument() const { return has_texts() ? "text" : "value"; }
  bool sorts_keys() const { return notation_ != nullptr && notation_->sorts_keys; }

  bool can_be_key(std::string_view name) const;

  // A member's name, and what is between it and the value.
  std::string key(const std::string& name) const;
  std::string argument_key(std::string_view name) const;

  // Empty where the notation has no way to write the value.
  std::string spell(const Json& value) const;
  std::string word(std::string_view name) const;  // of true, false and null

  // A string that is an argument, without quotes; empty likewise.
  std::string spell_text(const std::string& text) const;

  // The rules that expressions may refer to: value, object, array, string, number, integer, and
  // where there are such, arguments and text.
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

// Rules for any text without `mark`; the first is `name`. Control characters but tabs and line
// breaks are left out.
std::string rules_of_text(const std::string& name, std::string_view mark);

}  // namespace kinglet::server
