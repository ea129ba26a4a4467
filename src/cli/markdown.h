// Colours for the Markdown that models write, while it is written.
#pragma once

#include <string>
#include <string_view>

namespace kinglet::cli {

// Strong and emphasized words, code, and headings get the terminal's styles; their marks stay, so
// that what is copied is what was written. However a text is cut, the result is the same.
class MarkdownStyler {
 public:
  // What is certain of `text` so far, with escape sequences. A mark at its end waits.
  std::string push(std::string_view text);

  // What waited, and the end of every style.
  std::string end();

 private:
  void take_marks(std::string& out);
  void take_character(char c, std::string& out);
  void set_style(std::string& out) const;

  std::string marks_;  // equal characters that may be a mark, at the end of what was pushed
  bool is_line_start_ = true;
  bool is_heading_ = false;
  bool is_strong_ = false;
  bool is_emphasized_ = false;
  size_t n_ticks_ = 0;  // of the mark that began code
};

}  // namespace kinglet::cli
