// Values as models write them in calls of tools, turned into JSON while they are being written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kinglet {

enum class Reading : uint8_t {
  whole,   // read to its end
  open,    // the text ends before it does
  broken,  // the text is something else
};

// What is left of a text that is read from its beginning.
struct LiteralReader {
  std::string_view rest;
  std::string_view quote;  // a mark around strings beside " and '; may be empty

  // Steps over white space, then over `text`. `open` where `rest` ends within them.
  Reading skip(std::string_view text);
  void skip_space();

  // Appends a value as JSON to `out`: JSON itself, Python's literals, objects whose keys bear no
  // quotes. Of a value that is open, `out` gets what is certain: reading a longer text gives a
  // longer `out` that begins with it.
  Reading value(std::string& out);

  // Appends a string, without quotes and escapes, when it is whole.
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

// Whether `text` is one value and nothing else; its JSON is appended to `out` then.
bool read_whole_value(std::string_view text, std::string& out);

}  // namespace kinglet
