#include "server/value_style.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/format.h"

namespace kinglet::server {
namespace {

constexpr std::string_view kNumberRules = R"gbnf(
number ::= integer ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?
integer ::= "-"? ("0" | [1-9] [0-9]{0,14})
)gbnf";

// The rest of a Unicode escape, after the backslash.
constexpr std::string_view kUnicodeEscape =
    R"("u" ([0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2}))";

// The characters for which is_plain() is true.
constexpr std::string_view kPlainKey = R"([^\x00-\x20\x7f"'`<>=:,(){}\[\]|\\]+)";

// Returns GBNF that matches a string between such quotes.
std::string string_rule(char quote) {
  return cat(literal({&quote, 1}), " ([^", quote, R"(\\\x00-\x1f] | "\\" ([)", quote,
             R"(\\/bfnrt] | )", kUnicodeEscape, "))* ", literal({&quote, 1}));
}

// Converts a JSON string to the same string between other quotes.
std::string requoted(const std::string& json, char quote) {
  std::string out(1, quote);
  for (size_t i = 1; i + 1 < json.size(); ++i) {
    if (json[i] == quote) {
      out += '\\';
    } else if (json[i] == '\\') {
      if (json[++i] != '"') out += '\\';
    }
    out += json[i];
  }
  return out + quote;
}

}  // namespace

std::string literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kHexDigits[byte / 16], kHexDigits[byte % 16]};
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) out += cat(out.empty() ? "" : separator, part);
  return parts.size() == 1 ? out : cat("(", out, ")");
}

std::string piece(std::string_view text, const std::vector<MarkToken>& marks) {
  std::string out;
  const auto add = [&out](const std::string& symbol) {
    out += cat(out.empty() ? "" : " ", symbol);
  };
  while (!text.empty()) {
    size_t at = text.size();
    const MarkToken* first = nullptr;
    for (const MarkToken& mark : marks) {
      const size_t found = text.find(mark.mark);
      if (found >= at) continue;
      at = found;
      first = &mark;
    }
    if (at > 0) add(literal(text.substr(0, at)));
    if (first != nullptr) add(cat("<[", first->token, "]>"));
    text.remove_prefix(at + (first == nullptr ? 0 : first->mark.size()));
  }
  return out.empty() ? "\"\"" : out;
}

// Rule n matches the rest of the text when the first n characters of the mark have been written.
std::string rules_of_text(const std::string& name, std::string_view mark) {
  const auto rule = [&](size_t n) { return n == 0 ? name : cat(name, "-", n); };
  const std::string distinct = [&] {
    std::string found;
    for (const char c : mark) found += found.find(c) == found.npos ? std::string(1, c) : "";
    return found;
  }();
  std::string excluded = R"([^\x00-\x08\x0b-\x1f)";
  for (const char c : distinct) {
    excluded += c == ']' || c == '[' || c == '^' || c == '-' || c == '\\' ? cat("\\", c)
                                                                          : std::string(1, c);
  }
  std::string rules;
  for (size_t n = 0; n < mark.size(); ++n) {
    rules += cat(rule(n), " ::= \"\" | ", excluded, "] ", name);
    for (const char c : distinct) {
      const std::string read = cat(mark.substr(0, n), c);
      size_t kept = read.size();
      while (!mark.starts_with(read.substr(read.size() - kept))) --kept;
      if (kept < mark.size()) rules += cat(" | ", literal({&c, 1}), " ", rule(kept));
    }
    rules += '\n';
  }
  return rules;
}

ValueStyle::ValueStyle()
    : object_{R"("{" ws)", R"("," ws)", R"(ws "}")", ""},
      list_{R"("[" ws)", R"("," ws)", R"(ws "]")", ""},
      arguments_(object_),
      colon_(R"(":" ws)") {
  rules_ = cat(string_rules(), "ws ::= (\" \" | \"\\n\" [ \\t]{0,20})?\n");
}

ValueStyle::ValueStyle(const CallNotation& notation, const std::vector<MarkToken>& marks)
    : notation_(&notation),
      object_{R"("{")", literal(notation.separator), R"("}")", ""},
      list_{R"("[")", literal(notation.separator), R"("]")", ""},
      arguments_(object_),
      colon_(literal(notation.colon)),
      text_quote_(notation.text_quote.empty() ? "" : piece(notation.text_quote, marks)) {
  rules_ = string_rules();
  if (!has_arguments()) return;
  arguments_ = {literal(notation.arguments_begin), literal(notation.argument_separator),
                literal(notation.arguments_end), literal(notation.value_end)};
  rules_ += argument_rules();
}

