// Adds terminal styles to the Markdown of an answer while the model writes it.
#pragma once

#include <string>
#include <string_view>

namespace kinglet::cli {

// Strong and emphasized words, code and headings get terminal styles. Their marks stay, so that
// copied text is still Markdown. The result does not depend on how the text is cut into pieces.
class MarkdownStyler {
 public:
  // Returns the text that is certain so far, with escape sequences. A mark at the end of `text` is
  // held back.
  std::string push(std::string_view text);

  // Returns the text that was held back, and the end of all styles.
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
