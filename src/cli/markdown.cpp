#include "cli/markdown.h"

namespace kinglet::cli {

namespace {

bool is_mark(char c) { return c == '*' || c == '`' || c == '#'; }

}  // namespace

std::string MarkdownStyler::push(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (!marks_.empty() && c != marks_[0]) take_marks(out);
    if (is_mark(c)) {
      marks_ += c;
    } else {
      take_character(c, out);
    }
  }
  return out;
}

std::string MarkdownStyler::end() {
  std::string out;
  if (!marks_.empty()) take_marks(out);
  *this = {};
  out += "\x1b[0m";
  return out;
}

// A mark has the style of the text between the two marks.
void MarkdownStyler::take_marks(std::string& out) {
  const size_t n = marks_.size();
  const char mark = marks_[0];
  const bool is_code = n_ticks_ > 0;
  const bool begins_heading = mark == '#' && is_line_start_ && !is_code;
  const bool ends_code = mark == '`' && n == n_ticks_;
  const bool is_strong = mark == '*' && !is_code && (n == 2 || n == 3);
  // A star at the beginning of a line is a list item.
  const bool is_emphasis = mark == '*' && !is_code && n != 2 && n <= 3 && !is_line_start_;
  const bool begins = begins_heading || (mark == '`' && !is_code) || (is_strong && !is_strong_) ||
                      (is_emphasis && !is_emphasized_);
  if (!begins) out += marks_;
  if (begins_heading) is_heading_ = true;
  if (mark == '`' && (ends_code || !is_code)) n_ticks_ = ends_code ? 0 : n;
  if (is_strong) is_strong_ = !is_strong_;
  if (is_emphasis) is_emphasized_ = !is_emphasized_;
  set_style(out);
  if (begins) out += marks_;
  marks_.clear();
  is_line_start_ = false;
}

void MarkdownStyler::take_character(char c, std::string& out) {
  const bool ends_line = c == '\n';
  // Emphasis that does not end on its line was only a star. A block of code continues.
  if (ends_line && (is_heading_ || is_strong_ || is_emphasized_ || n_ticks_ == 1)) {
    is_heading_ = is_strong_ = is_emphasized_ = false;
    if (n_ticks_ < 3) n_ticks_ = 0;
    set_style(out);
  }
  out += c;
  is_line_start_ = ends_line;
}

void MarkdownStyler::set_style(std::string& out) const {
  out += "\x1b[0m";
  if (is_heading_ || is_strong_) out += "\x1b[1m";
  if (is_emphasized_) out += "\x1b[3m";
  if (n_ticks_ > 0) out += "\x1b[36m";
}

}  // namespace kinglet::cli