// The rules of all values, in which strings occur.
std::string ValueStyle::string_rules() const {
  std::string string;
  if (notation_ == nullptr) {
    string = string_rule('"');
  } else if (!notation_->text_quote.empty()) {
    string = cat(text_quote_, " quoted ", text_quote_);
  } else {
    for (const char quote : notation_->quotes) {
      string += cat(string.empty() ? "" : " | ", string_rule(quote));
    }
  }
  const auto several = [](const ObjectStyle& style, std::string_view item) {
    return cat(style.begin, " (", item, " (", style.separator, " ", item, ")*)? ", style.end, "\n");
  };
  return cat("value ::= object | array | string | number | ", word("true"), " | ", word("false"),
             " | ", word("null"), "\nobject ::= ", several(object_, "key value"),
             "key ::= ", notation_ != nullptr && notation_->has_plain_keys ? kPlainKey : "string",
             " ", colon_, "\narray ::= ", several(list_, "value"), "string ::= ", string, "\n",
             text_quote_.empty() ? "" : rules_of_text("quoted", notation_->text_quote),
             kNumberRules.substr(1));
}

std::string ValueStyle::argument_rules() const {
  const std::string argument = cat("argument-key ", any_argument(), " ", arguments_.value_end);
  std::string rules = cat("arguments ::= ", arguments_.begin, " (", argument, " (",
                          arguments_.separator, " ", argument, ")*)? ", arguments_.end,
                          "\nargument-key ::= ", literal(notation_->argument_begin), " ", kPlainKey,
                          " ", literal(notation_->key_end), "\n");
  if (!has_texts()) return rules;
  if (notation_->cdata_end.empty()) return rules + rules_of_text("text", notation_->text_end);
  return cat(rules, "text ::= plain | ", literal(notation_->cdata_begin), " cdata ",
             literal(notation_->cdata_end), "\n", rules_of_text("plain", notation_->text_end),
             rules_of_text("cdata", notation_->cdata_end));
}

bool ValueStyle::can_be_key(std::string_view name) const {
  return notation_ == nullptr || !notation_->has_plain_keys || is_plain_name(name);
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), is_plain);
}

std::string ValueStyle::key(const std::string& name) const {
  if (notation_ == nullptr) return cat(literal(print(name) + ":"), " ws");
  return cat(notation_->has_plain_keys ? literal(name) : spell_string(name), " ", colon_);
}

std::string ValueStyle::argument_key(std::string_view name) const {
  return literal(cat(notation_->argument_begin, name, notation_->key_end));
}

std::string ValueStyle::word(std::string_view name) const {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kWords = {
      {{"true", "True"}, {"false", "False"}, {"null", "None"}}};
  if (notation_ == nullptr || !notation_->has_python_words) return literal(name);
  for (const auto& [json, python] : kWords) {
    if (json == name) return cat("(", literal(json), " | ", literal(python), ")");
  }
  return literal(name);
}

std::string ValueStyle::spell(const Json& value) const {
  if (notation_ == nullptr) return literal(print(value));
  if (value.is_string()) return spell_string(value.as_string());
  if (value.is_boolean() || value.is_null()) return word(print(value));
  if (value.is_number()) return literal(print(value));
  const ObjectStyle& style = value.is_object() ? object_ : list_;
  std::string out;
  const auto add = [&](const std::string& before, const Json& item) {
    const std::string spelled = spell(item);
    out += cat(out.empty() ? "" : cat(" ", style.separator, " "), before, spelled);
    return !spelled.empty();
  };
  if (value.is_array()) {
    for (const Json& item : value.as_array()) {
      if (!add("", item)) return {};
    }
  } else {
    for (const auto& [name, item] : value.as_object()) {
      if (!can_be_key(name) || !add(cat(key(name), " "), item)) return {};
    }
  }
  return cat(style.begin, " ", out, out.empty() ? "" : " ", style.end);
}

std::string ValueStyle::spell_string(const std::string& text) const {
  if (!notation_->text_quote.empty()) {
    const bool ends_early = text.find(notation_->text_quote) != text.npos;
    return ends_early ? "" : cat(text_quote_, " ", literal(text), " ", text_quote_);
  }
  std::vector<std::string> spellings;
  for (const char quote : notation_->quotes) {
    spellings.push_back(literal(requoted(print(text), quote)));
  }
  return joined(spellings, " | ");
}

std::string ValueStyle::spell_text(const std::string& text) const {
  if (text.find(notation_->text_end) == text.npos) return literal(text);
  if (notation_->cdata_end.empty() || text.find(notation_->cdata_end) != text.npos) return {};
  return literal(cat(notation_->cdata_begin, text, notation_->cdata_end));
}

}  // namespace kinglet::server
