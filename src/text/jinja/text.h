// A string that knows which of its bytes come from a conversation, and which the template says
// itself: whatever a template does with what a message says, a message cannot become one of the
// control tokens that the template writes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/added_tokens.h"

namespace kinglet::jinja {

class Text {
 public:
  // Templates that double a text again and again end here, and no conversation does.
  static constexpr size_t kMostBytes = size_t{1} << 23;

  // Out of line, as texts are everywhere.
  Text();
  explicit Text(std::string_view bytes, bool is_said = false);
  Text(const Text& other);
  Text(Text&& other) noexcept;
  Text& operator=(const Text& other);
  Text& operator=(Text&& other) noexcept;
  ~Text();

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  // Nothing more can be appended: what is written into it is too long.
  bool is_full() const { return bytes_.size() >= kMostBytes; }
  bool empty() const { return bytes_.empty(); }

  // What comes from a conversation: in order, none of them empty, none touching the next.
  const std::vector<TextRange>& said() const { return said_; }
  bool is_said(size_t at) const;

  // Whether it names a place in memory, as Python's "<function f at 0x7f…>": no run gives the same.
  bool has_address() const { return has_address_; }
  void mark_address() { has_address_ = true; }

  // What does not fit is left out: see is_full().
  void append(const Text& other);
  void append(std::string_view bytes, bool is_said = false);

  // The bytes [begin, end).
  Text cut(size_t begin, size_t end) const;

 private:
  void add_range(size_t begin, size_t end);
  // The first range that ends after that byte.
  std::vector<TextRange>::const_iterator first_behind(size_t at) const;

  std::string bytes_;
  std::vector<TextRange> said_;
  bool has_address_ = false;
};

}  // namespace kinglet::jinja
