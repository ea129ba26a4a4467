// Converts values in calls of tools to JSON, while the model is still writing them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kinglet {

enum class Reading : uint8_t {
  whole,   // read to its end
  open,    // the text ends too early
  broken,  // the text is something else
};

// Reads a text from its beginning.
struct LiteralReader {
  std::string_view rest;   // what has not been read yet
  std::string_view quote;  // a mark around strings, in addition to " and '; may be empty

  // Skips white space, then `text`. Returns `open` if `rest` ends within them.
  Reading skip(std::string_view text);
  void skip_space();

  // Appends a value as JSON to `out`. The value may be JSON, a Python literal, or an object whose
  // keys have no quotes. If the value is open, `out` gets what is certain: reading a longer text
  // can only extend it.
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
};

// Returns whether `text` is one value and nothing else. If so, appends its JSON to `out`.
bool read_whole_value(std::string_view text, std::string& out);

}  // namespace kinglet
