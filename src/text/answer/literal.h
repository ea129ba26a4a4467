// Converts values in calls of tools to JSON, while the model is still writing them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace kinglet {

enum class Reading : uint8_t {
  whole,   // read to its end
  open,    // the text ends too early
  broken,  // the text is something else
};

enum class Dialect : uint8_t {
  json,    // also with strings in single quotes, keys without quotes, and True, False and None
  python,  // literals as Python's ast.literal_eval() reads them, and the words of JSON
};

// Reads a text from its beginning.
struct LiteralReader {
  std::string_view rest;   // what has not been read yet
  std::string_view quote;  // a mark around strings, in addition to " and '; may be empty
  Dialect dialect = Dialect::json;
  bool is_hashable = true;  // whether Python takes the last value into sets

  // Skips white space, then `text`. Returns `open` if `rest` ends within them.
  Reading skip(std::string_view text);
  void skip_space();  // and Python's comments

  // Appends a value as JSON to `out`. If the value is open, `out` gets what is certain: reading a
  // longer text can only extend it.
  //
  // Python's values become what json.dumps() writes, tuples and sets lists. What has no JSON is
  // broken: bytes, complex and infinite numbers, whole numbers of more than 4300 digits, tuples as
  // keys, and sets of lists. So are \N{names} of characters.
  Reading value(std::string& out);

  // Appends the content of a string to `out`, with its escapes resolved, if the string is whole.
  Reading plain_string(std::string& out);

 private:
  Reading nested(std::string& out, int depth);
  Reading collection(std::string& out, int depth);
  bool is_quoted() const { return rest[0] == '"' || rest[0] == '\''; }
  bool begins_string() const;
  Reading string(std::string& out);
  Reading marked_string(std::string& out);  // between two marks
  Reading quoted_string(std::string& out);
  Reading word(std::string& out);
  Reading key(std::string& out);

  // The rest is in python_literal.cpp.
  Reading python(std::string& out, int depth);
  Reading python_braces(std::string& out, int depth);
  Reading python_pairs(std::string& out, std::string first, int depth);
  Reading python_key(std::string& out, int depth);
  Reading python_parentheses(std::string& out, int depth);
  Reading python_items(std::string& out, char end, std::set<std::string>* known, int depth);
  Reading python_strings(std::string& out);
  Reading python_string(bool is_raw, std::string& out);
  Reading python_escape(std::string& out);
  Reading python_word(std::string& out);
};

// Whether `text` is a number as in RFC 8259, section 6.
bool is_json_number(std::string_view text);

// Returns a number of Python's, without a sign, in JSON; nullopt if it is none, or has no JSON.
std::optional<std::string> python_number(std::string_view text);

// Returns the value of the first hexadecimal digits of `text`; nullopt if there are fewer than
// `n_digits`.
std::optional<char32_t> hex_number(std::string_view text, size_t n_digits);

// Whether `c` may be part of a word or a number.
bool is_literal_word(char c);

// The deepest nesting of lists and objects.
constexpr int kMostLiteralDepth = 64;

// Returns whether `text` is one value and nothing else. If so, appends its JSON to `out`.
bool read_whole_value(std::string_view text, Dialect dialect, std::string& out);

}  // namespace kinglet
